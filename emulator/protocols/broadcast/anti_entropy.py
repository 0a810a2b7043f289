"""Anti-entropy (Demers et al., PODC 1987): each period two peers compare what they have and mend the
difference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from mypy_extensions import mypyc_attr

from emulator.contract.protocol import Application, Environment, Event, Membership
from emulator.contract.system import MembershipKind, System
from emulator.protocols.broadcast.kept_messages import KeptMessages
from emulator.protocols.broadcast.over_membership import OverMembership, one_hop_further
from emulator.protocols.broadcast.parameters import AntiEntropyParameters, parameters_over
from trellis.v1.broadcast import AntiEntropyDigest, AntiEntropyRequest, BroadcastEvent


@mypyc_attr(allow_interpreted_subclasses=True)
class AntiEntropy(OverMembership):
    """One peer that compares its messages with those of random others."""

    def __init__(
        self,
        environment: Environment,
        parameters: AntiEntropyParameters,
        create: Callable[[Environment], Membership],
    ) -> None:
        super().__init__(environment, create)
        self._period = parameters.period
        self._pulls = parameters.direction != "push"
        self._pushes = parameters.direction != "pull"
        self._kept = KeptMessages(environment, parameters.keep)
        environment.handle(AntiEntropyDigest, self._on_digest)
        environment.handle(AntiEntropyRequest, self._on_request)
        environment.handle(BroadcastEvent, self._on_event)

    def start(self, contacts: Sequence[int]) -> None:
        super().start(contacts)
        self.environment.every(self._period, self._compare)

    def publish(self, event: Event) -> None:
        self._kept.add(self.published(event))

    def _compare(self) -> None:
        """Send a digest to a random peer."""
        digest = AntiEntropyDigest(self._kept.numbers(), self._pulls, self._pushes)
        for peer in self.membership.sample(1):
            self.environment.send(peer, digest)

    def _on_digest(self, sender: int, digest: AntiEntropyDigest) -> None:
        """Send what the sender lacks, and ask for what is new here."""
        if digest.pull:
            known = set(digest.events)
            for message in self._kept.offered():
                if message.event not in known:
                    self.environment.send(sender, message)
        if digest.push and (wanted := [number for number in digest.events if number not in self.seen]):
            self.environment.send(sender, AntiEntropyRequest(wanted))

    def _on_request(self, sender: int, request: AntiEntropyRequest) -> None:
        for number in request.events:
            message = self._kept.get(number)
            if message is not None:
                self.environment.send(sender, message)

    def _on_event(self, sender: int, message: BroadcastEvent) -> None:
        if self.deliver_new(message):
            self._kept.add(one_hop_further(message))


_PAPER: Final = "Demers et al.: Epidemic Algorithms for Replicated Database Maintenance, PODC 1987"


def over(kind: MembershipKind) -> System:
    """Return the system that is anti-entropy over memberships of this kind."""

    def create(environment: Environment, parameters: Any) -> Application:
        return AntiEntropy(environment, parameters, lambda part: kind.create(part, parameters.membership))

    return System(
        f"anti-entropy-{kind.name}",
        f"Anti-entropy over {kind.called}",
        _PAPER,
        parameters_over(AntiEntropyParameters, kind.parameters),
        create,
        "broadcast",
        invariants=kind.invariants,
    )
