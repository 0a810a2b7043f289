"""The example of Kyra's figures 1 to 4: eight servers, events 0 to 9."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from emulator.contract.protocol import Event, RangeInterest
from emulator.protocols.pubsub.content.space import Box
from emulator.testing.fake_environment import Lockstep

NAMES = "ABCDEFGH"
EVENTS = range(10)
DOMAIN = {"value": (0.0, 9.0)}
WANTED = {
    "A": {1, 5},
    "B": {7, 8},
    "C": {1, 2},
    "D": {0, 6},
    "E": {3, 5},
    "F": {5, 7},
    "G": {4, 6},
    "H": {2, 9},
}
"""Figure 1."""


def number(name: str) -> int:
    return NAMES.index(name)


def interest(values: Iterable[int]) -> RangeInterest:
    return RangeInterest(sets={"value": frozenset(float(value) for value in values)})


def event(value: int, publisher: str, at: int = 0) -> Event:
    return Event(at, number(publisher), attributes={"value": float(value)})


def values_in(boxes: Iterable[Box]) -> set[int]:
    """Return the events that a routing table's row stands for."""
    kept = list(boxes)
    return {value for value in EVENTS if any(box.has([float(value)]) for box in kept)}


def span(text: str) -> set[int]:
    """Return the values of the figures' notation: "0-3,5" -> {0, 1, 2, 3, 5}."""
    found: set[int] = set()
    for part in text.split(",") if text else ():
        low, _, high = part.partition("-")
        found |= set(range(int(low), int(high or low) + 1))
    return found


def spans(table: Mapping[str, str]) -> dict[str, set[int]]:
    return {name: span(text) for name, text in table.items()}


class Tally:
    """What all 80 pairs of event and publisher cause."""

    def __init__(self) -> None:
        self.messages: dict[str, int] = {}
        self.uninterested = 0
        self.wrong: list[tuple[int, str]] = []

    def publish_all(self, peers: Lockstep, kinds: Mapping[type, str]) -> None:
        """Publish each event at each server; `kinds` names the messages that carry events."""
        at = 0
        for value in EVENTS:
            for publisher in NAMES:
                at += 1
                for environment in peers.environments.values():
                    environment.delivered.clear()
                peers.protocols[number(publisher)].publish(event(value, publisher, at))  # type: ignore[attr-defined]
                receivers = self._run(peers, kinds)
                interested = {number(name) for name in NAMES if value in WANTED[name]}
                self.uninterested += sum(peer not in interested for peer in receivers)
                handed = [
                    peer
                    for peer, environment in peers.environments.items()
                    for outcome in environment.delivered
                    if outcome.publisher != peer
                ]
                if sorted(handed) != sorted(interested - {number(publisher)}):
                    self.wrong.append((value, publisher))

    def _run(self, peers: Lockstep, kinds: Mapping[type, str]) -> list[int]:
        receivers = []
        while any(environment.busy() for environment in peers.environments.values()):
            outgoing = []
            for sender, environment in peers.environments.items():
                environment.advance(0.0)
                outgoing += [(sender, sent) for sent in environment.outbox]
                environment.outbox.clear()
            for sender, sent in outgoing:
                name = kinds.get(type(sent.message))
                if name is not None:
                    self.messages[name] = self.messages.get(name, 0) + 1
                    receivers.append(sent.peer)
                peers.environments[sent.peer].hand_over(sender, sent.message, sent.channel, sent.request)
        return receivers
