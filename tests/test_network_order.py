"""The order of messages between two peers: kept where the experiment says so, by the later one waiting."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from realtime_world import World
from runtime_diary import Diary, diary_spec, diary_system
from small_trial import make_plan, run

from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.plan.tables import Plan
from emulator.network.pair_order import PairOrder
from trellis.v1.pubsub import EventData, Pull

JITTER = {"jitter": "50 ms"}
MESSAGES = 40


@pytest.fixture
def diary(monkeypatch: pytest.MonkeyPatch) -> type[Diary]:
    return diary_system(monkeypatch)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path, jitter="20 ms", order="kept")
    yield made
    made.close()


def heard(
    diary: type[Diary], tmp_path: Path, network: dict[str, Any], **more: Any
) -> list[tuple[float, int, int]]:
    """Let peers 0 and 1 send numbered messages to peer 2, 2 ms apart; return when which of whom comes."""

    def send(peer: Diary) -> None:
        for number in range(MESSAGES if peer.peer < 2 else 0):
            peer.environment.set_timer(
                1.0 + number * 0.002, lambda n=number: peer.environment.send(2, EventData(event=n))
            )  # type: ignore[misc]

    diary.on_start = staticmethod(send)
    outcome = run(
        diary_spec(3, network=network, **more), make_plan(3, [(n, 0, 9) for n in range(3)]), tmp_path
    )
    assert outcome.fidelity.checks
    (receiver,) = (peer for peer in diary.lives if peer.peer == 2)
    return [(at, sender, message.event) for at, sender, message in receiver.received]  # type: ignore[attr-defined]


def of(sender: int, came: list[tuple[float, int, int]]) -> list[int]:
    return [number for _, who, number in came if who == sender]


@pytest.mark.parametrize(
    "network", [JITTER, JITTER | {"bandwidth": {"up": "100 Mbit/s", "down": "100 Mbit/s"}}]
)
def test_messages_of_a_pair_overtake_each_other_unless_their_order_is_kept(
    diary: type[Diary], tmp_path: Path, network: dict[str, Any]
) -> None:
    any_order = heard(diary, tmp_path / "any", network)
    diary.lives.clear()
    kept = heard(diary, tmp_path / "kept", network | {"order": "kept"})
    for sender in (0, 1):
        assert of(sender, any_order) != sorted(of(sender, any_order))
        assert of(sender, kept) == list(range(MESSAGES))
    # The later one waits for the earlier one, and nothing else waits: peers of two pairs still mix.
    drawn = {(sender, number): at for at, sender, number in any_order}
    for sender in (0, 1):
        latest = 0.0
        for at, number in [(at, number) for at, who, number in kept if who == sender]:
            latest = max(latest, drawn[sender, number])
            assert at == pytest.approx(latest, abs=1e-3 if "bandwidth" in network else 1e-9)
    assert [sender for _, sender, _ in kept] != sorted(sender for _, sender, _ in kept)


def test_a_fault_that_ends_lets_no_message_overtake_where_order_is_kept(
    diary: type[Diary], tmp_path: Path
) -> None:
    slow = {"name": "slow", "at": "1 s", "for": "0.04 s", "links": {"number": 1, "delay": "500 ms"}}
    for order, same in (("any", False), ("kept", True)):
        diary.lives.clear()

        def send(peer: Diary) -> None:
            for number in range(MESSAGES):
                peer.environment.set_timer(
                    1.0 + number * 0.002, lambda n=number: peer.environment.send(1 - peer.peer, Pull(event=n))
                )  # type: ignore[misc]

        diary.on_start = staticmethod(send)
        spec = diary_spec(2, network={"order": order}, faults=[slow])
        made = make_plan(2, [(0, 0, 9), (1, 0, 9)])
        run(spec, Plan(made.peers, made.sessions, draw_plan(spec).faults, **made.tables), tmp_path / order)
        for peer in diary.lives:
            came = [message.event for _, _, message in peer.received]  # type: ignore[attr-defined]
            assert len(came) == MESSAGES
            assert (came == sorted(came)) is same


def test_hosts_in_real_time_keep_the_order_too(world: World) -> None:
    sender = world.join(0)
    world.join(1)
    for event in range(30):
        sender.environment.send(1, Pull(event=event))
        sender.environment.send(3, Pull(event=event))
    world.run(lambda: len(world.wire.passages) == 30)
    left = [passage.parcel.message.event for passage in world.wire.passages if passage.parcel]  # type: ignore[attr-defined]
    assert left == list(range(30))
    due = [passage.due_ns for passage in world.wire.passages]
    assert due == sorted(due)


def test_pairs_whose_messages_have_all_arrived_take_no_memory() -> None:
    order, random = PairOrder(), Random(1)
    for now in range(0, 1_000_000, 10):
        order.arrival(random.randrange(1000), random.randrange(1000), now + 500, now)
    assert len(order) <= 1024
