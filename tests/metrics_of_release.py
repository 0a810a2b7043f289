"""All metrics that the programs of a release export, with a value for each."""

from __future__ import annotations

import time
from pathlib import Path

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from test_fleet_live_metrics import reading

from emulator.fleet.coordinator.live_metrics import LiveCollector, Reading, RequestCollector
from emulator.fleet.coordinator.requests import METHODS, Requests
from emulator.network.metrics_server import ProcessMetrics
from emulator.network.refusal_metrics import RefusalMetrics
from emulator.runtime.progress import Progress
from emulator.trials.run_metrics import RunCollector
from emulator.trials.run_progress import Standing, TrialStanding
from emulator.trust.refusals import Refusals
from trellis.v1 import control_pb2

PROGRESS = Progress("measure", 12.5, 80.0, peers_up=4, asked=3, delivered=6, messages=20)


def calls() -> Requests:
    """Return a call of each method, one of which was refused."""
    requests = Requests()
    for method in METHODS:
        requests.ends[method, "OK"] += 1
        requests.durations[method].add(0.003)
    requests.ends["ReportProgress", "FAILED_PRECONDITION"] += 1
    return requests


def standing() -> Standing:
    """Return a run with a trial that runs and one that has ended."""
    trials = (
        TrialStanding("vitis-1", "running", progress=PROGRESS),
        TrialStanding("vitis-2", "valid", (), PROGRESS),
    )
    return Standing("demo", trials)


def collectors(release: str = "demo") -> list[Collector]:
    """Return what coordinator and results of a release export, as one program.

    Each reading adds to histograms."""
    first = reading()
    requests = calls()

    def read() -> list[Reading]:
        for tally in first.histograms.values():
            trace = control_pb2.Exemplar(bound=2, trace_id=bytes(15) + b"\x07", value=0.004, at_s=time.time())
            more = control_pb2.Histogram(counts=[1] * len(tally.counts), sum=1.0, exemplars=[trace])
            tally.take(control_pb2.Histogram(), more)
        for durations in requests.durations.values():
            durations.add(0.003)
        return [first]

    return [
        LiveCollector(release, read),
        RequestCollector(release, requests),
        RunCollector(release, standing, Path("/")),
        ProcessMetrics(release, "coordinator"),
        RefusalMetrics(release, "coordinator", [Refusals()]),
    ]


def families() -> list[Metric]:
    """Return what Prometheus reads of a release."""
    registry = CollectorRegistry()
    for collector in collectors():
        registry.register(collector)
    return list(registry.collect())
