"""Delivery: a leaf sends an event straight to the subscriber until that acknowledges it (section 3.4.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from emulator.contract.protocol import Environment, Message
from emulator.contract.recent import Recent
from emulator.protocols.pubsub.li.direct_messages import Post
from emulator.protocols.pubsub.li.parameters import LiParameters
from trellis.v1.content import EventContent, EventDelivery, EventDeliveryAck

_TRIES: Final = 4
"""The most sends of an event to a subscriber that does not answer."""


class Deliveries:
    """The events that one peer brings to subscribers.

    A subscriber that answered no try is sent each later event once, until it answers again; what is stored
    for it stays until it ends.
    """

    def __init__(
        self,
        environment: Environment,
        post: Post,
        parameters: LiParameters,
        unwanted: Callable[[int, Sequence[int]], None],
    ) -> None:
        """`unwanted(subscriber, sids)` hears of subscriptions that the subscriber says it does not have."""
        self._environment = environment
        self._post = post
        self._patience = parameters.patience
        self._unwanted = unwanted
        self._silent = Recent(environment, parameters.renewal)
        """The subscribers that did not answer lately."""

    def deliver(self, subscriber: int, content: EventContent, sids: list[int], hops: int) -> None:
        """Send the event, which has travelled `hops`, for these of the subscriber's subscriptions."""
        arrives = hops if subscriber == self._environment.peer else hops + 1
        tries = 1 if subscriber in self._silent else _TRIES
        self._try(subscriber, EventDelivery(content, sids, arrives), tries)

    def _try(self, subscriber: int, delivery: EventDelivery, tries: int) -> None:
        failed = partial(self._unanswered, subscriber, delivery, tries)
        answered = partial(self._answered, subscriber, failed)
        self._post.request(subscriber, delivery, self._patience, answered, failed)

    def _answered(self, subscriber: int, failed: Callable[[], None], ack: Message) -> None:
        if not isinstance(ack, EventDeliveryAck):
            self._environment.drop(type(ack), "it answers something else")
            failed()
            return
        self._silent.discard(subscriber)
        if ack.unwanted:
            self._unwanted(subscriber, ack.unwanted)

    def _unanswered(self, subscriber: int, delivery: EventDelivery, tries: int) -> None:
        if tries > 1:
            self._try(subscriber, delivery, tries - 1)
        else:
            self._silent.add(subscriber)
