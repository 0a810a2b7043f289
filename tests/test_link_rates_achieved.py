"""The rates that busy links achieved, against those that were asked for."""

from __future__ import annotations

import json
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest
from coordinator_world import SECOND, VERSIONS, begin, result, spec_of
from realtime_world import Parts, World
from runtime_diary import Diary, diary_spec, diary_system
from small_trial import make_plan, run

from emulator.experiment.file.fidelity_limits import FidelityLimits
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.run.fidelity import Fidelity
from emulator.fleet.coordinator.coordinator import Coordinator
from emulator.fleet.coordinator.fidelity_checks import judge
from emulator.network.build_network import build_network
from emulator.network.link_use import LinkUse
from emulator.network.rate_change import RateChange
from emulator.network.spec import NetworkSpec
from emulator.runtime.realtime.agenda import Agenda
from emulator.runtime.realtime.clock import TrialClock, unix_ns
from emulator.runtime.realtime.link_line import LinkLine
from emulator.runtime.realtime.rate_meter import Departure, RateMeter
from trellis.v1 import control_pb2
from trellis.v1.pubsub import EventData

UP, DOWN = 0, 1
"""The numbers of the links of peer 0, and the indices of their use."""


def meter() -> tuple[RateMeter, list[LinkUse]]:
    use = [LinkUse() for _ in range(4)]
    return RateMeter([0, 1], use), use


def send(tested: RateMeter, link: int, begin: float, messages: int, late: Any = lambda _: 0.0) -> None:
    """Send messages of 1,000 bits that enter a link of 10 kbit/s at `begin`; `late` gives each one's lateness
    in s by its number."""
    departures = [tested.enter(link, begin, begin + 0.1 * (number + 1), 1000) for number in range(messages)]
    for number, departure in enumerate(departures):
        tested.leave(departure, late(number))


def test_a_busy_link_has_the_rate_of_what_leaves_behind_its_first_message() -> None:
    tested, use = meter()
    send(tested, UP, 1.0, 11)
    assert (use[UP].busy_bits, use[UP].busy_s) == (10_000, pytest.approx(1.0))
    assert use[DOWN].busy_s == use[2].busy_s == 0
    send(tested, 2 * 1 + DOWN, 1.0, 6)
    assert (use[3].busy_bits, use[3].busy_s) == (5000, pytest.approx(0.5))


def test_lateness_that_grows_lowers_the_rate_and_one_that_stays_does_not() -> None:
    tested, use = meter()
    send(tested, UP, 1.0, 11, late=lambda _: 0.05)
    assert use[UP].busy_bits / use[UP].busy_s == pytest.approx(10_000)
    send(tested, DOWN, 1.0, 11, late=lambda number: 0.1 * number)
    assert use[DOWN].busy_bits / use[DOWN].busy_s == pytest.approx(5_000)


def test_time_in_which_a_link_is_idle_does_not_count() -> None:
    tested, use = meter()
    for begin_s in (1.0, 5.0, 9.0):
        send(tested, UP, begin_s, 6)
    assert (use[UP].busy_bits, use[UP].busy_s) == (15_000, pytest.approx(1.5))


def test_busy_periods_of_less_than_a_quarter_of_a_second_are_not_measured() -> None:
    tested, use = meter()
    for begin_s in (1.0, 5.0, 9.0):
        send(tested, UP, begin_s, 3)
    assert use[UP].busy_s == 0


def test_messages_that_overtake_each_other_change_nothing() -> None:
    tested, use = meter()
    departures = [tested.enter(UP, 1.0, 1.0 + 0.1 * (number + 1), 1000) for number in range(12)]
    Random(1).shuffle(departures)
    for departure in departures:
        tested.leave(departure, 0.0)
    assert use[UP].busy_s > 0 and use[UP].busy_bits == pytest.approx(10_000 * use[UP].busy_s)
    departures = [tested.enter(DOWN, 1.0, 1.0 + 0.1 * (number + 1), 1000) for number in range(12)]
    for departure in (*departures[:10], departures[11], departures[10]):
        tested.leave(departure, 0.0)
    assert use[DOWN].busy_bits == 11_000


def test_a_shared_link_is_measured_by_what_is_left_on_it() -> None:
    tested, use = meter()
    tested.share(UP, 20_000, left=0)
    tested.work(UP, 10_000, 1.0, 0, use[UP])
    tested.work(UP, 5_000, 1.5, 0, use[UP])
    tested.share(UP, 1_000, left=500)
    tested.work(UP, 0, 2.1, 0, use[UP])
    assert (use[UP].busy_bits, use[UP].busy_s) == (11_000, pytest.approx(1.1))
    tested.share(UP, 5_000, left=0)
    tested.work(UP, 4_000, 7.0, 0, use[UP])
    tested.work(UP, 0, 7.4, 0, use[UP])
    assert (use[UP].busy_bits, use[UP].busy_s) == (15_000, pytest.approx(1.5))


