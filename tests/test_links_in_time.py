"""The use of links in each interval of the measure phase: what hosts tell, and the table of it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from coordinator_world import SECOND, VERSIONS, begin, result, spec_of
from pyspark.sql import SparkSession
from realtime_world import Parts, World
from runtime_diary import Diary, diary_spec, diary_system
from small_trial import make_plan, run
from tables_page import columns_of

from analysis.contract.trials import TrialRecord
from analysis.report.faults_told import fault_rows
from analysis.tables.link_series import link_series
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.run.fidelity import Fidelity
from emulator.experiment.run.link_report import link_reports
from emulator.fleet.coordinator.coordinator import Coordinator
from emulator.fleet.coordinator.fidelity_checks import judge
from emulator.network.link_use import LinkUse
from trellis.v1 import control_pb2
from trellis.v1.pubsub import EventData

BANDWIDTH: dict[str, Any] = {"up": "1 Mbit/s", "down": "10 Mbit/s", "queue": "10 s"}


def used(*sizes_and_waits: tuple[int, int]) -> LinkUse:
    found = LinkUse()
    for size, wait_ns in sizes_and_waits:
        found.add(size, wait_ns)
    return found


def test_uses_of_hosts_add_up_interval_by_interval() -> None:
    one, two = used((100, 0)), used((10, 5_000_000))
    for use in (one, two):
        use.begin_interval()
        use.begin_interval()
    one.add(200, 1_000_000)
    two.begin_interval()
    two.add(20, 0)
    one.merge(two)
    assert [each.bytes for each in one.intervals()] == [110, 0, 200, 20]
    assert [len(each.waits) for each in one.intervals()] == [2, 0, 1, 1]
    whole = one.whole()
    assert (whole.bytes, whole.waited_ns, whole.waits.maximum) == (330, 6_000_000, 0.005)
    two.merge(used((7, 0)))
    assert [each.bytes for each in two.intervals()] == [17, 0, 0, 20]


@pytest.fixture
def trial(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """A function that runs a trial in which peer 0 sends seven messages at 1 s and three at 12.5 s."""
    system = diary_system(monkeypatch)

    def start(peer: Diary) -> None:
        def publish(messages: int) -> None:
            for _ in range(messages):
                peer.environment.send(1, EventData(event=1, payload=bytes(10_000)))

        if peer.peer == 0:
            peer.environment.set_timer(1.0, lambda: publish(7))
            peer.environment.set_timer(12.5, lambda: publish(3))

    system.on_start = staticmethod(start)
    made = make_plan(2, [(0, 0.0, 20.0), (1, 0.0, 20.0)])

    def at(discipline: str) -> Any:
        network = {"bandwidth": BANDWIDTH | {"discipline": discipline}}
        return run(diary_spec(2, end=20.0, network=network), made, tmp_path / discipline)

    return at


@pytest.mark.parametrize("discipline", ["fifo", "fair"])
def test_the_use_of_links_is_told_in_time(trial: Any, discipline: str) -> None:
    outcome = trial(discipline)
    up, down = outcome.fidelity.links
    assert [(each.start_s, each.end_s) for each in up.intervals] == [(0, 5), (5, 10), (10, 15), (15, 20)]
    for link in (up, down):
        assert [each.messages for each in link.intervals] == [7, 0, 3, 0]
        assert sum(each.bytes for each in link.intervals) == link.bytes
    size = up.bytes / 10
    # Both peers are up, of which one sends: 10 s of 1 Mbit/s in an interval.
    assert [each.load for each in up.intervals] == [
        pytest.approx(8 * size * number / 10_000_000, abs=1e-6) for number in (7, 0, 3, 0)
    ]
    takes_ms = size * 8 / 1000
    waits = [each.wait_mean_ms for each in up.intervals]
    assert waits[0] == pytest.approx(3 * takes_ms) and waits[2] == pytest.approx(takes_ms)
    assert waits[1] is waits[3] is up.intervals[1].wait_p99_ms is None
    assert up.intervals[0].wait_p99_ms == pytest.approx(6 * takes_ms, rel=0.04)
    told = json.loads(outcome.directory.fidelity.read_text())["links"][0]["intervals"]
    assert told[2]["messages"] == 3 and len(told) == 4


def test_drops_are_told_in_time(trial: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BANDWIDTH, "queue", "200 ms")
    up, _ = trial("fifo").fidelity.links
    assert [each.drops for each in up.intervals] == [5, 0, 1, 0]


def test_links_that_dropped_all_are_told() -> None:
    full, idle = LinkUse(), LinkUse()
    full.drops = 3
    bandwidth = diary_spec(2, end=5.0, network={"bandwidth": BANDWIDTH}).network.bandwidth
    (up,) = link_reports([full, idle], bandwidth, [(0.0, 5.0)], [[5.0]])
    assert (up.way, up.messages, up.wait_mean_ms, up.load, up.drops) == ("up", 0, None, 0.0, 3)
    assert [(each.messages, each.drops) for each in up.intervals] == [(0, 3)]


def test_the_table_has_the_use_in_time(trial: Any, tmp_path: Path, spark: SparkSession) -> None:
    outcome = trial("fifo")
    fidelity = json.loads(outcome.directory.fidelity.read_text())
    spec = diary_spec(2, end=20.0, network={"bandwidth": BANDWIDTH})
    record = TrialRecord("t", "v", {}, spec, outcome.directory, {}, fidelity)
    found = link_series(spark, [record])
    assert found.dtypes == columns_of("link_series")
    rows = [(row["class"], row.way, row.start_s, row.end_s, row.messages) for row in found.collect()]
    assert rows == [
        ("", way, 5.0 * index, 5.0 * index + 5, number)
        for way in ("up", "down")
        for index, number in enumerate((7, 0, 3, 0))
    ]
    of_earlier_version = TrialRecord(
        "t", "v", {}, spec, outcome.directory, {}, {"links": [{"link_class": 0, "way": "up"}]}
    )
    assert link_series(spark, [of_earlier_version]).count() == 0


def test_a_host_divides_its_use_at_the_same_times(tmp_path: Path) -> None:
    world = World(tmp_path, bandwidth=BANDWIDTH)
    try:
        peers = [world.add(peer, Parts) for peer in (0, 1)]
        world.pass_time(0.01)
        network = world.host.network
        network.count_links(True, 0.0)
        peers[0].environment.send(1, EventData(event=1, payload=bytes(1000)))
        network.begin_link_interval(0.0)
        peers[0].environment.send(1, EventData(event=1, payload=bytes(1000)))
        peers[0].environment.send(1, EventData(event=1, payload=bytes(1000)))
        assert [len(each.waits) for each in network.link_use()[0].intervals()] == [1, 2]
    finally:
        world.close()


def judged(*hosts: dict[str, Any], faults: Any = ()) -> Fidelity:
    """Return the verdict over a trial with a measure phase of 12 s, with what two hosts told."""
    network = {"latency": {"kind": "constant", "rtt": "40 ms"}, "bandwidth": {"up": "1 Mbit/s"}}
    phases = {"join": "2 s", "settle": "2 s", "measure": "12 s", "drain": "2 s"}
    asked = spec_of(5, network=network, faults=list(faults), phases=phases)
    coordinator = Coordinator(asked, draw_plan(asked), "experiment", "trial")
    begin(coordinator)
    for index, told in enumerate(hosts):
        coordinator.finish(result(f"host-{index}", **told), 10 * SECOND)
    return judge(coordinator, VERSIONS)


def test_the_coordinator_adds_up_what_hosts_tell_of_intervals() -> None:
    def told(*sizes: int) -> dict[str, Any]:
        waits = control_pb2.Distribution(buckets=[0], counts=[1])
        *past, last = [control_pb2.LinkUse(bytes=size, waits=waits) for size in sizes]
        last.past.extend(past)
        return {"links": [last, control_pb2.LinkUse()]}

    (up,) = judged(told(1, 2, 3), told(10, 20)).links
    assert (up.bytes, up.messages) == (36, 5)
    assert [each.bytes for each in up.intervals] == [11, 22, 3]


FAULT = {"name": "jam", "at": "1 s", "for": "2 s", "links": {"share": 0.5, "bandwidth": {"up": "100 kbit/s"}}}


def rates(busy_s: float, bits: float) -> dict[str, Any]:
    use = [control_pb2.LinkUse(busy_bits=bits, busy_s=busy_s), control_pb2.LinkUse()]
    return {"faults": [control_pb2.FaultTimes(fault=0, rates=use)]}


def test_a_rate_that_a_fault_gives_is_judged_over_all_hosts() -> None:
    good = judged(rates(8.0, 792_000), rates(8.0, 808_000), faults=[FAULT])
    (check,) = [each for each in good.checks if each.name == "rate of links, largest error"]
    assert check.measured == 0 and check.ok
    (rate,) = good.faults[0].rates
    assert (rate.way, rate.asked_bit_s, rate.achieved_bit_s, rate.busy_s) == ("up", 100_000, 99_000, 8)
    late = judged(rates(8.0, 720_000), rates(8.0, 720_000), faults=[FAULT])
    assert not late.valid
    (check,) = [each for each in late.checks if each.name == "rate of links, largest error"]
    assert (check.measured, check.detail) == (
        10, 'up links in the fault "jam": 90,000 bit/s instead of 100,000, over 16.0 s',
    )  # fmt: skip
    short = judged(rates(4.0, 360_000), rates(4.0, 360_000), faults=[FAULT])
    assert short.valid and short.faults[0].rates[0].achieved_bit_s == 90_000


def test_the_report_tells_the_rate_over_all_hosts() -> None:
    told = judged(rates(8.0, 792_000), rates(2.0, 202_000), faults=[FAULT])
    (row,) = fault_rows(asdict(told))
    assert row.did == "up 0.0994 of 0.1 Mbit/s"
