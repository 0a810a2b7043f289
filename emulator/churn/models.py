"""Trellis' own models of churn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from emulator.churn.model import ChurnModel, Problems, too_many_sessions
from emulator.files.input_facts import Facts
from emulator.files.quantities import Duration

if TYPE_CHECKING:
    import numpy as np

    from emulator.churn.avt import AvailabilityTrace
    from emulator.churn.model import Intervals


class Static(ChurnModel):
    """All peers join in the join phase and stay."""

    kind: Literal["static"] = "static"

    def draw(self, peers: int, trial_end: float, random: np.random.Generator) -> Intervals:
        """Return one session without an end for each peer."""
        import numpy as np

        return np.arange(peers, dtype=np.int32), np.zeros(peers), np.full(peers, np.inf)


class TraceFile(ChurnModel):
    """Sessions of a trace in the .avt format: `id TAB count TAB start end start end ...` in seconds."""

    kind: Literal["trace"]
    file: Path = Field(description="the file of the trace")
    start: Duration = Field(86_400.0, ge=0, description="where in the trace the trial begins")
    until: Duration = Field(
        2_160_000.0,
        gt=0,
        description="where its usable part ends; in the Skype trace 45 h without events follow",
    )
    compress: float = Field(
        60.0, ge=1, le=1e12, description="trace seconds replayed in one second of the trial"
    )

    def draw(self, peers: int, trial_end: float, random: np.random.Generator) -> Intervals:
        """Return the sessions of `peers` random nodes from `start` on.

        A peer may be away all the time. Raises TraceError for a trace that is malformed or too small.
        """
        from emulator.churn.avt import load_avt, replay
        from emulator.files.trace_error import TraceError

        trace = load_avt(self.file)
        for _, problem in self._misfits(trace, peers, trial_end):
            raise TraceError(self.file, 0, problem)
        return replay(trace, peers, self.start, self.compress, random)

    def problems(self, peers: int, trial_end: float) -> Problems:
        """Return a problem if the window of the trace is shorter than what the trial replays."""
        usable, needed = self.until - self.start, trial_end * self.compress
        if usable <= 0:
            return [("start", f"{self.start:g} s is not before `until`, {self.until:g} s")]
        if needed > usable:
            window = (
                f"a trial of {trial_end:g} s replays {needed:g} s of the trace, but from `start` to `until`"
            )
            cure = f"lower compress to {int(usable / trial_end * 1000) / 1000:g}, or shorten the phases"
            return [("compress", f"{window} are {usable:g} s: {cure}")]
        return []

    def problems_of_files(self, peers: int, trial_end: float) -> Problems:
        """Return a problem if the file has too few nodes, or ends before the trial does."""
        from emulator.churn.avt import load_avt

        return self._misfits(load_avt(self.file), peers, trial_end)

    def facts(self, peers: int, trial_end: float) -> Facts:
        """Return what the trace has, and which part of it the trial replays."""
        from emulator.churn.avt import hours, load_avt

        trace = load_avt(self.file)
        replayed = f"from {hours(self.start)} to {hours(self.start + trial_end * self.compress)} of it"
        taken = f"{peers:,} of its nodes, at random, {replayed}, {self.compress:g} times as fast"
        return trace.facts(self.file) + Facts((taken,))

    def _misfits(self, trace: AvailabilityTrace, peers: int, trial_end: float) -> Problems:
        problems = []
        if peers > trace.nodes:
            text = f"has {trace.nodes} nodes, but the trial needs {peers}: lower `peers`"
            problems.append(("file", text))
        last = float(trace.end.max())
        if self.start + trial_end * self.compress > last:
            first = float(trace.start.min())
            cure = f"Its first session is at {first:g} s: lower start or compress, or shorten the phases"
            text = f"the trial would go beyond the end of the trace at {last:g} s. {cure}"
            problems.append(("compress", text))
        end = self.start + trial_end * self.compress
        if not ((trace.start < end) & (trace.end > self.start)).any():
            after = trace.start[trace.start >= self.start]
            next_ = f"the next begins at {after.min():.17g} s" if len(after) else "none comes after it"
            text = f"no node is up from {self.start:g} s to {end:g} s of the trace; {next_}. Move the window"
            problems.append(("start", text))
        return problems


class Skype(ChurnModel):
    """A generator calibrated to the Skype supernodes (Guha, Daswani, Jain, IPTPS 2006).

    It draws lognormal sessions and Weibull gaps with a daily cycle. Supernodes are more stable than ordinary
    peers.
    """

    kind: Literal["skype"]
    compress: float = Field(
        60.0, ge=1, le=1e12, description="seconds of the model in one second of the trial"
    )

    def draw(self, peers: int, trial_end: float, random: np.random.Generator) -> Intervals:
        """Return the sessions from a midnight of the model on."""
        from emulator.churn.sessions import SHORTEST
        from emulator.churn.skype import skype_sessions

        numbers, start, end = skype_sessions(
            peers, trial_end * self.compress, SHORTEST * self.compress, random
        )
        return numbers, start / self.compress, end / self.compress

    def problems(self, peers: int, trial_end: float) -> Problems:
        """Return a problem if there would be more sessions than a plan may have."""
        from emulator.churn.skype import mean_cycle

        return too_many_sessions("compress", peers * trial_end * self.compress / mean_cycle())


class Poisson(ChurnModel):
    """Exponential sessions and gaps."""

    kind: Literal["poisson"]
    mean_session: Duration = Field(gt=0, description="how long a session lasts on average")
    mean_gap: Duration = Field(gt=0, description="how long a peer is away between two sessions, on average")

    def draw(self, peers: int, trial_end: float, random: np.random.Generator) -> Intervals:
        """Return sessions of peers that are up and away in turn, in equilibrium from the first moment on."""
        from emulator.churn.lifetimes import Exponential
        from emulator.churn.renewal import alternate
        from emulator.churn.sessions import SHORTEST

        up, away = Exponential(self.mean_session), Exponential(self.mean_gap)
        return alternate(peers, 0.0, trial_end, up, away, random, SHORTEST)

    def problems(self, peers: int, trial_end: float) -> Problems:
        """Return a problem if there would be more sessions than a plan may have."""
        return too_many_sessions("mean_session", peers * trial_end / (self.mean_session + self.mean_gap))


class Pareto(ChurnModel):
    """Heavy-tailed sessions and gaps with the given means."""

    kind: Literal["pareto"]
    mean_session: Duration = Field(gt=0, description="how long a session lasts on average")
    mean_gap: Duration = Field(gt=0, description="how long a peer is away between two sessions, on average")
    shape: float = Field(
        1.5, ge=1.01, le=100, description="of the Pareto distribution; the nearer to 1, the heavier the tail"
    )

    def draw(self, peers: int, trial_end: float, random: np.random.Generator) -> Intervals:
        """Return sessions of peers that are up and away in turn, in equilibrium from the first moment on."""
        from emulator.churn.lifetimes import Pareto as ParetoLifetime
        from emulator.churn.renewal import alternate
        from emulator.churn.sessions import SHORTEST

        up, away = ParetoLifetime(self.mean_session, self.shape), ParetoLifetime(self.mean_gap, self.shape)
        return alternate(peers, 0.0, trial_end, up, away, random, SHORTEST)

    def problems(self, peers: int, trial_end: float) -> Problems:
        """Return a problem if there would be more sessions than a plan may have."""
        return too_many_sessions("mean_session", peers * trial_end / (self.mean_session + self.mean_gap))
