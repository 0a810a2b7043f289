"""Push gossip (rumour mongering: Demers et al., PODC 1987): a new message goes to a few random peers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from mypy_extensions import mypyc_attr

from emulator.contract.protocol import Application, Environment, Event, Membership
from emulator.contract.system import MembershipKind, System
from emulator.protocols.broadcast.over_membership import OverMembership, one_hop_further
from emulator.protocols.broadcast.parameters import PushGossipParameters, parameters_over
from trellis.v1.broadcast import BroadcastEvent


@mypyc_attr(allow_interpreted_subclasses=True)
class PushGossip(OverMembership):
    """One peer that gossips."""

    def __init__(
        self,
        environment: Environment,
        parameters: PushGossipParameters,
        create: Callable[[Environment], Membership],
    ) -> None:
        super().__init__(environment, create)
        self._fanout = parameters.fanout
        self._rounds = parameters.rounds
        self._period = parameters.period
        environment.handle(BroadcastEvent, self._on_event)

    def publish(self, event: Event) -> None:
        self._push(self.published(event), self._rounds)

    def _on_event(self, sender: int, message: BroadcastEvent) -> None:
        if self.deliver_new(message):
            self._push(one_hop_further(message), self._rounds)

    def _push(self, message: BroadcastEvent, rounds: int) -> None:
        """Send the message to random peers now, and again in each of the further rounds."""
        for peer in self.membership.sample(self._fanout):
            self.environment.send(peer, message)
        if rounds > 1:
            self.environment.set_timer(self._period, partial(self._push, message, rounds - 1))


_PAPER: Final = "Demers et al.: Epidemic Algorithms for Replicated Database Maintenance, PODC 1987"


def over(kind: MembershipKind) -> System:
    """Return the system that is push gossip over memberships of this kind."""

    def create(environment: Environment, parameters: Any) -> Application:
        return PushGossip(environment, parameters, lambda part: kind.create(part, parameters.membership))

    return System(
        f"push-gossip-{kind.name}",
        f"Push gossip over {kind.called}",
        _PAPER,
        parameters_over(PushGossipParameters, kind.parameters),
        create,
        "broadcast",
        invariants=kind.invariants,
    )
