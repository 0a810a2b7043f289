"""Distribution trees of Magnet over rings whose fingers a test names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from fake_environment import FakeEnvironment, Lockstep

from emulator.contract.identifiers import RING, ClockwiseRing
from emulator.contract.protocol import Component, Environment, Overlay
from emulator.messages.message import Message
from emulator.protocols.overlays.hop_by_hop import HopByHop
from emulator.protocols.overlays.oscar.overlay import Oscar
from emulator.protocols.overlays.oscar.parameters import RingParameters
from emulator.protocols.overlays.oscar.routes import ClockwiseRoutes
from emulator.protocols.pubsub.magnet.parameters import MagnetParameters
from emulator.protocols.pubsub.magnet.trees import PathTrees
from trellis.v1.magnet import TreePath, TreeSearch
from trellis.v1.overlay import Contact
from trellis.v1.pubsub import EventData

TOPIC = 3
HEARTBEAT = 2.0


class FixedRing(Oscar):
    """An interest ring in which peers know whom the test says; a peer's number is its identifier."""

    def __init__(self, environment: Environment, space: ClockwiseRing, fingers: Sequence[int]) -> None:
        super().__init__(environment, RingParameters(), space=space)
        self.identifier = environment.peer
        self.stands = True
        self._fixed = ClockwiseRoutes(space)
        self.know(fingers)

    def know(self, fingers: Sequence[int]) -> None:
        self._fixed.rebuild(self.environment.peer, [Contact(peer, peer) for peer in fingers])
        self.routes_version += 1

    @property
    def ready(self) -> bool:
        return self.stands

    def last_before(self, key: int) -> Contact | None:
        return self._fixed.last_before(key)

    def end_of(self, contact: Contact) -> int | None:
        return self._fixed.end_of(contact)


class FixedControl(Overlay):
    """A control overlay in which everybody knows the one home of all topics."""

    def __init__(self, environment: Environment, home: int) -> None:
        super().__init__(environment, RING, environment.peer)
        self.home = home
        self._forwarding = HopByHop(environment, self)

    def move_home(self, home: int) -> None:
        self.home = home
        self.routes_version += 1

    @property
    def ready(self) -> bool:
        return True

    def start(self, contacts: Sequence[int]) -> None:
        pass

    def stop(self, graceful: bool) -> None:
        pass

    def sample(self, count: int) -> Sequence[int]:
        return []

    def neighbour_set(self, count: int) -> Sequence[Contact]:
        return []

    def next_hop(self, key: int) -> Contact | None:
        return None if self.home == self.environment.peer else Contact(self.home, 0)

    def route(self, key: int, message: Message) -> None:
        self._forwarding.route(key, message)


class TreePeer(Component):
    """A peer's trees alone."""

    def __init__(
        self,
        environment: FakeEnvironment,
        space: ClockwiseRing,
        fingers: Sequence[int],
        home: int,
        graft: str,
    ) -> None:
        super().__init__(environment)
        parameters = MagnetParameters.model_validate({"graft": graft, "heartbeat": f"{HEARTBEAT} s"})
        self.ring = FixedRing(environment.channel("interest"), space, fingers)
        self.control = FixedControl(environment.channel("control"), home)
        self.control.carry(self, TreeSearch, EventData)
        self.wanted: set[int] = set()
        self.known = -1
        self.had: set[int] = set()
        self.trees = PathTrees(
            environment,
            self.ring,
            self.control,
            parameters,
            self.wanted,
            lambda topic: self.known,
            lambda event: event in self.had,
        )

    def start(self, contacts: Sequence[int]) -> None:
        self.trees.start()

    def stop(self, graceful: bool) -> None:
        self.trees.leave(graceful)

    def on_unreachable(self, peer: int) -> None:
        self.trees.on_unreachable(peer)

    def forward(self, key: int, message: Message, next_hop: int, hops: int) -> bool:
        return True

    def deliver(self, key: int, message: Message, origin: Contact, hops: int) -> None:
        if isinstance(message, EventData):
            self.take(message)
        else:
            assert isinstance(message, TreeSearch)
            self.trees.be_home(message)

    def take(self, event: EventData) -> None:
        """Pass an event on that was not here yet."""
        if event.event not in self.had:
            self.had.add(event.event)
            self.trees.send_down(event.topic, event)

    def neighbour_changed(self, contact: Contact, joined: bool) -> None:
        pass