def test_a_shared_link_that_was_busy_before_it_is_measured_is_measured_from_its_next_departure() -> None:
    tested, use = meter()
    tested.share(UP, 1_000, left=30_000)
    tested.work(UP, 20_000, 5.0, 0, use[UP])
    assert use[UP].busy_s == 0
    tested.work(UP, 10_000, 6.0, 0, use[UP])
    assert (use[UP].busy_bits, use[UP].busy_s) == (10_000, pytest.approx(1.0))


def test_a_shared_link_that_was_idle_before_the_host_noticed_begins_a_busy_period() -> None:
    tested, use = meter()
    tested.share(UP, 1_000, left=0)
    tested.work(UP, 500, 1.0, 0, use[UP])
    tested.share(UP, 1_000, left=0)
    tested.work(UP, 900, 2.0, 0, use[UP])
    assert use[UP].busy_s == 0


@pytest.mark.parametrize("discipline", ["fifo", "fair"])
@pytest.mark.parametrize("way", ["up", "down"])
def test_a_host_measures_its_links(tmp_path: Path, way: str, discipline: str) -> None:
    bandwidth = {way: "1 Mbit/s", "queue": "10 s", "discipline": discipline}
    world = World(tmp_path, bandwidth=bandwidth, overhead=250)
    try:
        senders = [world.add(peer, Parts) for peer in (0, 1)]
        receiver = world.add(2, Parts)
        world.pass_time(0.01)
        world.host.network.count_links(True, 0.0)
        frame = EventData(event=1, payload=b"").byte_size()
        for _ in range(30):
            for sender in senders:
                sender.environment.send(2, EventData(event=1, payload=bytes(1000 - frame - 3)))
        world.run(until=lambda: len(receiver.heard) == 60)
        use = world.host.network.link_use()[way == "down"]
        assert 300_000 < use.busy_bits < 60 * 10_000
        # The tests' machine may be busy.
        assert use.busy_bits / use.busy_s == pytest.approx(1_000_000, rel=0.2)
        assert world.host.network.link_use()[way == "up"].busy_s == 0
    finally:
        world.close()


def test_a_host_measures_the_up_links_of_peers_that_send_to_other_hosts(tmp_path: Path) -> None:
    world = World(tmp_path, bandwidth={"up": "1 Mbit/s", "queue": "10 s"})
    try:
        sender = world.add(0, Parts)
        world.pass_time(0.01)
        world.host.network.count_links(True, 0.0)
        for _ in range(50):
            sender.environment.send(3, EventData(event=1, payload=bytes(1000)))
        world.run(until=lambda: len(world.wire.passages) == 50)
        use = world.host.network.link_use()[UP]
        assert use.busy_bits / use.busy_s == pytest.approx(1_000_000, rel=0.2)
    finally:
        world.close()


def test_links_whose_rate_a_fault_changes_are_measured_for_it_while_it_does(tmp_path: Path) -> None:
    change = RateChange(4 * 10**8, 14 * 10**8, [0], 100_000, None)
    world = World(tmp_path, changes=[change], bandwidth={"up": "1 Mbit/s", "queue": "10 s"})
    try:
        peers = [world.add(peer, Parts) for peer in (0, 1)]
        world.pass_time(0.01)
        world.host.network.count_links(True, 0.0)
        for _ in range(150):
            peers[0].environment.send(1, EventData(event=1, payload=bytes(1000)))
        world.run(until=lambda: len(peers[1].heard) == 150)
        during, own = change.use[UP], world.host.network.link_use()[UP]
        # 0.4 s and again 0.7 s of the own rate are left, and 1 s of that of the fault.
        assert 0.7 < during.busy_s < 1.0 and 0.8 < own.busy_s < 1.2
        assert during.busy_bits / during.busy_s == pytest.approx(100_000, rel=0.1)
        assert own.busy_bits / own.busy_s == pytest.approx(1_000_000, rel=0.1)
        assert change.use[DOWN].busy_s == 0
    finally:
        world.close()


def test_links_are_measured_for_a_fault_outside_the_measure_phase_too(tmp_path: Path) -> None:
    change = RateChange(0, 10 * 10**9, [0], 100_000, None)
    world = World(tmp_path, changes=[change], bandwidth={"up": "1 Mbit/s", "queue": "10 s"})
    try:
        peers = [world.add(peer, Parts) for peer in (0, 1)]
        world.pass_time(0.01)
        for _ in range(15):
            peers[0].environment.send(1, EventData(event=1, payload=bytes(1000)))
        world.run(until=lambda: len(peers[1].heard) == 15)
        assert change.use[UP].busy_s > 0.5 and world.host.network.link_use()[UP].busy_s == 0
    finally:
        world.close()


