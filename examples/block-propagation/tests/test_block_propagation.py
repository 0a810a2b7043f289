"""Block gossip: by hand, without clock and network, and in a small finished run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from block_propagation.messages import Announcement, Block, GetBlock
from block_propagation.parameters import BlockGossipParameters
from block_propagation.system import BlockGossip

from analysis.testing import finished_run
from emulator.contract.protocol import Contact, Event
from emulator.testing.fake_environment import FakeEnvironment

MEGABYTE = bytes(1_000_000)


def peer(world: FakeEnvironment, relay: str, *neighbours: int) -> BlockGossip:
    """Return a peer that checks a megabyte in 0.5 s, and waits for a block for 20 s."""
    made = BlockGossip(world, BlockGossipParameters.model_validate({"relay": relay}))
    for other in neighbours:
        made.neighbour_changed(Contact(other), True)
    return made


def test_a_block_is_asked_of_one_holder_after_the_other_until_it_is_here() -> None:
    peer(world := FakeEnvironment(), "announce")
    world.hand_over(3, Announcement(7))
    world.hand_over(4, Announcement(7))
    assert world.take(GetBlock) == [(3, GetBlock(7))]
    world.advance(20.0)
    assert world.take(GetBlock) == [(4, GetBlock(7))]
    world.hand_over(4, Block(event=7, maker=1, hops=2))
    world.advance(50.0)
    assert world.take(GetBlock) == []


def test_a_block_is_told_after_it_was_checked_to_neighbours_that_lack_it() -> None:
    peer(world := FakeEnvironment(), "announce", 3, 4, 5)
    world.hand_over(3, Block(event=7, maker=1, hops=2, content=MEGABYTE))
    world.hand_over(4, Announcement(7))
    world.advance(0.4)
    assert world.take(Announcement) == world.delivered == []
    world.advance(0.2)
    assert world.take(Announcement) == [(5, Announcement(7))]
    assert [event.hops for event in world.delivered] == [2]


def test_who_pushes_sends_the_block_itself_to_all_neighbours() -> None:
    peer(world := FakeEnvironment(), "push", 3, 4, 5).publish(Event(7, 0, payload=MEGABYTE))
    assert [to for to, _ in world.take(Block)] == [3, 4, 5]


def test_a_finished_run_tells_of_each_block(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"vary": {}, "peers": 20, "repeat": 1, "workload.blocks.interval": "2 s"}
    keys |= {"phases.settle": "15 s", "phases.measure": "20 s"}
    with finished_run("block-propagation:relay.yaml", tmp_path, **keys) as run:
        assert run.summary["valid"]
        blocks = run.rows("blocks")
        # Everybody got it from somebody who had sent it for 1 s a megabyte and then checked it for 0.5 s.
        assert blocks and all(each["ms_90"] > each["size"] * 1.5e-3 for each in blocks)
        assert run.measures()["hit_ratio"] == 1 and run.measures()["duplicates"] == 0
        assert "blocks-size" in {chart.name for chart in run.charts("spread")}
