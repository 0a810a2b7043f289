"""Heartbeats, probes and repair of the leaf set (DSN 2004, consistent routing)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from emulator.contract.protocol import Contact, Environment, Message
from emulator.protocols.overlays.pastry.leaf_set import LeafSet
from emulator.protocols.overlays.pastry.liveness import Liveness
from emulator.protocols.overlays.pastry.parameters import PastryParameters
from emulator.protocols.overlays.pastry.routing_state import RoutingState
from trellis.v1.pastry import LeafSetHeartbeat, LeafSetProbe


class LeafSetMaintenance:
    """Keeps the leaf set correct: all leaves have answered, and every peer that should be a leaf is one."""

    def __init__(
        self,
        environment: Environment,
        parameters: PastryParameters,
        state: RoutingState,
        *,
        died: Callable[[int, Contact | None], None],
        complete: Callable[[], None],
    ) -> None:
        """`died` is told each dead peer that probes find; `complete` is called when nothing is asked."""
        self._environment = environment
        self._heartbeat = parameters.heartbeat
        self._patience = parameters.probe_timeout
        self._size = parameters.leaf_set
        self._state = state
        self._complete = complete
        self._asked: list[list[int]] = [[], []]
        self.liveness = Liveness(
            environment,
            parameters,
            state,
            question=self._describe,
            replied=self._on_reply,
            died=died,
            settled=self.settle,
        )
        environment.serve(LeafSetProbe, self._answer)
        environment.handle(LeafSetHeartbeat, self._on_heartbeat)

    def start(self) -> None:
        """Begin the periodic work."""
        self._environment.every(self._heartbeat, self._beat)
        self._environment.every(self._patience, self._watch)

    def consider(self, contacts: Iterable[Contact]) -> None:
        """Probe those of these peers, told by others, that would be leaves."""
        for contact in self._state.leaf_set.newcomers(self._state.believable(contacts)):
            self.liveness.probe(contact)

    def tell_leaves(self) -> None:
        """Tell all leaves that a peer next to this one is gone, and learn from their answers."""
        for leaf in self._state.leaf_set:
            self.liveness.probe(leaf)

    def settle(self) -> None:
        """Ask on where a side is short, or finish, because no question is under way."""
        if not self.liveness.idle:
            return
        self._repair()
        if self.liveness.idle:
            self._complete()

    def _repair(self) -> None:
        """Ask the farthest leaf of a short side which peers come after it (Pastry, section 2.4).

        An empty side takes the peers that the table holds on that half of the ring; their leaf sets lead to
        the true neighbour. If the table holds none there either, the nearest peer on the other side is asked
        which peers it knows.
        """
        leaf_set = self._state.leaf_set
        for index, side in enumerate(leaf_set.sides):
            if not leaf_set.is_short(side):
                continue
            if not side:
                members = self._state.members.values()
                self.consider([member for member in members if leaf_set.side_of(member) is side])
            known = [peer for _, peer in side or leaf_set.sides[1 - index]]
            if known and self._asked[index] != known:
                self._asked[index] = known
                self.liveness.probe(leaf_set.contact(known[-1] if side else known[0]), self._search)

    def _describe(self) -> LeafSetProbe:
        """Return what a probe tells, and the answer to one."""
        return self._message(False, [])

    def _search(self) -> LeafSetProbe:
        """Return a probe that also asks for the peers next to the one that is probed."""
        return self._message(True, [])

    def _message(self, search: bool, nearest: list[Contact]) -> LeafSetProbe:
        state = self._state
        return LeafSetProbe(
            identifier=state.identifier,
            leaves=list(state.leaf_set),
            failed=[contact.peer for contact in state.failed() if state.leaf_set.takes(contact)],
            search=search,
            nearest=nearest,
        )

    def _answer(self, sender: int, probe: LeafSetProbe) -> LeafSetProbe:
        contact = self._learn(sender, probe)
        if not probe.search:
            return self._describe()
        state = self._state
        known = [state.me, *state.members.values()]
        others = [other for other in known if other.peer != sender]
        return self._message(False, list(LeafSet(contact.identifier, self._size, others)))

    def _on_reply(self, peer: int, reply: Message, _: float) -> None:
        if not isinstance(reply, LeafSetProbe):
            self._environment.drop(type(reply), "it answers something else")
            return
        self._learn(peer, reply)

    def _learn(self, sender: int, message: LeafSetProbe) -> Contact:
        """Take in what a probe or its answer tells, and probe the peers that it names (DSN 2004).

        Returns the sender's contact.
        """
        state = self._state
        contact = state.meet(sender, message.identifier)
        state.add_leaf(contact)
        state.offer_slot(contact)
        for peer in message.failed:
            if peer in state.leaf_set:
                self.liveness.suspect(state.leaf_set.contact(peer))
        self.consider([*message.leaves, *message.nearest])
        return contact

    def _beat(self) -> None:
        leaf_set = self._state.leaf_set
        if leaf_set.left:
            message = LeafSetHeartbeat(identifier=self._state.identifier, leaves=list(leaf_set))
            self._environment.send(leaf_set.left[0][1], message)

    def _watch(self) -> None:
        """Suspect the right neighbour if its heartbeat is overdue."""
        leaf_set = self._state.leaf_set
        if leaf_set.right:
            peer = leaf_set.right[0][1]
            if self._environment.now - self._state.heard(peer) > self._heartbeat + self._patience:
                self.liveness.suspect(leaf_set.contact(peer))

    def _on_heartbeat(self, sender: int, message: LeafSetHeartbeat) -> None:
        """Ask the peers in question where the two leaf sets disagree, because one of them is wrong."""
        state = self._state
        contact = state.meet(sender, message.identifier)
        leaf_set = state.leaf_set
        if not leaf_set.right or leaf_set.right[0][1] != sender:
            # The sender takes this peer for its left neighbour, so one of the two has missed a peer between
            # them.
            self.liveness.probe(contact)
        self.consider(message.leaves)
        theirs = LeafSet(contact.identifier, self._size, message.leaves)
        missing = [leaf for leaf in leaf_set if leaf.peer != sender and theirs.takes(leaf)]
        long_ago = self._environment.now - self._heartbeat
        for leaf in missing:
            if state.heard(leaf.peer) < long_ago:
                self.liveness.probe(leaf)
        if missing or theirs.takes(state.me):
            self.liveness.probe(contact)
