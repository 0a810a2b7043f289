"""Leaders of cliques that propose to each other at the same time, over a network with delays and loss."""

from __future__ import annotations

import heapq
import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from emulator.protocols.overlays.cliques.overlay import Cliques
from emulator.protocols.overlays.cliques.parameters import CliqueParameters
from emulator.protocols.overlays.cliques.view import View, even_ends
from emulator.testing.fake_environment import FakeEnvironment, Sent
from trellis.v1.cliques import CliqueProposal, CliqueReport, CliqueView

STEP_S = 0.05
DELAYS_S = (0.05, 0.1, 0.15, 0.3)
LONGEST_S = 30.0
"""The seconds within which servers agree: a promise lasts for 12 s, and members report every 8 s."""
ONE, OTHER = [0, 1, 2, 6], [3, 4, 5, 7]


class Delayed:
    """Two cliques that know of each other; each message takes a time of its own."""

    def __init__(self, draw: random.Random, lost_views: int) -> None:
        self._draw = draw
        self._lost_views = lost_views
        self._under_way: list[tuple[float, int, int, Sent]] = []
        self.now = 0.0
        self.proposals = 0
        asked = CliqueParameters.model_validate(
            {"size": draw.choice((4, 6, 8)), "minimum": 1, "diameter": "5 s"}
        )
        self.environments = {peer: FakeEnvironment(peer, draw.randrange(1000)) for peer in (*ONE, *OTHER)}
        self.cliques = {peer: Cliques(of, asked) for peer, of in self.environments.items()}
        formed = [
            View(100, members, {p: i / 10 for i, p in enumerate(members)}, even_ends(len(members)), {})
            for members in (ONE, OTHER)
        ]
        for peer, clique in self.cliques.items():
            clique.start([])
            for view in formed:
                alone = clique.view
                assert alone is not None
                self.environments[peer].hand_over(view.leader, view.message(replaced=[alone]))
            self.environments[peer].fake.empty_outbox()

    def run(self, until: float) -> None:
        """Let time pass until then (s)."""
        while self.now < until:
            self.now += STEP_S
            for peer, environment in self.environments.items():
                environment.advance(STEP_S)
                self._send(peer)
            while self._under_way and self._under_way[0][0] <= self.now:
                _, _, sender, sent = heapq.heappop(self._under_way)
                if sent.peer in self.environments:
                    receiver = self.environments[sent.peer]
                    receiver.hand_over(sender, sent.message, sent.channel, sent.request)
                    self._send(sent.peer)
                elif sender in self.environments:
                    self.environments[sender].life.notice_unreachable(sent.peer, sent.request)
                    self._send(sender)

    def propose(self, leader: int) -> None:
        self.cliques[leader]._leading._tending.tend()

    def crash(self, peer: int) -> None:
        del self.cliques[peer], self.environments[peer]

    def views(self) -> dict[int, tuple[int, list[int]]]:
        """The number and the members of the view that each server has, none while it joins anew."""
        views = {peer: clique.view for peer, clique in self.cliques.items()}
        return {
            peer: (0, []) if view is None else (view.number, sorted(view.members))
            for peer, view in views.items()
        }

    def _send(self, sender: int) -> None:
        for sent in self.environments[sender].fake.empty_outbox():
            self.proposals += isinstance(sent.message, CliqueProposal)
            if isinstance(sent.message, CliqueView) and self._lost_views and self._draw.random() < 0.3:
                self._lost_views -= 1
                continue
            arrival = self.now + self._draw.choice(DELAYS_S), self._draw.getrandbits(62)
            heapq.heappush(self._under_way, (*arrival, sender, sent))


def agree(views: dict[int, tuple[int, list[int]]]) -> bool:
    """Return whether each server is in one clique, of which all members have the same view."""
    return all(
        peer in view[1] and all(views.get(member) == view for member in view[1])
        for peer, view in views.items()
    )


@settings(max_examples=12)
@given(seed=st.integers(0, 1 << 30), lost_views=st.integers(0, 2), crash=st.booleans())
@example(seed=26, lost_views=1, crash=False)
def test_servers_of_two_leaders_that_propose_at_once_are_in_one_clique_each_soon(
    seed: int, lost_views: int, crash: bool
) -> None:
    draw = random.Random(seed)
    net = Delayed(draw, lost_views)
    net.run(1.0)
    net.propose(ONE[0])
    net.run(1.0 + draw.choice((0, *DELAYS_S)))
    net.propose(OTHER[0])
    if crash:
        net.run(net.now + 2.0 * draw.random())
        net.crash(draw.choice([*ONE[1:], *OTHER[1:]]))
    agreed, longest = net.now, 0.0
    while net.now < 60.0:
        net.run(net.now + 1.0)
        if agree(net.views()):
            agreed = net.now
        longest = max(longest, net.now - agreed)
    assert net.proposals
    assert longest < LONGEST_S, net.views()


@pytest.mark.parametrize(
    ("number", "mates"),
    [(0, [0, 1, 9]), (1, [0, 1])],
    ids=["another view of the same number", "a later view that the leader never saw"],
)
@pytest.mark.parametrize("promised", [False, True])
def test_a_leader_numbers_its_view_above_another_one_that_a_member_has(
    number: int, mates: list[int], promised: bool
) -> None:
    environment = FakeEnvironment(0)
    leader = Cliques(environment, CliqueParameters())
    leader.start([])
    view = View(1 << 30, [0, 1, 2], {0: 0.0, 1: 1.0, 2: 2.0}, even_ends(3), {})
    assert leader.view is not None
    environment.hand_over(1, view.message(replaced=[leader.view]))
    if promised:
        environment.hand_over(8, CliqueProposal(View(1, [8], {8: 5.0}, even_ends(1), {}).record()), "", 3)
    environment.fake.empty_outbox()
    environment.hand_over(2, CliqueReport(view.number + number, mates, [100] * len(mates)), "", 5)
    # After a promise the other view may be on its way: then it is the one that counts.
    told = {peer: message.record for peer, message in environment.take(CliqueView)}
    assert told.keys() == (set() if promised else {1, 2})
    for record in told.values():
        assert record is not None
        assert (record.view, record.members) == (view.number + number + 1, [0, 1, 2])
