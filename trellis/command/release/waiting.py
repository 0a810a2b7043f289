"""Waits with time limits for what a release does, and tells of it meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from emulator.files.input_facts import counted
from emulator.trials.run_progress import ENDED, Standing
from emulator.trials.sweep import Update
from trellis.command.release.errors import ReleaseError, Unreachable
from trellis.command.release.helm import Installing
from trellis.command.release.lookout import Lookout
from trellis.command.release.pod_problems import Problem, failed_pods
from trellis.command.release.release import Release, Workload

START_LIMIT = 600.0
"""The seconds until the first trial must run."""
SILENCE_LIMIT = 600.0
"""The seconds without news of the trials after which they are given up."""
ANALYSIS_LIMIT = 3600.0
"""The seconds from the end of the last trial to the report."""
PATIENCE = 25.0
"""The seconds for which pods may be held up before that is a problem."""
_LOST_LIMIT = 60.0
"""The seconds for which the cluster may not answer."""
_PERIOD = 2.0
"""The least seconds between two looks at the cluster."""
_REST = 5.0
"""A pause takes as many times as long as the look before it, so that looking at a large release does not keep
the cluster from making it."""


class Waiting:
    """Follows one release from its installation to its report.

    All methods raise ReleaseError when a limit is passed or the release cannot go on.
    """

    def __init__(
        self,
        release: Release,
        patience: float = PATIENCE,
        conductor: str = "coordinator",
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`conductor` is the component that runs the trials: the coordinator, or the Job of the analysis."""
        self._release = release
        self._conductor = conductor
        self._lookout = Lookout(release, patience, clock)
        self._clock = clock
        self._sleep = sleep
        self._lost_at: float | None = None

    def start(self, installing: Installing, note: Callable[[str], None], limit: float = START_LIMIT) -> None:
        """Wait until a trial runs; `note` is told how many pods are ready."""
        said = ""
        standing: Standing | None = None
        for late in self._turns(limit):
            with self._patiently():
                try:
                    installed = installing.done()
                except ReleaseError as error:
                    raise self._with_last_words(error) from None
                workloads = self._release.workloads()
                if problems := self._lookout.look(workloads):
                    told = "\n  ".join(problem.told(self._release.name) for problem in problems)
                    raise ReleaseError(f"{self._release.name} cannot start:\n  {told}")
                self._refuse_failed()
                standing = self._release.standing() if installed else None
                if standing is not None and _runs(standing):
                    return
                if (now := _pods_ready(workloads, installed)) != said:
                    note(said := now)
            if late:
                why = (standing and standing.problem) or said
                raise ReleaseError(
                    f"{self._release.name} has run no trial after {limit:g} s ({why}). "
                    f"See why: trellis logs {self._release.name} --component {self._conductor}"
                )

    def installed(self, installing: Installing, note: Callable[[str], None]) -> None:
        """Wait until Helm has installed the release, which may then wait for its turn in a queue."""
        note("checking the values and the experiment")
        while True:
            with self._patiently():
                try:
                    if installing.done():
                        return
                except ReleaseError as error:
                    raise self._with_last_words(error) from None
                if problems := self._lookout.look(self._release.workloads()):
                    told = "\n  ".join(problem.told(self._release.name) for problem in problems)
                    raise ReleaseError(f"{self._release.name} cannot be checked:\n  {told}")
            self._sleep(_PERIOD)

    def end(
        self,
        update: Callable[[Update], None],
        note: Callable[[str], None],
        silence_limit: float = SILENCE_LIMIT,
    ) -> Standing:
        """Wait until all trials have ended; `update` is told of each, `note` of troubles on the way."""
        told: dict[str, Update] = {}
        noted: set[str] = set()
        known, known_since = Standing(), self._clock()
        for _ in self._turns(float("inf")):
            with self._patiently():
                standing = self._release.standing()
                if standing is not None and standing != known:
                    known, known_since = standing, self._clock()
                    for news in _news(standing):
                        if told.get(news.trial) != news and not _over(told.get(news.trial)):
                            told[news.trial] = news
                            update(news)
                if known.ended:
                    return known
                self._look_on(noted, note)
            if self._clock() - known_since > silence_limit:
                why = known.problem or "the results service tells nothing new"
                raise ReleaseError(
                    f"nothing was heard of the trials of {self._release.name} for {silence_limit:g} s "
                    f"({why}). See why: trellis logs {self._release.name} --component {self._conductor}"
                )
        raise AssertionError

    def report(self, limit: float = ANALYSIS_LIMIT) -> str:
        """Wait until the report exists. Returns why there will be none, or ""."""
        for late in self._turns(limit):
            with self._patiently():
                standing = self._release.standing()
                if standing is not None and standing.reported:
                    return ""
                ended = self._release.analysis()
                if "Complete" in ended:
                    return ""
                if "Failed" in ended:
                    return f"the analysis failed: {self._release.last_words('analysis')}"
                workloads = self._release.workloads()
                for problem in self._lookout.look(workloads):
                    if _befalls(problem, workloads, "analysis"):
                        return f"the analysis cannot start: {problem.told(self._release.name)}"
            if late:
                return f"the analysis has not ended after {limit:g} s: {self._release.last_words('analysis')}"
        raise AssertionError

    def gone(self, note: Callable[[str], None], limit: float = 120.0) -> bool:
        """Wait until no pod is left. Returns whether that is so."""
        said = ""
        for late in self._turns(limit):
            with self._patiently():
                left = len(self._release.pods())
                if not left:
                    return True
                if (now := f"{counted(left, 'pod is', 'pods are')} ending") != said:
                    note(said := now)
            if late:
                return False
        raise AssertionError

    def _look_on(self, noted: set[str], note: Callable[[str], None]) -> None:
        """Tell once of each problem that a run survives, and raise the one that it does not."""
        self._refuse_failed()
        workloads = self._release.workloads()
        for problem in self._lookout.look(workloads):
            told = problem.told(self._release.name)
            if problem.kind == "crash" and _befalls(problem, workloads, self._conductor):
                raise ReleaseError(told)
            if told not in noted:
                noted.add(told)
                note(told)

    def _refuse_failed(self) -> None:
        """Raises ReleaseError if the Job that conducts the trials has failed."""
        if self._conductor == "analysis" and "Failed" in self._release.analysis():
            raise ReleaseError(f"the sweep failed: {self._release.last_words('analysis')}")

    def _with_last_words(self, error: ReleaseError) -> ReleaseError:
        """Return the error with what a check before the installation said before it refused."""
        failed = [str(row["Name"]) for row in self._release.pods() if row["Status"] in ("Error", "OOMKilled")]
        pods = [pod for name in failed if (pod := self._release.pod(name)) is not None]
        return ReleaseError("\n  ".join([str(error), *failed_pods(pods)]))

    def _turns(self, limit: float) -> Iterator[bool]:
        """Yield once each period; True when the limit has passed."""
        deadline = self._clock() + limit
        while True:
            began = self._clock()
            yield began > deadline
            self._sleep(max(_PERIOD, _REST * (self._clock() - began)))

    @contextmanager
    def _patiently(self) -> Iterator[None]:
        """Ask a cluster that does not answer again, for a while."""
        try:
            yield
        except Unreachable:
            now = self._clock()
            self._lost_at = now if self._lost_at is None else self._lost_at
            if now - self._lost_at > _LOST_LIMIT:
                raise
        else:
            self._lost_at = None


def _befalls(problem: Problem, workloads: list[Workload], component: str) -> bool:
    names = tuple(workload.name for workload in workloads if workload.component == component)
    return any(subject.startswith(names) for subject in problem.subjects)


def _runs(standing: Standing) -> bool:
    """Return whether a trial's clock has begun, or a trial has ended."""
    return any(
        trial.state in ENDED or (trial.progress is not None and trial.progress.trial_time > 0)
        for trial in standing.trials
    )


def _pods_ready(workloads: list[Workload], installed: bool) -> str:
    if not installed:
        return "checking the values and the experiment"
    lasting = [workload for workload in workloads if workload.kind != "job"]
    ready, wanted = sum(w.ready for w in lasting), sum(w.wanted for w in lasting)
    return f"{ready:,} of {counted(wanted, 'pod is', 'pods are')} ready"


def _news(standing: Standing) -> Iterator[Update]:
    for trial in standing.trials:
        if trial.state in ENDED:
            yield Update(trial.trial, trial.state, reasons=trial.reasons)
        elif trial.state == "running":
            yield Update(trial.trial, "running", trial.progress)


def _over(update: Update | None) -> bool:
    return update is not None and update.state in ENDED
