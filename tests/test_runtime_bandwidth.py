"""Links with a bandwidth on the virtual clock: what a peer sends takes the time that its links need."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from runtime_diary import Diary, diary_spec, diary_system
from small_trial import Outcome, make_plan, run

from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.plan.tables import Plan
from emulator.faults.spec import FaultSpec
from emulator.network.access_links import DOWN_LINK_DROP, UP_LINK_DROP
from emulator.network.bandwidth_spec import Bandwidth
from emulator.telemetry import names
from trellis.v1.pubsub import EventData, Pull

WAY = 0.02
SIZE = 1250
FRAME = EventData(event=1, payload=b"").byte_size()


@pytest.fixture
def diary(monkeypatch: pytest.MonkeyPatch) -> type[Diary]:
    return diary_system(monkeypatch)


def message() -> EventData:
    """Return a message of `SIZE` bytes."""
    made = EventData(event=1, payload=bytes(SIZE - FRAME - 3))
    assert made.byte_size() == SIZE
    return made


def spec(peers: int, bandwidth: dict[str, Any], **network: Any) -> TrialSpec:
    latency = {"kind": "constant", "rtt": f"{2 * WAY} s"}
    here = {"latency": latency, "same_host_rtt": f"{2 * WAY} s", "bandwidth": bandwidth}
    return diary_spec(peers, network=here | network)


def arrivals(
    diary: type[Diary],
    tmp_path: Path,
    asked: TrialSpec,
    sends: list[tuple[int, int]],
    faults: pa.Table | None = None,
) -> tuple[list[float], Outcome]:
    """Have the senders send at 1 s, in this order; when messages arrive, in ms after that, sorted."""

    def send(peer: Diary) -> None:
        for sender, receiver in sends:
            if sender == peer.peer:
                peer.environment.set_timer(
                    1.0 - peer.environment.now, lambda to=receiver: peer.environment.send(to, message())
                )  # type: ignore[misc]

    diary.on_start = staticmethod(send)
    plan = make_plan(asked.peers, [(peer, 0.0, 10.0) for peer in range(asked.peers)])
    if faults is not None:
        plan = Plan(plan.peers, plan.sessions, faults, **plan.tables)
    outcome = run(asked, plan, tmp_path)
    got = sorted(round((at - 1.0) * 1e3, 6) for peer in diary.lives for at, _, _ in peer.received)
    return got, outcome


@pytest.mark.parametrize(
    "rates, sends, expected",
    [
        (("10 Mbit/s", "10 Mbit/s"), [(0, 1)], [22]),
        (("10 Mbit/s", "10 Mbit/s"), [(0, 1), (0, 1)], [22, 23]),
        (("10 Mbit/s", "10 Mbit/s"), [(0, 1), (0, 2), (0, 3), (0, 4)], [22, 23, 24, 25]),
        (("10 Mbit/s", "10 Mbit/s"), [(1, 0), (2, 0), (3, 0), (4, 0)], [22, 23, 24, 25]),
        (("2 Mbit/s", "10 Mbit/s"), [(0, 1), (0, 1)], [26, 31]),
        (("10 Mbit/s", None), [(0, 1), (0, 1)], [21, 22]),
        ((None, "10 Mbit/s"), [(0, 1), (0, 1)], [21, 22]),
    ],
)
def test_messages_take_the_time_of_both_links(
    diary: type[Diary],
    tmp_path: Path,
    rates: tuple[str | None, str | None],
    sends: list[tuple[int, int]],
    expected: list[float],
) -> None:
    asked = spec(5, {"up": rates[0], "down": rates[1], "queue": "1 s"})
    assert arrivals(diary, tmp_path, asked, sends)[0] == expected


def test_overhead_is_on_links_alone(diary: type[Diary], tmp_path: Path) -> None:
    asked = spec(2, {"up": "10 Mbit/s"}, overhead=SIZE)
    got, outcome = arrivals(diary, tmp_path, asked, [(0, 1)])
    assert got == [22]
    (hop,) = (span for span in outcome.spans if span.name == "EventData")
    assert hop.attributes[names.BYTES] == SIZE


@pytest.mark.parametrize(
    "way, observation, at",
    [("up", UP_LINK_DROP, 0), ("down", DOWN_LINK_DROP, 1)],
)
def test_a_full_link_drops_and_tells(
    diary: type[Diary], tmp_path: Path, way: str, observation: str, at: int
) -> None:
    asked = spec(2, {way: "10 Mbit/s", "queue": "2 ms"})
    got, outcome = arrivals(diary, tmp_path, asked, [(0, 1)] * 4)
    assert got == [21, 22]
    told = [span.attributes for span in outcome.spans if span.name == names.OBSERVATION]
    assert [(each[names.OBSERVED], each[names.PEER], each[names.SUBJECT]) for each in told] == [
        (observation, at, 1 - at)
    ] * 2


@pytest.mark.parametrize(
    "discipline, mean, longest",
    # Four messages of 1 ms to as many peers: one after the other, or all four until 4 ms.
    [("fifo", 1.5, 3.0), ("fair", 3.0, 3.0)],
)
def test_links_tell_how_long_messages_waited_in_the_measure_phase(
    diary: type[Diary], tmp_path: Path, discipline: str, mean: float, longest: float
) -> None:
    asked = spec(5, {"up": "10 Mbit/s", "queue": "1 s", "discipline": discipline}, overhead=0)
    _, outcome = arrivals(diary, tmp_path, asked, [(0, 1), (0, 2), (0, 3), (0, 4)])
    (told,) = outcome.fidelity.links
    assert (told.link_class, told.way, told.messages, told.bytes) == (0, "up", 4, 4 * SIZE)
    assert (told.wait_mean_ms, told.wait_max_ms) == pytest.approx((mean, longest))
    assert longest <= told.wait_p99_ms <= longest * 1.04


@pytest.mark.parametrize("way", ["up", "down"])
@pytest.mark.parametrize(
    ("discipline", "order"),
    [("fifo", "any"), ("fair", "kept"), ("fair", "any")],
    ids=["fifo", "shared", "in words"],
)
def test_fidelity_has_the_drops_and_the_load_of_links(
    diary: type[Diary], tmp_path: Path, discipline: str, order: str, way: str
) -> None:
    asked = spec(2, {way: "10 Mbit/s", "queue": "2 ms", "discipline": discipline}, order=order)
    _, outcome = arrivals(diary, tmp_path, asked, [(0, 1)] * 4)
    (told,) = json.loads(outcome.directory.fidelity.read_text())["links"]
    assert (told["way"], told["drops"]) == (way, 2)
    begin, end = asked.phases.measured
    assert told["load"] == pytest.approx(2 * 8 * SIZE / (10e6 * 2 * (min(end, 10.0) - begin)), abs=1e-6)
    assert "busy_s" not in told, "the virtual clock does not measure rates"


def test_links_tell_nothing_of_other_phases(diary: type[Diary], tmp_path: Path) -> None:
    asked = spec(2, {"up": "10 Mbit/s"})
    phases = asked.phases.model_copy(update={"settle": 5.0, "measure": asked.phases.measure - 5.0})
    _, outcome = arrivals(diary, tmp_path, asked.model_copy(update={"phases": phases}), [(0, 1)])
    assert outcome.fidelity.links == []


def test_classes_have_links_of_their_own_by_their_shares() -> None:
    home = {"name": "home", "share": 0.7, "up": "20 Mbit/s", "down": "100 Mbit/s"}
    centre = {"name": "datacentre", "share": 0.3}
    plan = draw_plan(spec(100, {"classes": [home, centre]}))
    classes = plan.peers["link_class"].to_pylist()
    assert (classes.count(0), classes.count(1)) == (70, 30)
    rates = Bandwidth.model_validate({"classes": [home, centre]}).all_classes()
    assert [(each.up, each.down) for each in rates] == [(20_000_000, 100_000_000), (0, 0)]


@pytest.mark.parametrize(
    "bandwidth, key, words",
    [
        ({}, "up", "nothing is limited"),
        ({"classes": [{"name": "a", "share": 0.5}]}, "classes", "add up to 0.5"),
        ({"up": "1 Mbit/s", "classes": [{"name": "a", "share": 1.0}]}, "up", "Move it into a class"),
        ({"classes": [{"name": "a", "share": 0.5}, {"name": "a", "share": 0.5}]}, "classes", "twice"),
    ],
)
def test_links_that_cannot_be_are_refused(bandwidth: dict[str, Any], key: str, words: str) -> None:
    with pytest.raises(ValueError, match=rf"network\.bandwidth\.{key}: .*{words}"):
        draw_plan(spec(5, bandwidth))


@pytest.mark.parametrize(
    "rates, sends, expected",
    [
        (("10 Mbit/s", "10 Mbit/s"), [(0, 1)], [22]),
        (("10 Mbit/s", "10 Mbit/s"), [(0, 1), (0, 1)], [22, 23]),
        (("10 Mbit/s", "10 Mbit/s"), [(0, 1), (0, 2), (0, 3), (0, 4)], [25, 25, 25, 25]),
        (("10 Mbit/s", "10 Mbit/s"), [(1, 0), (2, 0), (3, 0), (4, 0)], [25, 25, 25, 25]),
        (("2 Mbit/s", "10 Mbit/s"), [(0, 1), (0, 1)], [26, 31]),
        (("10 Mbit/s", None), [(0, 1), (0, 1), (0, 2)], [22, 22, 23]),
        ((None, "10 Mbit/s"), [(0, 1), (0, 1)], [21, 22]),
    ],
)
@pytest.mark.parametrize("checked", [False, True])
def test_fair_links_share_their_rate_among_peers(
    diary: type[Diary],
    tmp_path: Path,
    rates: tuple[str | None, str | None],
    sends: list[tuple[int, int]],
    expected: list[float],
    checked: bool,
) -> None:
    asked = spec(5, {"up": rates[0], "down": rates[1], "queue": "1 s", "discipline": "fair"})
    asked = asked.model_copy(update={"runtime": asked.runtime.model_copy(update={"check": checked})})
    assert arrivals(diary, tmp_path, asked, sends)[0] == expected


@pytest.mark.parametrize(
    "way, observation, at",
    [("up", UP_LINK_DROP, 0), ("down", DOWN_LINK_DROP, 1)],
)
def test_a_full_fair_link_drops_and_tells(
    diary: type[Diary], tmp_path: Path, way: str, observation: str, at: int
) -> None:
    asked = spec(2, {way: "10 Mbit/s", "queue": "2 ms", "discipline": "fair"}, order="kept")
    got, outcome = arrivals(diary, tmp_path, asked, [(0, 1)] * 4)
    assert got == [21, 22]
    told = [span.attributes for span in outcome.spans if span.name == names.OBSERVATION]
    assert [(each[names.OBSERVED], each[names.PEER]) for each in told] == [(observation, at)] * 2


def test_a_lost_message_has_used_the_shared_up_link(diary: type[Diary], tmp_path: Path) -> None:
    asked = spec(2, {"up": "10 Mbit/s", "queue": "1 s", "discipline": "fair"}, loss=0.5)
    got, _ = arrivals(diary, tmp_path, asked, [(0, 1)] * 20)
    assert set(got) < {float(21 + number) for number in range(20)}
    assert 3 <= len(got) <= 17


def brownout(at: str, lasts: str, bandwidth: Any, **more: Any) -> dict[str, Any]:
    links = {"number": 1, "bandwidth": bandwidth, **more}
    return {"name": "brownout", "at": at, "for": lasts, "links": links}


@pytest.mark.parametrize("discipline", ["fifo", "fair"])
@pytest.mark.parametrize(
    "fault, expected",
    [
        # Half of the first message has left when the link slows down to a tenth: 5 ms for the rest.
        (brownout("1.0005 s", "1 s", {"up": "1 Mbit/s"}), [25.5, 35.5]),
        # The link stalls for 10 ms in the middle of the first message.
        (brownout("1.0005 s", "10 ms", {"up": "0 bit/s"}), [31, 32]),
        (brownout("1.0005 s", "10 ms", "0 bit/s"), [31, 32]),
        # The link stalls until the end, so no more messages arrive.
        (brownout("1.0015 s", "100 s", {"up": "0 bit/s"}), [21]),
        # The fault is over before anything is sent.
        (brownout("0.5 s", "0.4 s", {"up": "0 bit/s"}), [21, 22]),
    ],
)
def test_a_fault_changes_the_rate_for_what_is_left(
    diary: type[Diary], tmp_path: Path, discipline: str, fault: dict[str, Any], expected: list[float]
) -> None:
    asked = spec(2, {"up": "10 Mbit/s", "down": "100 Gbit/s", "queue": "1 s", "discipline": discipline})
    drawn = draw_plan(asked.model_copy(update={"faults": [FaultSpec.model_validate(fault)]}))
    hit = drawn.faults["peer"].to_pylist()[0]
    asked = asked.model_copy(update={"faults": [FaultSpec.model_validate(fault)]})
    got, _ = arrivals(diary, tmp_path, asked, [(hit, 1 - hit)] * 2, drawn.faults)
    assert got == pytest.approx(expected, abs=0.001)


def test_a_class_whose_links_have_no_rate_cannot_change_it() -> None:
    classes = [{"name": "a", "share": 0.5, "up": "1 Mbit/s"}, {"name": "b", "share": 0.5}]
    asked = spec(4, {"classes": classes}).model_copy(
        update={"faults": [FaultSpec.model_validate(brownout("1 s", "1 s", {"up": "0 bit/s"}))]}
    )
    with pytest.raises(ValueError, match=r'faults\.0\.links\.bandwidth\.up: the class "b" has no rate `up`'):
        draw_plan(asked)


@pytest.mark.parametrize("discipline", ["fifo", "fair"])
def test_a_down_link_serves_first_what_came_a_part_of_a_nanosecond_earlier(
    diary: type[Diary], tmp_path: Path, discipline: str
) -> None:
    """At 3 Mbit/s a byte takes 2,666 2/3 ns. Peer 0 sends five bytes. Peer 1 sends three 5,333 ns later,
    which arrive a third of a nanosecond before those."""
    rtt = "250 ms"  # half of which is exact in binary
    network = {
        "latency": {"kind": "constant", "rtt": rtt},
        "same_host_rtt": rtt,
        "bandwidth": {"up": "3 Mbit/s", "down": "1 kbit/s", "queue": "1 s", "discipline": discipline},
    }

    five, three = Pull(event=1 << 21), Pull(event=200)
    assert (five.byte_size(), three.byte_size()) == (5, 3)

    def send(peer: Diary) -> None:
        environment = peer.environment
        if peer.peer == 0:
            environment.set_timer(1.0, lambda: environment.send(2, five))
        elif peer.peer == 1:
            environment.set_timer(1.000005333, lambda: environment.send(2, three))

    diary.on_start = staticmethod(send)
    run(diary_spec(3, network=network), make_plan(3, [(peer, 0.0, 10.0) for peer in range(3)]), tmp_path)
    (receiver,) = (peer for peer in diary.lives if peer.peer == 2)
    assert [sender for _, sender, _ in receiver.received] == [1, 0]
