"""Participants of a trial, which subscribe and publish: peers by their roles, or the clients of peers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emulator.churn.lifetimes import Exponential
from emulator.churn.renewal import alternate
from emulator.churn.sessions import SHORTEST, Sessions
from emulator.workload.spec import Clients, Roles

Interval = tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class Participants:
    """The participants: participant i is a client of peer i // `per_peer`; without clients it is peer i
    itself."""

    per_peer: int
    has_clients: bool
    role: NDArray[Any]
    """The role of each peer: peer, server, publisher, subscriber or relay."""
    sessions: Sessions
    """The intervals in which a participant and its peer are both up."""
    visits: Sessions | None
    """The intervals in which clients are there, whether their server is up or not; None if they
    always are."""

    @property
    def number(self) -> int:
        return len(self.role) * self.per_peer

    @property
    def subscribes(self) -> NDArray[np.bool_]:
        """Whether each participant may subscribe."""
        return self._has("peer", "server", "subscriber")

    @property
    def publishes(self) -> NDArray[np.bool_]:
        """Whether each participant may publish."""
        return self._has("peer", "server", "publisher")

    def publishing(self, asked: str | int) -> NDArray[np.bool_]:
        """Return which participants publish, as `workload.publications.publisher` says."""
        if isinstance(asked, str):
            return self.publishes
        of_peer: NDArray[np.bool_] = np.arange(self.number) // self.per_peer == asked
        return self.publishes & of_peer

    def _has(self, *roles: str) -> NDArray[np.bool_]:
        return np.repeat(np.isin(self.role, roles), self.per_peer)

    def peer(self, participant: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the peer that each of these participants is, or whose client it is."""
        return participant // self.per_peer

    def client(self, participant: NDArray[np.int32]) -> list[int | None]:
        """Return the number of each of these clients at its peer, from 0 on; None where it is a
        peer itself."""
        if not self.has_clients:
            return [None] * len(participant)
        numbers: list[int | None] = (participant % self.per_peer).tolist()
        return numbers

    def while_there(
        self, participant: NDArray[np.int32], start: NDArray[np.float64], end: NDArray[np.float64]
    ) -> Interval:
        """Return the parts of intervals in which the participants are there: row, start, end, in order of
        rows."""
        if self.visits is None:
            return np.arange(len(participant)), start, end
        return overlaps((participant, start, end), self.visits)


def draw_participants(
    roles: Roles,
    clients: Clients | None,
    peers: int,
    sessions: Sessions,
    trial_end: float,
    of_roles: np.random.Generator,
    of_clients: np.random.Generator,
    region: NDArray[np.str_],
) -> Participants:
    """Draw roles by lot, and clients that come and go by a renewal process, which is in equilibrium from the
    start.

    `region` has that of each peer; it is empty where there are none. Raises ValueError if a role needs more
    peers of its regions than there are without a role.
    """
    role = _roles(roles, "peer" if clients is None else "server", peers, of_roles, region)
    if clients is None:
        return Participants(1, False, role, sessions, None)
    each = clients.per_peer
    of_servers = Sessions(
        (np.repeat(sessions.peer * each, each) + np.tile(np.arange(each), len(sessions.peer))).astype(
            np.int32
        ),
        np.repeat(sessions.start, each),
        np.repeat(sessions.end, each),
    )
    of_servers = _sorted(of_servers)
    if clients.mean_session is None:
        return Participants(each, True, role, of_servers, None)
    up, away = Exponential(clients.mean_session), Exponential(clients.mean_gap)
    peer, start, end = alternate(peers * each, 0.0, trial_end, up, away, of_clients, SHORTEST)
    visits = _sorted(Sessions(peer, start, np.minimum(end, trial_end)))
    row, start, end = overlaps((of_servers.peer, of_servers.start, of_servers.end), visits)
    return Participants(each, True, role, Sessions(of_servers.peer[row], start, end), visits)


def _roles(
    roles: Roles, others: str, peers: int, random: np.random.Generator, region: NDArray[np.str_]
) -> NDArray[np.str_]:
    """Give peers of a random order their roles: first the roles that only some regions have."""
    role = np.full(peers, "", dtype=object)
    shuffled = random.permutation(peers)
    numbers = roles.numbers(peers)
    regions = {str(name): those for name, those in roles.regions.items()}
    for name in sorted(numbers, key=lambda name: name not in regions):
        of_regions = regions.get(name)
        free = shuffled[role[shuffled] == ""]
        if of_regions is not None:
            free = free[np.isin(region[free], of_regions)]
        if len(free) < numbers[name]:
            text = f"{numbers[name]} peers, but {', '.join(of_regions or ())} has {len(free)} for them"
            raise ValueError(f"workload.roles.{name}: {text}. Lower it")
        role[free[: numbers[name]]] = name
    role[role == ""] = others
    return role.astype(str)


def _sorted(sessions: Sessions) -> Sessions:
    order = np.lexsort((sessions.start, sessions.peer))
    return Sessions(sessions.peer[order], sessions.start[order], sessions.end[order])


def overlaps(
    rows: tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]], sessions: Sessions
) -> Interval:
    """Return where intervals of (peer, start, end) and the sessions of the same peer overlap: row, start,
    end."""
    peer, start, end = rows
    first, last = np.searchsorted(sessions.peer, peer), np.searchsorted(sessions.peer, peer, side="right")
    count = last - first
    row = np.repeat(np.arange(len(peer)), count)
    other = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count) + np.repeat(first, count)
    begins = np.maximum(start[row], sessions.start[other])
    ends = np.minimum(end[row], sessions.end[other])
    kept = ends - begins >= SHORTEST
    return row[kept], begins[kept], ends[kept]