class TreeWorld:
    """Peers with these fingers, and the tree of one topic."""

    def __init__(
        self, fingers: Mapping[int, Sequence[int]], bits: int = 4, home: int = 0, graft: str = "interval"
    ) -> None:
        self.space = ClockwiseRing(bits)
        self.fingers = {peer: list(known) for peer, known in fingers.items()}
        self.home = home

        def make(environment: FakeEnvironment) -> Component:
            return TreePeer(environment, self.space, self.fingers[environment.peer], home, graft)

        self.world = Lockstep(make, fingers)
        self.world.start()

    def peer(self, number: int) -> TreePeer:
        found = self.world.protocols[number]
        assert isinstance(found, TreePeer)
        return found

    def join(self, number: int, known: int = -1) -> list[str]:
        """Subscribe; the messages of the tree that it takes, by name."""
        peer = self.peer(number)
        peer.wanted.add(TOPIC)
        peer.known = known
        peer.trees.join(TOPIC)
        seen: list[str] = []
        while any(environment.busy() for environment in self.world.environments.values()):
            for environment in self.world.environments.values():
                seen += [
                    type(sent.message).__name__
                    for sent in environment.outbox
                    if isinstance(sent.message, TreeSearch | TreePath)
                ]
            self._step()
        return seen

    def _step(self) -> None:
        outgoing = [
            (sender, sent)
            for sender, environment in self.world.environments.items()
            for sent in environment.outbox
        ]
        for environment in self.world.environments.values():
            environment.outbox.clear()
            environment.advance(0.0)
        for sender, sent in outgoing:
            self.world.environments[sent.peer].hand_over(sender, sent.message, sent.channel, sent.request)

    def spread_events(self) -> None:
        """Have all peers pass on the events that they get."""
        for number, environment in self.world.environments.items():
            peer = self.peer(number)
            environment.handle(EventData, lambda sender, event, peer=peer: peer.take(event))

    def move_home(self, home: int) -> None:
        """Make another peer the home, of which only the control overlay knows so far."""
        for number in self.world.protocols:
            self.peer(number).control.move_home(home)

    def leave(self, number: int) -> None:
        peer = self.peer(number)
        peer.wanted.discard(TOPIC)
        peer.trees.prune([TOPIC])
        self.world.exchange()

    def repair(self, rounds: int = 30) -> None:
        for _ in range(rounds):
            self.world.round(HEARTBEAT)

    def edges(self) -> set[tuple[int, int]]:
        """Return the edges (parent, child) as parents have them."""
        found = set()
        for number in self.world.protocols:
            branch = self.peer(number).trees.branches.get(TOPIC)
            if branch is not None:
                found |= {(number, child) for child in branch.children}
        return found

    def greedy_edges(self) -> set[tuple[int, int]]:
        """Return the union of the greedy paths from the home to all subscribers."""
        members = [number for number in self.world.protocols if TOPIC in self.peer(number).wanted]
        return {edge for number in members for edge in pairwise(self.greedy_path(number))}

    def greedy_path(self, number: int) -> list[int]:
        """Return the path from the home to this peer, by the fingers of each peer on the way."""
        way = [self.home]
        while way[-1] != number:
            hop = self.peer(way[-1]).ring.last_before(number)
            assert hop is not None
            way.append(hop.peer)
        return way

    def path(self, number: int) -> list[int]:
        """Return the way from the home to a member, as children have their parents."""
        way = [number]
        while way[-1] != self.home:
            way.append(self.peer(way[-1]).trees.branches[TOPIC].parent)
        return way[::-1]

    def relays(self) -> set[int]:
        """Return the peers that are in the tree and did not ask for it."""
        peers = self.world.protocols
        return {n for n in peers if TOPIC in self.peer(n).trees.branches and TOPIC not in self.peer(n).wanted}
