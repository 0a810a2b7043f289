"""Heartbeats, probes and repair of the leaf set (DSN 2004, consistent routing)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from google.protobuf.message import Message
from trellis.v1.pastry_pb2 import LeafSetHeartbeat, LeafSetProbe

from emulator import identifiers
from emulator.overlays.pastry.leaf_set import LeafSet
from emulator.overlays.pastry.liveness import Liveness
from emulator.overlays.pastry.parameters import PastryParameters
from emulator.overlays.pastry.routing_state import RoutingState
from emulator.protocol import Environment, Handler


class LeafSetMaintenance:
    """Keeps the leaf set true: nobody is in it that has not answered, nobody is left out that should be."""

    def __init__(
        self,
        environment: Environment,
        parameters: PastryParameters,
        state: RoutingState,
        *,
        died: Callable[[int], None],
        complete: Callable[[], None],
    ) -> None:
        """`died` is told each dead peer that the probes find, `complete` whenever nothing is left to ask."""
        self._environment = environment
        self._heartbeat = parameters.heartbeat
        self._patience = parameters.probe_timeout
        self._size = parameters.leaf_set
        self._state = state
        self._complete = complete
        self._asked: list[tuple[int, ...]] = [(), ()]
        self.liveness = Liveness(environment, parameters, state, died=died, settled=self.settle)

    def handlers(self) -> dict[type[Message], Handler]:
        return {LeafSetProbe: self._on_probe, LeafSetHeartbeat: self._on_heartbeat}

    def start(self) -> None:
        """Begin the periodic work."""
        self._environment.every(self._heartbeat, self._beat)
        self._environment.every(self._patience, self._watch)

    def consider(self, peers: Iterable[int]) -> None:
        """Others told of these peers: probe those that would be leaves."""
        for peer in self._state.leaf_set.newcomers(self._state.unknown(peers)):
            self.probe(peer)

    def probe(self, peer: int) -> None:
        """Ask a leaf, or a peer that may become one, for its leaf set."""
        self.liveness.probe(peer, self._ask)

    def suspect(self, peer: int) -> None:
        """A leaf was silent when it should not have been."""
        self.liveness.suspect(peer, self._ask)

    def announce(self) -> None:
        """Tell all leaves that a peer next to this one is gone, and learn from their answers."""
        for peer in list(self._state.leaf_set):
            self.probe(peer)

    def settle(self) -> None:
        """Nothing is being asked now. Ask on where a side is short, or be done."""
        if not self.liveness.idle:
            return
        self._repair()
        if self.liveness.idle:
            self._complete()

    def _repair(self) -> None:
        """The farthest leaf of a short side knows who comes after it (Pastry, section 2.4).

        A side that is empty takes what the other sets hold on that half of the ring; their leaf sets lead
        to the true neighbour. If they hold nothing there either, the nearest peer on the other side is
        asked for whom it knows.
        """
        leaf_set = self._state.leaf_set
        for index, side in enumerate(leaf_set.sides):
            if not leaf_set.is_short(side):
                continue
            if not side:
                self.consider(peer for peer in self._state.members() if leaf_set.side_of(peer) is side)
            members = tuple(peer for _, peer in side or leaf_set.sides[1 - index])
            if members and self._asked[index] != members:
                self._asked[index] = members
                self.liveness.probe(members[-1] if side else members[0], self._search)

    def _ask(self, peer: int) -> None:
        self._environment.send(peer, self._message())

    def _search(self, peer: int) -> None:
        self._environment.send(peer, self._message(search=True))

    def _message(
        self, reply: bool = False, search: bool = False, nearest: Iterable[int] = ()
    ) -> LeafSetProbe:
        leaf_set = self._state.leaf_set
        return LeafSetProbe(
            reply=reply,
            leaves=leaf_set,
            failed=[peer for peer in self._state.failed() if leaf_set.takes(peer)],
            search=search,
            nearest=nearest,
        )

    def _on_probe(self, sender: int, message: LeafSetProbe) -> None:
        """A probe or its answer: what it tells, and who is to be asked next (DSN 2004)."""
        state = self._state
        state.hear(sender)
        state.add_leaf(sender)
        state.offer_slot(sender)
        for peer in message.failed:
            if peer in state.leaf_set:
                self.suspect(peer)
        self.consider((*message.leaves, *message.nearest))
        if message.reply:
            self.liveness.answered(sender)
        else:
            nearest: Iterable[int] = ()
            if message.search:
                known = (peer for peer in (state.peer, *state.members()) if peer != sender)
                nearest = LeafSet(identifiers.of_peer(sender), self._size, known)
            self._environment.send(sender, self._message(True, False, nearest))

    def _beat(self) -> None:
        leaf_set = self._state.leaf_set
        if leaf_set.left:
            self._environment.send(leaf_set.left[0][1], LeafSetHeartbeat(leaves=leaf_set))

    def _watch(self) -> None:
        """The right neighbour's heartbeat is overdue."""
        right = self._state.leaf_set.right
        if right:
            peer = right[0][1]
            if self._environment.now - self._state.heard(peer) > self._heartbeat + self._patience:
                self.suspect(peer)

    def _on_heartbeat(self, sender: int, message: LeafSetHeartbeat) -> None:
        """Where the two leaf sets disagree, one of them is wrong: ask the peers in question."""
        state = self._state
        state.hear(sender)
        leaf_set = state.leaf_set
        if not leaf_set.right or leaf_set.right[0][1] != sender:
            # It takes this peer for its left neighbour, so it or this peer has missed somebody.
            self.probe(sender)
        self.consider(message.leaves)
        theirs = LeafSet(identifiers.of_peer(sender), self._size, message.leaves)
        missing = [peer for peer in (state.peer, *leaf_set) if peer != sender and theirs.takes(peer)]
        long_ago = self._environment.now - self._heartbeat
        for peer in missing:
            if peer != state.peer and state.heard(peer) < long_ago:
                self.probe(peer)
        if missing:
            self.probe(sender)
