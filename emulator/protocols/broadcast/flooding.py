"""Flooding: a peer sends each message that is new to it to all neighbours but the one that it came from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mypy_extensions import mypyc_attr

from emulator.contract.protocol import Application, Environment, Event, Membership
from emulator.contract.system import MembershipKind, System
from emulator.protocols.broadcast.over_membership import OverMembership, one_hop_further
from emulator.protocols.broadcast.parameters import FloodingParameters, parameters_over
from trellis.v1.broadcast import BroadcastEvent


@mypyc_attr(allow_interpreted_subclasses=True)
class Flooding(OverMembership):
    """One peer that floods."""

    def __init__(self, environment: Environment, create: Callable[[Environment], Membership]) -> None:
        super().__init__(environment, create)
        environment.handle(BroadcastEvent, self._on_event)

    def publish(self, event: Event) -> None:
        self._send_on(self.published(event), self.environment.peer)

    def _on_event(self, sender: int, message: BroadcastEvent) -> None:
        if self.deliver_new(message):
            self._send_on(one_hop_further(message), sender)

    def _send_on(self, message: BroadcastEvent, sender: int) -> None:
        for peer in [peer for peer in self.links if peer != sender]:
            self.environment.send(peer, message)


def over(kind: MembershipKind) -> System:
    """Return the system that floods over memberships of this kind."""

    def create(environment: Environment, parameters: Any) -> Application:
        return Flooding(environment, lambda part: kind.create(part, parameters.membership))

    return System(
        f"flood-{kind.name}",
        f"Flooding over {kind.called}",
        kind.paper,
        parameters_over(FloodingParameters, kind.parameters),
        create,
        "broadcast",
        invariants=kind.invariants,
    )
