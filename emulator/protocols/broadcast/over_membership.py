"""A broadcast protocol over a membership: the neighbours, and the messages that were seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mypy_extensions import mypyc_attr

from emulator.compact.number_sets import NumberSet
from emulator.contract.broadcast_service import BroadcastService
from emulator.contract.protocol import Contact, Environment, Event, Membership
from trellis.v1.broadcast import BroadcastEvent


@mypyc_attr(allow_interpreted_subclasses=True)
class OverMembership(BroadcastService):
    """One peer, with its part of the membership on a channel of its own."""

    def __init__(self, environment: Environment, create: Callable[[Environment], Membership]) -> None:
        """`create` makes this peer's part of the membership from the environment of its channel."""
        super().__init__(environment)
        self.membership = create(environment.channel("membership"))
        self.membership.add_listener(self)
        self.links: dict[int, None] = {}
        """The neighbours, in the order in which they came."""
        self.seen = NumberSet()
        """The numbers of the messages that this peer published or delivered."""

    def start(self, contacts: Sequence[int]) -> None:
        self.membership.start(contacts)

    def stop(self, graceful: bool) -> None:
        self.membership.stop(graceful)
        self.links.clear()

    def neighbour_changed(self, contact: Contact, joined: bool) -> None:
        """Keep the neighbours up to date."""
        if joined:
            self.links[contact.peer] = None
        else:
            self.links.pop(contact.peer, None)

    def published(self, event: Event) -> BroadcastEvent:
        """Note this peer's own message. Returns it as it arrives at the next peer."""
        self.seen.add(event.number)
        return BroadcastEvent(event.number, event.publisher, 1, event.payload)

    def deliver_new(self, message: BroadcastEvent) -> bool:
        """Deliver a message if it is new here. Returns whether it was."""
        if not self.seen.add(message.event):
            return False
        event = Event(message.event, message.publisher, payload=message.payload, hops=message.hops)
        self.environment.deliver(event)
        return True


def one_hop_further(message: BroadcastEvent) -> BroadcastEvent:
    """Return the message as it arrives at the next peer."""
    return BroadcastEvent(message.event, message.publisher, message.hops + 1, message.payload)
