"""Plumtree (Leitao, Pereira, Rodrigues: Epidemic Broadcast Trees, SRDS 2007), over any membership.

A message is pushed over eager links and announced over lazy ones. A copy that comes a second time makes its
link lazy (PRUNE), so that the eager links become a tree. A message that is announced and does not come makes
the link of an announcement eager (GRAFT), which mends the tree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final

from mypy_extensions import mypyc_attr

from emulator.contract.invariants import Invariant
from emulator.contract.protocol import Application, Contact, Environment, Event, Gauge, Membership
from emulator.contract.system import MembershipKind, System
from emulator.protocols.broadcast.kept_messages import KeptMessages
from emulator.protocols.broadcast.lazy_queue import LazyQueue
from emulator.protocols.broadcast.missing_messages import MissingMessages
from emulator.protocols.broadcast.over_membership import OverMembership, one_hop_further
from emulator.protocols.broadcast.parameters import PlumtreeParameters, parameters_over
from trellis.v1.broadcast import BroadcastEvent
from trellis.v1.plumtree import PlumtreeGraft, PlumtreeIHave, PlumtreePrune


@mypyc_attr(allow_interpreted_subclasses=True)
class Plumtree(OverMembership):
    """One peer of Plumtree. The comments name the paper's Algorithms."""

    GAUGES: ClassVar[Mapping[str, Gauge]] = {
        "eager": Gauge("Neighbours that messages are pushed to.", "peers"),
        "grafts": Gauge("GRAFT messages that a peer has sent.", "messages", "lower"),
        "prunes": Gauge("PRUNE messages that a peer has sent.", "messages", "lower"),
    }

    def __init__(
        self,
        environment: Environment,
        parameters: PlumtreeParameters,
        create: Callable[[Environment], Membership],
    ) -> None:
        super().__init__(environment, create)
        self._threshold = parameters.threshold
        self.eager: dict[int, None] = {}
        """The neighbours that messages are pushed to."""
        self._lazy: dict[int, None] = {}
        self.changed_at = 0.0
        """The time (s) by the peer's own clock at which a link last became eager, or ceased to be."""
        self.pushed_since = 0
        """The messages that the peer has pushed since then."""
        self._kept = KeptMessages(environment, parameters.keep)
        self._announcing = LazyQueue(environment, parameters.announce_interval)
        self._missing = MissingMessages(
            environment, parameters.missing_timeout, parameters.graft_timeout, self._graft
        )
        self._grafts = 0
        self._prunes = 0
        environment.handle(BroadcastEvent, self._on_gossip)
        environment.handle(PlumtreeIHave, self._on_i_have)
        environment.handle(PlumtreeGraft, self._on_graft)
        environment.handle(PlumtreePrune, self._on_prune)

    def publish(self, event: Event) -> None:
        self._push(self.published(event), self.environment.peer)

    def neighbour_changed(self, contact: Contact, joined: bool) -> None:
        """Make a new neighbour's link eager (NeighborUp); forget all about one that went (NeighborDown)."""
        super().neighbour_changed(contact, joined)
        peer = contact.peer
        self._change()
        if joined:
            self.eager[peer] = None
        else:
            self.eager.pop(peer, None)
            self._lazy.pop(peer, None)
            self._missing.forget_peer(peer)

    def gauges(self) -> dict[str, float]:
        return {
            "eager": float(len(self.eager)),
            "grafts": float(self._grafts),
            "prunes": float(self._prunes),
        }

    def neighbours(self) -> Mapping[str, Sequence[int]]:
        return {_EAGER: list(self.eager)}

    def _push(self, message: BroadcastEvent, sender: int) -> None:
        """Push a message over eager links (EagerPush) and announce it over lazy ones (LazyPush)."""
        self._kept.add(message)
        self.pushed_since += 1
        for peer in self.eager:
            if peer != sender:
                self.environment.send(peer, message)
        for peer in self._lazy:
            if peer != sender:
                self._announcing.add(peer, message.event, message.hops)

    def _on_gossip(self, sender: int, message: BroadcastEvent) -> None:
        if not self.deliver_new(message):
            self._make_lazy(sender)
            self._prune(sender)
            return
        announced = self._missing.arrived(message.event)
        self._push(one_hop_further(message), sender)
        self._make_eager(sender)
        if self._threshold:
            self._optimize(sender, message.hops, announced)

    def _optimize(self, sender: int, hops: int, announced: Sequence[tuple[int, int]]) -> None:
        """Replace the link to the sender by one over which the message would have made fewer hops."""
        for peer, fewer in announced:
            if hops - fewer >= self._threshold and peer in self.links:
                self._make_eager(peer)
                self._grafts += 1
                self.environment.send(peer, PlumtreeGraft(0, False))
                self._make_lazy(sender)
                self._prune(sender)
                return

    def _on_i_have(self, sender: int, message: PlumtreeIHave) -> None:
        if len(message.events) != len(message.hops):
            self.environment.drop(PlumtreeIHave, "its lists do not fit")
            return
        for number, hops in zip(message.events, message.hops, strict=True):
            if number not in self.seen:
                self._missing.announced(number, sender, hops)

    def _graft(self, number: int, peer: int) -> None:
        """Ask a peer that announced a message for it; the link is a part of the tree from now on."""
        self._make_eager(peer)
        self._grafts += 1
        self.environment.send(peer, PlumtreeGraft(number, True))

    def _on_graft(self, sender: int, message: PlumtreeGraft) -> None:
        self._make_eager(sender)
        kept = self._kept.get(message.event) if message.resend else None
        if kept is not None:
            self.environment.send(sender, kept)

    def _on_prune(self, sender: int, message: PlumtreePrune) -> None:
        self._make_lazy(sender)

    def _prune(self, peer: int) -> None:
        self._prunes += 1
        self.environment.send(peer, _PRUNE)

    def _make_eager(self, peer: int) -> None:
        if peer in self._lazy:
            del self._lazy[peer]
            self.eager[peer] = None
            self._change()

    def _make_lazy(self, peer: int) -> None:
        if peer in self.eager:
            del self.eager[peer]
            self._lazy[peer] = None
            self._change()

    def _change(self) -> None:
        """Note that an eager link came or went."""
        self.changed_at = self.environment.now
        self.pushed_since = 0


_EAGER: Final = "eager"
_PRUNE: Final = PlumtreePrune()


LEAST_PUSHED: Final = 20
LEAST_S: Final = 5.0
_TREE: Final = Invariant(
    "eager_links_form_a_tree",
    f"Eager links that {LEAST_PUSHED} messages passed since they last changed, {LEAST_S:g} s ago or more, "
    "are eager at both ends and form no loop (Leitao, Pereira, Rodrigues, SRDS 2007, section 3.2).",
    "emulator.protocols.broadcast.tree_invariant:broken",
)


def over(kind: MembershipKind) -> System:
    """Return the system that is Plumtree over memberships of this kind."""

    def create(environment: Environment, parameters: Any) -> Application:
        return Plumtree(environment, parameters, lambda part: kind.create(part, parameters.membership))

    return System(
        f"plumtree-{kind.name}",
        f"Plumtree over {kind.called}",
        "Leitao, Pereira, Rodrigues: Epidemic Broadcast Trees, SRDS 2007",
        parameters_over(PlumtreeParameters, kind.parameters),
        create,
        "broadcast",
        invariants=(*kind.invariants, _TREE),
    )
