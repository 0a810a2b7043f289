"""Li's system over Pastry in a network with latencies, and a tenth of the peers crashing at once."""

from __future__ import annotations

import random

from pastry_world import PastryWorld, Place
from test_pubsub_li import parameters, random_ranges, random_values

from emulator.protocol import Contact, Event, Outcome, RangeInterest
from emulator.pubsub.li.pieces import matches
from emulator.pubsub.li.system import Li

PEERS = 40


class LiPlace(Place):
    """A place whose Pastry carries Li's system."""

    def __init__(self, world: PastryWorld, peer: int) -> None:
        super().__init__(world, peer)
        self.outcomes: list[Outcome] = []
        overlay = self.pastry
        self.li = Li(
            self,
            parameters(replicas=4),
            overlay,
            digit_bits=world.parameters.digit_bits,
            is_ready=lambda: overlay.ready,
        )
        self.pastry = self.li  # type: ignore[assignment]  # hears of failed sends
        self.handlers = self.li.handlers()

    def deliver(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)


def test_events_arrive_once_before_and_after_a_tenth_of_the_peers_crashes() -> None:
    draw = random.Random(1)
    world = PastryWorld()
    peers: dict[int, LiPlace] = {}
    for peer in range(PEERS):
        contacts: list[Contact] = world.contacts(peer)
        place = peers[peer] = LiPlace(world, peer)
        world.places[peer] = place
        place.li.start(contacts)
        world.run(1.0)
    world.run(20.0)
    asked: list[tuple[int, RangeInterest]] = []
    for _ in range(120):
        asked.append((draw.randrange(PEERS), RangeInterest(random_ranges(draw))))
        peers[asked[-1][0]].li.subscribe(asked[-1][1])
        world.run(0.1)
    world.run(15.0)

    def check(first: int) -> None:
        for number in range(first, first + 25):
            event = Event(number, 0, attributes=random_values(draw))
            peers[draw.choice(list(world.places))].li.publish(event)
            world.run(8.0)
            got = sorted(
                peer
                for peer in world.places
                for outcome in peers[peer].outcomes
                if isinstance(outcome, Event) and outcome.number == number
            )
            wanted = {p for p, i in asked if p in world.places and matches(i.ranges, event.attributes, False)}
            assert got == sorted(wanted)

    check(0)
    for peer in draw.sample(range(PEERS), PEERS // 10):
        world.leave(peer, graceful=False)
    world.run(60.0)
    check(100)
