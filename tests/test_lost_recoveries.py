"""A message about an event that links, loss or faults hit is marked in its own trace, also where it is sent
outside of any operation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from faults_by_hand import fault, run_with, up
from realtime_world import Parts, World
from recorded_telemetry import points, read
from runtime_diary import Diary, diary_spec, diary_system
from small_trial import make_plan

from emulator.faults.network_faults import NetworkFaults
from emulator.faults.spec import FaultSpec
from emulator.network.access_links import UP_LINK_DROP
from emulator.network.peer_network import LOSS
from emulator.telemetry import names
from trellis.v1.pubsub import EventData

MESSAGES = 60
NARROW: dict[str, Any] = {"up": "1 Mbit/s", "queue": "20 ms"}
ALL: dict[str, Any] = {"peers": [0]}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any] | None, str]] = {
    "links in order": ({"bandwidth": NARROW}, None, UP_LINK_DROP),
    "fair links": ({"bandwidth": NARROW | {"discipline": "fair"}}, None, UP_LINK_DROP),
    "fair links and a fault": (
        {"bandwidth": NARROW | {"discipline": "fair"}},
        {"links": {"peers": [1], "delay": "1 ms"}},
        UP_LINK_DROP,
    ),
    "loss": ({"loss": 0.5}, None, LOSS),
    "partition": ({}, {"partition": ALL}, "fault bad"),
    "lossy links": ({}, {"links": ALL | {"loss": 0.5}}, "fault bad"),
    "slow links": ({}, {"links": ALL | {"delay": "1 s"}}, "fault bad delays"),
    "damaging links": ({}, {"links": ALL | {"corrupt": 0.5}}, "fault bad corrupts"),
}
"""The network, the fault, and the observation of each message that they hit."""


def recovery(number: int) -> EventData:
    return EventData(event=number, payload=bytes(1000))


def on_virtual_clock(
    network: dict[str, Any], bad: dict[str, Any] | None, path: Path, monkeypatch: pytest.MonkeyPatch
) -> list[Any]:
    """Have a peer send events outside of any operation; return the spans."""
    diary = diary_system(monkeypatch)

    def send(peer: Diary) -> None:
        for number in range(MESSAGES):
            peer.environment.send(1, recovery(number))

    def start(peer: Diary) -> None:
        if peer.peer == 0:
            peer.environment.every(3.0, lambda: send(peer))

    diary.on_start = staticmethod(start)
    faults = [] if bad is None else [fault("bad", "0.5 s", "5 s", **bad)]
    asked = diary_spec(2, 5.0, network=network, faults=faults)
    return run_with(asked, path, make_plan(2, up(5, 5))).spans


@pytest.mark.parametrize("name", CASES)
def test_the_virtual_clock_marks_a_recovery_that_is_hit_in_the_trace_of_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, bad, observed = CASES[name]
    spans = on_virtual_clock(network, bad, tmp_path, monkeypatch)
    marks = [span for span in spans if span.attributes.get(names.OBSERVED) == observed]
    assert len(marks) > MESSAGES / 4
    recoveries = {span.trace: span.span for span in spans if span.name == names.RECOVERY}
    assert all(recoveries[mark.trace] == mark.parent for mark in marks)
    arrived = {span.trace for span in spans if span.name == "EventData"}
    if observed in (UP_LINK_DROP, LOSS, "fault bad"):
        assert len(recoveries) >= MESSAGES and recoveries.keys() == arrived ^ {mark.trace for mark in marks}


@pytest.mark.parametrize("name", [name for name in CASES if "and" not in name])
def test_a_host_marks_a_recovery_that_is_hit_in_the_trace_of_it(name: str, tmp_path: Path) -> None:
    network, bad, observed = CASES[name]
    faults = None
    if bad is not None:
        spec = FaultSpec.model_validate(fault("bad", "0 s", "100 s", **bad))
        faults = NetworkFaults([spec], [[0]], [[]], 5)
    world = World(tmp_path, faults=faults, **network)
    peer = world.add(0, Parts)
    for number in range(MESSAGES):
        peer.environment.send(3, recovery(number))
    world.close()
    spans = world.spans()
    recoveries = {span.trace_id: span.span_id for span in spans if span.name == names.RECOVERY}
    marks = [span for span in spans if read(span.attributes).get(names.OBSERVED) == observed]
    assert len(marks) > MESSAGES / 4
    assert all(recoveries[mark.trace_id] == mark.parent_span_id for mark in marks)


def lost(folder: Path) -> int:
    """Return the last reading of the counter of lost messages."""
    read = [value for of, value in points(folder).get(names.LOST_MESSAGES, []) if names.MESSAGE_TYPE in of]
    return int(read[-1]) if read else 0


def check_copies(arrived: Iterable[bytes], marked: Iterable[bytes], counted: int) -> None:
    """Hold what arrived twice, once or never against the marks of lost messages, by trace."""
    copies, marks = Counter(arrived), Counter(marked)
    assert counted == marks.total() and set(marks.values()) == {1}
    assert {copies[trace] for trace in marks} == {0, 1}
    assert {number for trace, number in copies.items() if trace not in marks} == {2}


@pytest.mark.parametrize("discipline", [None, "fifo", "fair"])
def test_the_second_copy_that_is_lost_is_counted_and_marked_on_the_virtual_clock(
    discipline: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    links = {"bandwidth": {"up": "100 Mbit/s", "discipline": discipline}} if discipline else {}
    spans = on_virtual_clock(
        {"loss": 0.4} | links, {"links": ALL | {"duplicate": 1.0}}, tmp_path, monkeypatch
    )
    (telemetry,) = tmp_path.rglob("telemetry")
    check_copies(
        [span.trace for span in spans if span.name == "EventData"],
        [span.trace for span in spans if span.attributes.get(names.OBSERVED) == LOSS],
        lost(telemetry),
    )


def test_the_second_copy_that_is_lost_is_counted_and_marked_at_a_host(tmp_path: Path) -> None:
    spec = FaultSpec.model_validate(fault("bad", "0 s", "100 s", links=ALL | {"duplicate": 1.0}))
    world = World(tmp_path, faults=NetworkFaults([spec], [[0]], [[]], 5), loss=0.4)
    world.host._random = Random(3)
    peer = world.add(0, Parts)
    for number in range(MESSAGES):
        peer.environment.send(3, recovery(number))
    world.pass_time(0.1)
    world.close()
    world.recorder.write_interval(1, 1, 0)
    sent = [passage.context for passage in world.wire.passages]
    spans = world.spans()
    check_copies(
        [context.trace_id for context in sent if context is not None],
        [span.trace_id for span in spans if read(span.attributes).get(names.OBSERVED) == LOSS],
        lost(tmp_path),
    )
