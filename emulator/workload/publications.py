"""Publications of a trial: what is published when, by which peer and about what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emulator.churn.sessions import Sessions
from emulator.workload.participants import Participants
from emulator.workload.presence import NobodyUp, Presence
from emulator.workload.spec import Publications as Asked
from emulator.workload.subscription_sources import Rows
from emulator.workload.subscriptions import Subscriptions

_TRIES = 50


@dataclass(frozen=True, slots=True)
class Publications:
    """Publications sorted by time; an event's number is its row. Times are seconds of trial time."""

    at: NDArray[np.float64]
    publisher: NDArray[np.int32]
    topic: NDArray[np.int32]


def draw_publications(
    events: int,
    by_subscriber: bool,
    window: tuple[float, float],
    rates: NDArray[np.float64],
    subscriptions: Subscriptions,
    sessions: Sessions,
    random: np.random.Generator,
    publishes: NDArray[np.bool_] | None = None,
) -> Publications:
    """Draw events at uniformly random times of `window`, topics by rate, publishers that are up then.

    A topic without a subscriber that is up is not published to: another one is drawn by rate. The publisher
    is a random subscriber that is up, or any peer that is up, and one of those that `publishes` marks (all if
    it is None). Raises ValueError if at some event's time no topic has a subscriber that is up, or no peer
    can publish.
    """
    at = np.sort(random.uniform(*window, size=events))
    publisher, topic = np.empty(events, dtype=np.int32), np.empty(events, dtype=np.int32)
    if publishes is None:
        peers = 1 + max(subscriptions.peer.max(initial=-1), sessions.peer.max(initial=-1))
        publishes = np.ones(peers, dtype=np.bool_)
    audience = _Audience(subscriptions, sessions, publishes if by_subscriber else np.ones_like(publishes))
    cumulative = np.cumsum(rates)
    for event, time in enumerate(at):
        up = audience.up(time)
        subscribers = np.empty(0, dtype=np.int32)
        for _ in range(_TRIES):
            drawn = int(np.searchsorted(cumulative[:-1], random.random() * cumulative[-1], side="right"))
            subscribers = audience.subscribers(drawn, time, up)
            if len(subscribers):
                break
        else:
            drawn = _draw_followed(audience.followed(time, up), rates, time, random)
            subscribers = audience.subscribers(drawn, time, up)
        candidates = subscribers if by_subscriber else np.flatnonzero(up & publishes)
        if not len(candidates):
            raise NobodyUp(
                "workload.publications",
                f"an event at {time:.3f} s of trial time: nobody that may publish is up then",
                "Let more peers be up by churn.model, or publish by workload.roles",
            )
        topic[event] = drawn
        publisher[event] = candidates[random.integers(len(candidates))]
    return Publications(at, publisher, topic)


def _draw_followed(
    followed: NDArray[np.int32], rates: NDArray[np.float64], time: float, random: np.random.Generator
) -> int:
    """Return a topic, drawn by rate, among those with a subscriber that is up: the limit of drawing again and
    again."""
    if not len(followed):
        raise NobodyUp(
            "workload.publications",
            f"an event at {time:.3f} s of trial time has no possible audience: no peer that is up then "
            "subscribes to anything",
            "Let more peers be up by churn.model, phases.join and settle, or subscribe by "
            "workload.subscriptions and roles, or write publisher: any if subscribers may not publish",
        )
    share = rates[followed]
    return int(random.choice(followed, p=share / share.sum()))


class _Audience:
    """The peers that are up and subscribed at a time, of those that are to be counted."""

    def __init__(self, subscriptions: Subscriptions, sessions: Sessions, counted: NDArray[np.bool_]) -> None:
        order = np.argsort(subscriptions.topic, kind="stable")
        order = order[counted[subscriptions.peer[order]]]
        self._peer = subscriptions.peer[order]
        self._topic = subscriptions.topic[order]
        self._start = subscriptions.start[order]
        self._end = subscriptions.end[order]
        self._first = np.searchsorted(self._topic, np.arange(subscriptions.topics + 1))
        self.up = Presence(sessions, len(counted)).up

    def subscribers(self, topic: int, time: float, up: NDArray[np.bool_]) -> NDArray[np.int32]:
        rows = slice(self._first[topic], self._first[topic + 1])
        peer = self._peer[rows]
        return peer[(self._start[rows] <= time) & (time < self._end[rows]) & up[peer]]

    def followed(self, time: float, up: NDArray[np.bool_]) -> NDArray[np.int32]:
        """Return the topics with a subscriber that is up."""
        return np.unique(self._topic[(self._start <= time) & (time < self._end) & up[self._peer]])


def publication_columns(
    publications: Asked,
    who: Participants,
    at: NDArray[np.float64],
    publisher: NDArray[np.int32],
    topic: NDArray[np.int32] | None = None,
    attributes: Rows | None = None,
) -> Mapping[str, Any]:
    """Return the columns of the plan's table of publications, whose times, publishers and subjects
    are given."""
    none: list[None] = [None] * len(at)
    return {
        "event": np.arange(len(at)),
        "at_s": at,
        "publisher": who.peer(publisher),
        "topic": none if topic is None else topic,
        "attributes": none if attributes is None else list(attributes),
        "payload_bytes": np.full(len(at), publications.payload_bytes),
        "client": who.client(publisher),
    }
