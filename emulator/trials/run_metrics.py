"""Metrics for Prometheus of a whole run: its trials side by side, its analysis and its volume."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from emulator.runtime.progress import Progress
from emulator.trials.run_progress import ENDED, Standing, TrialStanding

STATES = ("planned", "running", *ENDED)
"""The states of a trial; a trial is in one of them."""
MOST_TRIALS = 200
"""The most trials that have series of their own: those that run, and of the others those that began last."""

_OF_RUN: list[tuple[str, str, Callable[[Standing], bool]]] = [
    ("trellis_run_ended", "This is 1 if every trial of the run has ended, else 0", lambda s: s.ended),
    (
        "trellis_run_analyzed",
        "This is 1 if there is a summary of the trials as they are, else 0",
        lambda s: s.analyzed,
    ),
    (
        "trellis_run_unreadable",
        "This is 1 if the run directory cannot be read, else 0",
        lambda s: bool(s.problem),
    ),
]
_OF_TRIALS: list[
    tuple[type[GaugeMetricFamily] | type[CounterMetricFamily], str, str, Callable[[Progress], float]]
] = [
    (
        GaugeMetricFamily,
        "trellis_run_trial_progress_ratio",
        "Share of the trial's time that has passed, 0 to 1",
        lambda p: p.trial_time / p.trial_end if p.trial_end else 0.0,
    ),
    (GaugeMetricFamily, "trellis_run_trial_peers_up", "Peers that are up", lambda p: p.peers_up),
    (GaugeMetricFamily, "trellis_run_trial_hosts_lost", "Hosts that were lost", lambda p: p.hosts_lost),
    (CounterMetricFamily, "trellis_run_trial_operations", "Operations that peers began", lambda p: p.asked),
    (CounterMetricFamily, "trellis_run_trial_deliveries", "Outcomes of operations", lambda p: p.delivered),
    (CounterMetricFamily, "trellis_run_trial_messages", "Messages that peers sent", lambda p: p.messages),
]


class RunCollector(Collector):
    """A collector that reads the run directory each time that Prometheus scrapes."""

    def __init__(self, release: str, read: Callable[[], Standing], volume: Path) -> None:
        """`volume` is a folder on the volume of the run directory."""
        self._release = release
        self._read = read
        self._volume = volume

    def collect(self) -> Iterable[Metric]:
        """Yield each metric, labelled by release, and by trial if it is of one."""
        standing = self._read()
        for name, help_text, holds in _OF_RUN:
            gauge = GaugeMetricFamily(name, help_text, labels=["release"])
            gauge.add_metric([self._release], holds(standing))
            yield gauge
        trials = GaugeMetricFamily("trellis_run_trials", "Trials by state", labels=["release", "state"])
        for state in STATES:
            trials.add_metric([self._release, state], standing.counts.get(state, 0))
        yield trials
        yield from self._of_trials(shown(standing.trials))
        yield from self._of_volume()

    def _of_trials(self, trials: Sequence[TrialStanding]) -> Iterable[Metric]:
        labels = ["release", "trial"]
        states = InfoMetricFamily("trellis_run_trial", "How a trial stands", labels=labels)
        for trial in trials:
            states.add_metric([self._release, trial.trial], {"state": trial.state})
        yield states
        for family, name, help_text, value in _OF_TRIALS:
            series = family(name, help_text, labels=labels)
            for trial in trials:
                if trial.progress is not None:
                    series.add_metric([self._release, trial.trial], value(trial.progress))
            yield series

    def _of_volume(self) -> Iterable[Metric]:
        """Yield size and free space of the volume, or nothing as long as it cannot be asked."""
        try:
            found = os.statvfs(self._volume)
        except OSError:
            return
        for name, help_text, blocks in (
            ("trellis_volume_size_bytes", "Size of the run directory's volume", found.f_blocks),
            ("trellis_volume_free_bytes", "Free space on the run directory's volume", found.f_bavail),
        ):
            gauge = GaugeMetricFamily(name, help_text, labels=["release"])
            gauge.add_metric([self._release], blocks * found.f_frsize)
            yield gauge


def shown(trials: Sequence[TrialStanding]) -> list[TrialStanding]:
    """Return the trials that have series of their own, in order: those that have begun, up to a limit."""
    begun = [trial for trial in trials if trial.state != "planned"]
    running = [trial for trial in begun if trial.state == "running"][:MOST_TRIALS]
    ended = [trial for trial in begun if trial.state != "running"]
    room = MOST_TRIALS - len(running)
    kept = {trial.trial for trial in (*running, *(ended[-room:] if room else ()))}
    return [trial for trial in begun if trial.trial in kept]