def checks(fidelity: Fidelity) -> list[tuple[float | None, float, str]]:
    name = "rate of links, largest error"
    return [(each.measured, each.limit, each.detail) for each in fidelity.checks if each.name == name]


@pytest.fixture
def diary(monkeypatch: pytest.MonkeyPatch) -> type[Diary]:
    return diary_system(monkeypatch)


def test_the_virtual_clock_measures_no_rates_because_its_links_keep_them(
    diary: type[Diary], tmp_path: Path
) -> None:
    def start(peer: Diary) -> None:
        def publish() -> None:
            for _ in range(70):
                peer.environment.send(1, EventData(event=1, payload=bytes(10_000)))

        if peer.peer == 0:
            peer.environment.set_timer(1.0, publish)
            peer.environment.set_timer(10.0, publish)

    diary.on_start = staticmethod(start)
    network = {"bandwidth": {"up": "1 Mbit/s", "down": "10 Mbit/s", "queue": "10 s"}}
    made = make_plan(2, [(0, 0.0, 20.0), (1, 0.0, 20.0)])
    outcome = run(diary_spec(2, end=20.0, network=network), made, tmp_path)
    up, down = outcome.fidelity.links
    assert (up.asked_bit_s, up.achieved_bit_s) == (1_000_000, None)
    assert (down.asked_bit_s, down.achieved_bit_s) == (10_000_000, None)
    assert checks(outcome.fidelity) == []
    told = json.loads(outcome.directory.fidelity.read_text())["links"][0]
    assert told["achieved_bit_s"] is None


def judged(busy_s: float, bits: float, **fidelity: Any) -> Fidelity:
    network = {"latency": {"kind": "constant", "rtt": "40 ms"}, "bandwidth": {"up": "1 Mbit/s"}}
    asked = spec_of(5, network=network, fidelity=fidelity)
    coordinator = Coordinator(asked, draw_plan(asked), "experiment", "trial")
    begin(coordinator)
    waits = control_pb2.Distribution(buckets=[0], counts=[5])
    use = control_pb2.LinkUse(bytes=9, waits=waits, busy_bits=bits / 2, busy_s=busy_s / 2)
    for host in ("host-0", "host-1"):
        coordinator.finish(result(host, links=[use, control_pb2.LinkUse()]), 10 * SECOND)
    return judge(coordinator, VERSIONS)


def test_a_rate_beyond_its_limit_makes_the_trial_invalid() -> None:
    late = judged(40.0, 38_000_000)
    detail = "up links of class 0: 950,000 bit/s instead of 1,000,000, over 40.0 s"
    assert checks(late) == [(5, 3, detail)] and not late.valid
    (link,) = late.links
    assert (link.asked_bit_s, link.achieved_bit_s, link.busy_s) == (1_000_000, 950_000, 40)
    assert checks(judged(40.0, 39_200_000))[0][0] == 2 and judged(40.0, 39_200_000).valid
    assert judged(40.0, 38_000_000, rate_error=0.05).valid


def test_rates_are_judged_only_where_links_were_busy_for_10_s_in_all() -> None:
    short = judged(9.9, 4_950_000)
    assert checks(short) == [] and short.valid and short.links[0].achieved_bit_s == 500_000
    assert checks(judged(0.0, 0)) == []


def test_experiments_without_the_limit_stay_as_they_are() -> None:
    assert not {"rate_error", "fault_error"} & FidelityLimits().model_dump().keys()
    assert FidelityLimits.model_validate({"rate_error": "5 %"}).model_dump()["rate_error"] == 0.05


@pytest.mark.parametrize("by, lateness", [(110.0, 0.0), (99.5, 0.5), (95.0, 2.0)])
def test_a_message_is_late_on_its_link_since_it_had_to_leave_and_no_later_than_the_agenda(
    monkeypatch: pytest.MonkeyPatch, by: float, lateness: float
) -> None:
    """It is 100 s, the agenda is 2 s late, and the message has to leave by `by`."""
    clock = TrialClock(unix_ns(), 1.0)
    agenda = Agenda(clock, lambda error: None)
    agenda.late = 2.0
    told: list[float] = []
    monkeypatch.setattr(RateMeter, "leave", lambda self, departure, late: told.append(late))
    line = LinkLine(build_network(NetworkSpec(), [0, 0], 1, [0, 0]), agenda, clock)
    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    line.passed(Departure(0, 1, 1000, 1.0), by=by)
    line.passed(Departure(0, 1, 1000, 1.0))
    assert told == [lateness, 2.0]
