"""Sampling by random walks: a peer learns the medians of the ring as seen from its place.

The first walks sample the whole ring, those of the next level the half up to the median, and so on (Magnet,
section 2.2, rules a to c). The range of the known successors needs no walk; where links prefer similar peers,
the successors are asked for their interests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from emulator.contract.protocol import Environment, Timer
from emulator.protocols.overlays.oscar.member import RingMember
from emulator.protocols.overlays.oscar.parameters import RingParameters
from emulator.protocols.overlays.oscar.partitions import Candidate, Partitions
from emulator.protocols.overlays.oscar.ring import RingNeighbours
from trellis.v1.oscar import Sampled, Walk
from trellis.v1.overlay import Contact, Profile

_FIRST_LEVELS: Final = 8
"""The number of partitions that a peer expects before it has found any."""
_FEWEST_STEPS: Final = 3
_MOST_LEVELS: Final = 64
_TRIES: Final = 3


class Sampling:
    """The walks that a peer sends out and those that pass through it."""

    def __init__(
        self,
        environment: Environment,
        parameters: RingParameters,
        ring: RingNeighbours,
        member: RingMember,
        profile: Callable[[], Profile | None],
        asks_successors: bool,
        done: Callable[[Partitions], None],
    ) -> None:
        """`profile` returns the interests that answers to walks tell.

        `asks_successors` says whether the interests of successors count; then they are asked for them. `done`
        gets the partitions when the last level was sampled.
        """
        self._environment = environment
        self._parameters = parameters
        self._ring = ring
        self._member = member
        self._profile = profile
        self._asks_successors = asks_successors
        self._done = done
        self.levels = 0
        """The number of partitions found last, about the logarithm of the number of peers to base 2."""
        self.walked = 0
        """The messages of this peer's walks if all of them go their whole way: each step, and the answer."""
        self._number = 0
        self._waiting: set[int] = set()
        self._reach = 0
        self._found: list[tuple[int, Candidate]] = []
        self._partitions = Partitions()
        self._timer: Timer | None = None
        self._asking = False
        """Whether this peer waits for the answers of successors instead of walks."""
        environment.handle(Walk, self._on_walk)
        environment.handle(Sampled, self._on_sampled)

    @property
    def under_way(self) -> bool:
        """Whether walks are under way."""
        return self._timer is not None

    def begin(self, size: int) -> None:
        """Sample all `size` identifiers of the ring, and the nested halves of its peers."""
        self.cancel()
        self._partitions = Partitions()
        self._sample_below(size)

    def cancel(self) -> None:
        """Forget the walks that are under way."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._asking = False
        self._waiting.clear()

    def _sample_below(self, reach: int) -> None:
        """Sample the peers that follow within `reach`: by walks or, near this peer, among the successors."""
        self._reach = reach
        self._found = []
        level = len(self._partitions)
        near = self._ring.within(reach)
        if near is None and level < _MOST_LEVELS:
            self._send_walks(level)
        elif near and self._asks_successors:
            self._ask(near)
        else:
            self._cut_near()

    def _send_walks(self, level: int) -> None:
        parameters = self._parameters
        steps = max(_FEWEST_STEPS, (self.levels or _FIRST_LEVELS) - level)
        for _ in range(parameters.samples):
            self._pass_on(self._new_walk(steps))
        self._timer = self._environment.set_timer(parameters.timeout, self._end_level)

    def _ask(self, near: list[Contact]) -> None:
        """Send a walk of no steps, which is a question, to each of these successors."""
        self._asking = True
        for contact in near:
            self._environment.send(contact.peer, self._new_walk(0))
        self.walked += len(near)
        self._timer = self._environment.set_timer(self._parameters.timeout, self._end_level)

    def _new_walk(self, steps: int) -> Walk:
        self._number += 1
        self._waiting.add(self._number)
        self.walked += steps + 1
        return Walk(self._environment.peer, self._number, self._ring.own, self._reach, steps)

    def _cut_near(self) -> None:
        """Take the exact medians of the successors.

        A successor that has told nothing has no load and no interests.
        """
        told = {candidate.contact.peer: candidate for _, candidate in self._found}
        near = self._ring.within(self._reach)
        while near:
            found = [
                (self._ring.offset(c.identifier), told.get(c.peer) or Candidate(c, 0, None)) for c in near
            ]
            near = self._ring.within(self._partitions.split(found))
        self._end()

    def _pass_on(self, walk: Walk) -> None:
        """Send the walk to a random neighbour in its range, or end it here if there is none."""
        neighbours = self._member.known_peers()
        rng = self._environment.random
        mask = self._ring.mask
        chosen: Contact | None = None
        for _ in range(_TRIES):
            if not neighbours:
                break
            contact = neighbours[rng.randrange(len(neighbours))]
            if 0 < (contact.identifier - walk.low) & mask < walk.reach:
                chosen = contact
                break
        if chosen is None:
            inside = [c for c in neighbours if 0 < (c.identifier - walk.low) & mask < walk.reach]
            if inside:
                chosen = inside[rng.randrange(len(inside))]
        if chosen is not None:
            onward = Walk(walk.origin, walk.number, walk.low, walk.reach, walk.steps - 1)
            self._environment.send(chosen.peer, onward)
        elif walk.origin != self._environment.peer:
            self._answer(walk)

    def _on_walk(self, sender: int, walk: Walk) -> None:
        if walk.steps == 0:
            self._answer(walk)
        else:
            self._pass_on(walk)

    def _answer(self, walk: Walk) -> None:
        own = Contact(self._environment.peer, self._ring.own)
        sampled = Sampled(walk.number, own, self._member.incoming_links(), self._profile())
        self._environment.send(walk.origin, sampled)

    def _on_sampled(self, sender: int, sampled: Sampled) -> None:
        if sampled.number not in self._waiting or sampled.own is None:
            return
        self._waiting.discard(sampled.number)
        offset = self._ring.offset(sampled.own.identifier)
        if 0 < offset < self._reach:
            self._found.append((offset, Candidate(sampled.own, sampled.incoming, sampled.profile)))
        if not self._waiting:
            self._end_level()

    def _end_level(self) -> None:
        """Cut at the median of the sample and go on below it."""
        asking = self._asking
        self.cancel()
        if asking:
            self._cut_near()
        elif self._found:
            self._sample_below(self._partitions.split(self._found))
        else:
            self._end()

    def _end(self) -> None:
        self.levels = len(self._partitions)
        self._done(self._partitions)
