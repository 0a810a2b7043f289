"""The world as one virtual node of a peer sees it: other nodes have numbers of their own.

Node j of peer p has the number p * n + j, where n is the number of nodes of each peer. What nodes of several
peers send to each other is wrapped; nodes of one peer hand their messages over without the network.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from emulator.contract.identifiers import IdentifierSpace, hash_of
from emulator.contract.protocol import Component, Environment, M, Message, Outcome, S, Timer
from trellis.v1.chord import NodeMessage, NodeReply, NodeRequest

_UNKNOWN: Final = "it is for a node, or of a class, that is not here"


class LocalRequest(Timer):
    """A request between two nodes of one peer."""

    def __init__(
        self,
        environment: Environment,
        timeout: float,
        replied: Callable[[Message], None],
        failed: Callable[[], None],
    ) -> None:
        self._replied = replied
        self._failed = failed
        self._open = True
        self._timer = environment.set_timer(timeout, self._give_up)

    def reply(self, message: Message) -> None:
        """Take the answer, unless the request is over."""
        if self._open:
            self.cancel()
            self._replied(message)

    def cancel(self) -> None:
        self._open = False
        self._timer.cancel()

    def hasten(self) -> None:
        if self._open:
            self._timer.hasten()

    def _give_up(self) -> None:
        if self._open:
            self._open = False
            self._failed()


class NodeHub:
    """All nodes of one peer, and what they send to those of others."""

    def __init__(self, environment: Environment, count: int) -> None:
        """Make `count` nodes of the peer whose environment this is."""
        self.environment = environment
        self.count = count
        self.nodes = [NodeEnvironment(self, place) for place in range(count)]
        environment.handle(NodeMessage, self._on_message)
        environment.serve_later(NodeRequest, self._on_request)

    def _on_message(self, sender: int, wrapped: NodeMessage) -> None:
        message = wrapped.message
        if message is None or not self._is_known(wrapped.sender, wrapped.receiver):
            self.environment.drop(NodeMessage, _UNKNOWN)
        else:
            self.nodes[wrapped.receiver].take(sender * self.count + wrapped.sender, message)

    def _on_request(self, sender: int, wrapped: NodeRequest, reply: Callable[[Message], None]) -> None:
        message = wrapped.message
        if message is None or not self._is_known(wrapped.sender, wrapped.receiver):
            self.environment.drop(NodeRequest, _UNKNOWN)
            return
        node = sender * self.count + wrapped.sender
        self.nodes[wrapped.receiver].answer(node, message, partial(_reply_wrapped, reply))

    def _is_known(self, sender: int, receiver: int) -> bool:
        return sender < self.count and receiver < self.count


class NodeEnvironment(Environment):
    """The environment of one node."""

    def __init__(self, hub: NodeHub, place: int) -> None:
        """`place` is the node's number among those of its peer."""
        outer = hub.environment
        self.name = f"node-{place}"
        self.peer = outer.peer * hub.count + place
        self.session = outer.session
        self.role = outer.role
        self.identifier = outer.identifier if place == 0 else hash_of(f"peer {outer.peer} node {place}")
        self.random = outer.random
        self._hub = hub
        self._outer = outer
        self._own = outer.channel(self.name)
        self._place = place
        self._handlers: dict[type[Message], Callable[[int, Any], None]] = {}
        self._answers: dict[type[Message], Callable[[int, Any, Callable[[Message], None]], None]] = {}

    @property
    def now(self) -> float:
        return self._outer.now

    def take(self, sender: int, message: Message) -> None:
        """Handle a message of another node."""
        handler = self._handlers.get(type(message))
        if handler is None:
            self._outer.drop(type(message), _UNKNOWN)
        else:
            handler(sender, message)

    def answer(self, sender: int, message: Message, reply: Callable[[Message], None]) -> None:
        """Answer a request of another node."""
        answer = self._answers.get(type(message))
        if answer is None:
            self._outer.drop(type(message), _UNKNOWN)
        else:
            answer(sender, message, reply)

    def channel(self, name: str) -> Environment:
        """Raise ValueError: a node has no parts."""
        raise ValueError(f"a virtual node has no channel of its own for {name}")

    def attach(self, component: Component) -> None:
        """Do nothing: the runtime knows the peer's own component, which passes calls on."""

    def handle(self, kind: type[M], handler: Callable[[int, M], None]) -> None:
        self._handlers[kind] = handler

    def serve(self, kind: type[M], answer: Callable[[int, M], Message | None]) -> None:
        self._answers[kind] = partial(_answer_now, answer)

    def serve_later(self, kind: type[M], answer: Callable[[int, M, Callable[[Message], None]], None]) -> None:
        self._answers[kind] = answer

    def send(self, peer: int, message: Message) -> None:
        other, place = divmod(peer, self._hub.count)
        if other == self._outer.peer:
            self._outer.set_timer(0.0, partial(self._hub.nodes[place].take, self.peer, message))
        else:
            self._outer.send(other, NodeMessage(self._place, place, message))

    def request(
        self,
        peer: int,
        message: Message,
        timeout: float,
        replied: Callable[[Message], None],
        failed: Callable[[], None],
    ) -> Timer:
        other, place = divmod(peer, self._hub.count)
        if other == self._outer.peer:
            local = LocalRequest(self._outer, timeout, replied, failed)
            node = self._hub.nodes[place]
            self._outer.set_timer(0.0, partial(node.answer, self.peer, message, local.reply))
            return local
        unwrapped = partial(self._on_reply, replied, failed)
        return self._outer.request(
            other, NodeRequest(self._place, place, message), timeout, unwrapped, failed
        )

    def set_timer(self, delay: float, callback: Callable[[], None]) -> Timer:
        return self._outer.set_timer(delay, callback)

    def every(self, period: float, callback: Callable[[], None]) -> Timer:
        return self._outer.every(period, callback)

    def find_contacts(self, callback: Callable[[Sequence[int]], None]) -> None:
        self._outer.find_contacts(lambda peers: callback(self.first_nodes(peers)))

    def deliver(self, outcome: Outcome) -> None:
        self._outer.deliver(outcome)

    def drop(self, kind: type[Message], reason: str) -> None:
        self._outer.drop(kind, reason)

    def record(self, name: str, value: float, subject: int | None = None, unit: str = "") -> None:
        """Record an observation of the peer; a subject is taken for a node, and its peer is told."""
        of = None if subject is None else subject // self._hub.count
        self._outer.record(name, value, of, unit)

    def take_identifier(self, identifier: int, space: IdentifierSpace) -> None:
        self._own.take_identifier(identifier, space)

    def shared(self, make: Callable[..., S], *arguments: object) -> S:
        return self._outer.shared(make, *arguments)

    def report_gone(self, peer: int) -> None:
        self._outer.report_gone(peer // self._hub.count)

    def first_nodes(self, peers: Sequence[int]) -> list[int]:
        """Return the numbers of the first nodes of these peers."""
        return [peer * self._hub.count for peer in peers]

    def _on_reply(
        self, replied: Callable[[Message], None], failed: Callable[[], None], reply: Message
    ) -> None:
        if isinstance(reply, NodeReply) and reply.message is not None:
            replied(reply.message)
        else:
            self._outer.drop(type(reply), "it answers something else")
            failed()


def _answer_now(
    answer: Callable[[int, Any], Message | None],
    sender: int,
    message: Message,
    reply: Callable[[Message], None],
) -> None:
    answered = answer(sender, message)
    if answered is not None:
        reply(answered)


def _reply_wrapped(reply: Callable[[Message], None], message: Message) -> None:
    reply(NodeReply(message))
