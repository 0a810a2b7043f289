"""How a server finds its place on a tree of Kyra."""

from __future__ import annotations

from collections import Counter

from emulator.contract.protocol import Message
from emulator.protocols.overlays.cliques.measuring import Measuring
from emulator.protocols.pubsub.content.space import EventSpace
from emulator.protocols.pubsub.content.trees import FilterTrees
from emulator.protocols.pubsub.kyra.growth import Growth
from emulator.protocols.pubsub.kyra.server_context import ServerContext
from emulator.testing.fake_environment import FakeEnvironment
from trellis.v1.cliques import CliquePing, CliquePong
from trellis.v1.filters import TreeAnswer, TreeAttachment
from trellis.v1.kyra import KyraDistance, KyraProbe

TABLE = 1, 0
ME = 500


class Tree:
    """One server that looks for its place; the other members agree with it on the root."""

    def __init__(self, others: range) -> None:
        self.environment = FakeEnvironment(ME)
        space = EventSpace.of({"a": (0.0, 1.0)})
        trees = FilterTrees(self.environment, space, 1.0, 1.0, lambda tree, event, hops, sender: None)
        measuring = Measuring(self.environment, 1.0)
        measuring.rtts.update({peer: peer / 1000 for peer in range(ME)})
        server = ServerContext(self.environment, space, trees, measuring, 1.0)
        self.links = trees.join(TABLE, space.whole).links
        self.growth = Growth(server, TABLE, self.links)
        self.growth.update([*others, ME])
        self.root = self.growth.root
        measuring.rtts[self.root] = 1.0
        self.leaving: int | None = None
        self.newcomer: int | None = None
        """Takes itself for the root."""
        self.probed: Counter[int] = Counter()
        self.asked_to_attach: list[int] = []

    def run(self, seconds: float) -> None:
        """Let time pass; the others answer at once."""
        for _ in range(round(seconds * 10)):
            self.environment.advance(0.1)
            outbox, self.environment.fake.outbox = self.environment.outbox, []
            for sent in outbox:
                answer = self.answer(sent.peer, sent.message)
                if answer is not None:
                    self.environment.hand_over(sent.peer, answer, sent.channel, -sent.request)

    def answer(self, peer: int, message: Message) -> Message | None:
        match message:
            case CliquePing():
                return CliquePong()
            case KyraProbe():
                self.probed[peer] += 1
                if peer == self.leaving:
                    return KyraDistance(False, leaving=True)
                if peer == self.newcomer:
                    return KyraDistance(True, peer, 0, True)
                distance = 0 if peer == self.root else peer
                return KyraDistance(True, self.root, distance, True, settled=True)
            case TreeAttachment():
                self.asked_to_attach.append(peer)
                return TreeAnswer(True, [] if peer == self.root else [self.root])
        return None


def test_of_many_members_each_is_asked_until_it_told_how_far_it_is() -> None:
    tree = Tree(range(10, 160))
    tree.run(10.0)
    assert all(tree.probed[peer] == 1 for peer in range(10, 160) if peer != tree.root)
    assert tree.links.parent == min(peer for peer in range(10, 160) if peer != tree.root)
    # Each look found a nearer one, or none: it never goes to one that is farther than the one before.
    assert tree.asked_to_attach == sorted(tree.asked_to_attach, reverse=True)


def test_a_server_in_its_place_asks_newcomers_alone() -> None:
    tree = Tree(range(10, 40))
    tree.run(10.0)
    tree.probed.clear()
    tree.growth.update([5, *range(10, 40), ME])
    tree.run(12.0)
    assert tree.probed.keys() == {5, tree.root}
    assert tree.links.parent == 5


def test_a_parent_that_leaves_is_left_though_it_says_so_at_each_look() -> None:
    tree = Tree(range(10, 40))
    tree.run(10.0)
    tree.leaving = tree.links.parent
    assert tree.leaving is not None
    tree.growth.on_leaving(tree.leaving)
    tree.run(2.0)
    assert tree.links.parent == sorted({*range(10, 40)} - {tree.root, tree.leaving})[0]


def test_those_who_told_their_distance_from_a_root_that_stays_are_not_asked_again() -> None:
    tree = Tree(range(10, 40))
    tree.run(10.0)
    tree.leaving = tree.links.parent
    assert tree.leaving is not None
    tree.probed.clear()
    tree.growth.on_leaving(tree.leaving)
    tree.run(10.0)
    assert tree.probed.keys() == {tree.leaving, tree.root}


def test_a_root_that_most_agree_on_does_not_go_below_a_newcomer_that_does_not_know_it() -> None:
    # The newcomer may be below it already, and then all on the cycle would leave their parents.
    tree = Tree(range(10, 40))
    tree.root, tree.newcomer = ME, 20
    tree.run(30.0)
    assert tree.links.claims_root
    assert not tree.asked_to_attach
