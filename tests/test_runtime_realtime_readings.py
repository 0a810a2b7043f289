"""A host in real time reads its counters at multiples of the metrics interval."""

from __future__ import annotations

from collections import Counter
from random import Random
from types import SimpleNamespace
from typing import Any, cast

from coordinator_world import spec_of

from emulator.runtime.realtime.self_measurement import Observer


def test_a_host_that_is_late_reads_its_counters_at_multiples_of_the_interval() -> None:
    asked = list[float]()
    recorder = SimpleNamespace(flush=lambda: None, write_interval=lambda *of: None)
    host: Any = SimpleNamespace(
        agenda=SimpleNamespace(add=lambda at, *call: asked.append(at)),
        clock=SimpleNamespace(now_ns=lambda: 0),
        dropped=Counter[str](),
        host_of=[0],
        index=0,
        recorder=recorder,
        sessions={},
    )
    observer = Observer(cast(Any, host), spec_of(5, telemetry={"metrics_interval": "2 s"}), Random(1))
    for now in (2.0, 4.003, 5.9):  # the last one as of a host that has come back
        host.clock.now = lambda now=now: now
        observer._write_interval()
    assert asked == [4, 6, 6]
