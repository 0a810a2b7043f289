"""Gossip of blocks, as in Bitcoin (Decker, Wattenhofer, IEEE P2P 2013, section III).

A peer checks a block that is new to it and then announces it to its neighbours in a random graph. Who lacks
the block asks one of those that announced it. Or peers push blocks without asking.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from block_propagation.messages import Announcement, Block, GetBlock
from block_propagation.parameters import BlockGossipParameters
from emulator.contract.protocol import Application, Contact, Environment, Event
from emulator.contract.system import System
from emulator.protocols.overlays.random_graph.membership import RandomGraph

CHECKING: Final = 0.5e-6  # seconds to check a byte of a block
PATIENCE: Final = 20.0  # seconds until another neighbour is asked for a block


class BlockGossip(Application):
    """One peer."""

    def __init__(self, environment: Environment, parameters: BlockGossipParameters) -> None:
        super().__init__(environment)
        self.pushes = parameters.relay == "push"
        self.graph = RandomGraph(environment.channel("graph"), parameters.graph)
        self.graph.add_listener(self)
        self.peers: dict[int, None] = {}  # the neighbours, in the order in which they came
        self.blocks: dict[int, Block] = {}  # the blocks that were checked, as they are sent on
        self.arrived: set[int] = set()
        self.holders: dict[int, list[int]] = {}  # the neighbours that have a block, as far as they said so
        environment.handle(Announcement, self.on_announcement)
        environment.handle(GetBlock, lambda sender, asked: environment.send(sender, self.blocks[asked.event]))
        environment.handle(Block, self.on_block)

    def start(self, contacts: Sequence[int]) -> None:
        self.graph.start(contacts)

    def stop(self, graceful: bool) -> None:
        self.graph.stop(graceful)

    def neighbour_changed(self, contact: Contact, joined: bool) -> None:
        """Tell a new neighbour of the latest block, which it may have missed."""
        self.peers.pop(contact.peer, None)
        if joined:
            self.peers[contact.peer] = None
            for number in list(self.blocks)[-1:]:
                self.environment.send(contact.peer, Announcement(number))

    def publish(self, event: Event) -> None:
        """Make a block."""
        self.arrived.add(event.number)
        self.spread(Block(event.number, event.publisher, 1, event.payload))

    def spread(self, block: Block) -> None:
        """Tell the neighbours of it that have not said that they have it."""
        self.blocks[block.event] = block
        holders = self.holders.get(block.event, [])
        for peer in [peer for peer in self.peers if peer not in holders]:
            self.environment.send(peer, block if self.pushes else Announcement(block.event))

    def on_announcement(self, sender: int, told: Announcement) -> None:
        holders = self.holders.setdefault(told.event, [])
        holders.append(sender)
        if len(holders) == 1:
            self.ask(told.event, 0)

    def ask(self, number: int, turn: int) -> None:
        """Ask one holder after the other until the block is here."""
        if number not in self.arrived:
            holders = self.holders[number]
            self.environment.send(holders[turn % len(holders)], GetBlock(number))
            self.environment.set_timer(PATIENCE, partial(self.ask, number, turn + 1))

    def on_block(self, sender: int, block: Block) -> None:
        """Check what is new; further copies end here."""
        self.holders.setdefault(block.event, []).append(sender)
        if block.event not in self.arrived:
            self.arrived.add(block.event)
            self.environment.set_timer(len(block.content) * CHECKING, partial(self.accept, block))

    def accept(self, block: Block) -> None:
        self.environment.deliver(Event(block.event, block.maker, payload=block.content, hops=block.hops))
        self.spread(Block(block.event, block.maker, block.hops + 1, block.content))


PAPER = "Decker, Wattenhofer: Information Propagation in the Bitcoin Network, IEEE P2P 2013"
BLOCK_GOSSIP = System("block-gossip", "Gossip of blocks", PAPER, BlockGossipParameters, BlockGossip, "blocks")
