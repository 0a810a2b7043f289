"""When the first leader of Kyra draws zones, and what becomes of zones that two draw at once."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from emulator.protocols.overlays.cliques.overlay import Cliques
from emulator.protocols.overlays.cliques.view import even_ends
from emulator.protocols.pubsub.content.space import EventSpace
from emulator.protocols.pubsub.kyra.drawing import Drawing
from emulator.protocols.pubsub.kyra.epoch import STEP, Epoch
from emulator.protocols.pubsub.kyra.parameters import KyraParameters
from emulator.protocols.pubsub.kyra.system import Kyra
from emulator.testing.fake_environment import FakeEnvironment, Lockstep
from trellis.v1.cliques import CliqueRecord

DOMAIN = {"x": (0.0, 4.0)}


class Leader:
    """The first leader, whose directory has one clique."""

    def __init__(self, members: int = 1, **parameters: object) -> None:
        asked = KyraParameters.model_validate({"attributes": DOMAIN, "formation": "600 s"} | parameters)
        self.environment = FakeEnvironment(5)
        self.cliques = Cliques(self.environment.channel("cliques"), asked.cliques)
        self.newest: Epoch | None = None
        self.drawing = Drawing(
            self.environment, asked, EventSpace.of(DOMAIN), self.cliques, lambda: self.newest
        )
        self.know(members)

    def know(self, members: int) -> None:
        """The clique has so many members now."""
        of = list(range(members))
        record = CliqueRecord(0, 10 + members, of, [float(peer) for peer in of], even_ends(members))
        self.cliques.directory.put(record)

    def judge(self, seen: Sequence[float] = ()) -> bool:
        """Return whether it draws zones, by events with these values."""
        drawn = self.drawing.judge([[value] for value in seen])
        if drawn is not None:
            self.newest = drawn
        return drawn is not None

    def draw(self) -> None:
        """Draw the first zones; events use them, and they are old enough to be judged."""
        self.environment.advance(21.0)
        assert self.judge()
        self.environment.advance(25.0)


def events(*zones: int) -> list[float]:
    """Return so many events in each of the zones, which are as wide as each other."""
    width = 4.0 / len(zones)
    return [(number + 0.5) * width for number, count in enumerate(zones) for _ in range(count)]


def test_the_first_zones_are_drawn_when_no_clique_has_changed_for_20_s() -> None:
    leader = Leader()
    leader.environment.advance(15.0)
    assert not leader.judge()
    leader.drawing.note_change()
    leader.environment.advance(19.0)
    assert not leader.judge()
    leader.environment.advance(2.0)
    assert leader.judge()


def test_the_first_zones_are_drawn_some_time_after_the_start_though_cliques_go_on_changing() -> None:
    leader = Leader(formation="30 s")
    drawn = []
    for _ in range(31):
        leader.environment.advance(1.0)
        leader.drawing.note_change()
        drawn.append(leader.judge())
        if drawn[-1]:
            break
    assert len(drawn) == 30


@pytest.mark.parametrize(("members", "trees", "anew"), [(3, None, False), (4, None, True), (4, 2, False)])
def test_zones_are_drawn_anew_when_cliques_have_grown_beyond_them(
    members: int, trees: int | None, anew: bool
) -> None:
    leader = Leader(2, trees=trees)
    leader.draw()
    leader.know(members)
    assert leader.judge() == anew
    assert leader.newest is not None
    assert (leader.newest.number, leader.newest.trees) == ((2 * STEP + 5, 4) if anew else (STEP + 5, 2))


@pytest.mark.parametrize(("fullest", "anew"), [(22, False), (40, True)])
def test_zones_are_drawn_anew_only_if_chance_does_not_explain_the_fullest_one(
    fullest: int, anew: bool
) -> None:
    """Both have more than 1.5 times the mean of 10."""
    leader = Leader(4)
    leader.draw()
    rest = 40 - fullest
    assert leader.judge(events(fullest, rest, 0, 0)) == anew


@pytest.mark.parametrize("trees", [4, 2])
def test_ten_events_a_zone_are_needed_however_many_zones_a_tree_has(trees: int) -> None:
    leader = Leader(4, trees=trees)
    leader.draw()
    assert leader.newest is not None and len(leader.newest.zones) == 4
    assert not leader.judge(events(39, 0, 0, 0))
    assert leader.judge(events(1, 0, 0, 0))


def test_of_two_epochs_that_are_drawn_at_once_the_one_with_the_greater_number_stays() -> None:
    """Two servers know nothing of each other when they draw zones. Server 0 is the first leader later."""
    parameters = KyraParameters.model_validate(
        {"attributes": DOMAIN, "formation": "5 s", "trees": 1, "cliques": {"diameter": "5 s"}}
    )
    peers = Lockstep(lambda environment: Kyra(environment, parameters), range(2))
    peers.start(contacts=0)
    for _ in range(12):
        peers.round()
    assert epochs(peers) == [{STEP}, {STEP + 1}]
    for _ in range(30):
        for peer, environment in peers.environments.items():
            for answer in environment.asked_for_contacts:
                answer([1 - peer])
            environment.asked_for_contacts.clear()
        peers.round()
    assert epochs(peers) == [{STEP + 1}, {STEP + 1}]


def epochs(peers: Lockstep) -> list[set[int]]:
    """Return the epochs that each server routes by."""
    found = []
    for server in peers.protocols.values():
        assert isinstance(server, Kyra)
        found.append({state.epoch.number for state in server.epochs})
    return found
