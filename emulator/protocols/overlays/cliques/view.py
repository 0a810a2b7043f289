"""The view of a clique that its members have: the members, their RTTs, and the share of each.

The shares divide the interval from 0 to `WHOLE` among the members in an order. A newcomer gets half of the
largest share; the share of a member that is gone falls to a neighbour in that order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final

from emulator.compact.number_sets import LARGEST
from trellis.v1.cliques import CliqueRecord, CliqueView

WHOLE: Final = 1 << 16
_UNIT: Final = 0.0001
"""The unit of RTTs in messages, in seconds: a tenth of a millisecond."""
Rtts = dict[tuple[int, int], float]
"""The RTTs in seconds by pair of peers, the lower number first."""


def pair(a: int, b: int) -> tuple[int, int]:
    return (a, b) if a < b else (b, a)


def to_units(rtt: float) -> int:
    """Return an RTT in units, at least 1 because 0 says that it is not known."""
    return max(1, round(rtt / _UNIT))


def from_units(units: int) -> float:
    return units * _UNIT


class View:
    """A view that nobody changes, except that its leader adds the RTTs that it hears of."""

    __slots__ = ("ends", "leader", "members", "number", "replaces", "rtts", "since")

    def __init__(
        self,
        number: int,
        members: Sequence[int],
        since: Mapping[int, float],
        ends: Sequence[int],
        rtts: Rtts,
        replaces: Sequence[int] = (),
    ) -> None:
        self.number = number
        self.members = list(members)
        """The members in the order of their shares."""
        self.since = {peer: since[peer] for peer in self.members}
        self.ends = list(ends)
        self.rtts = rtts
        """The RTTs that are known, of some pairs of members and perhaps of other peers."""
        self.leader = min(self.members, key=lambda peer: (self.since[peer], peer))
        self.replaces = [leader for leader in replaces if leader != self.leader]
        """The leaders of cliques that this one replaces."""

    def rtt(self, a: int, b: int) -> float | None:
        """Return the RTT between two peers in seconds, or None if it is not known."""
        return self.rtts.get(pair(a, b))

    @property
    def all_known(self) -> bool:
        """Whether the RTTs between all members are known."""
        return all(self.rtt(a, b) for place, a in enumerate(self.members) for b in self.members[:place])

    def share(self, peer: int) -> tuple[int, int]:
        """Return the begin and the end of the peer's share."""
        place = self.members.index(peer)
        return (self.ends[place - 1] if place else 0), self.ends[place]

    @property
    def successors(self) -> list[int]:
        """The members in the order in which they would become leaders."""
        return sorted(self.members, key=lambda peer: (self.since[peer], peer))

    def largest_share(self) -> float:
        """Return the largest share over the mean."""
        return max(b - a for a, b in pairwise([0, *self.ends])) * len(self.members) / WHOLE

    def joined(self, peer: int, since: float, rtts: Rtts, number: int) -> View:
        """Return a view with a newcomer, which gets half of the largest share."""
        bounds = [0, *self.ends]
        place = max(range(len(self.members)), key=lambda i: (bounds[i + 1] - bounds[i], -i))
        middle = (bounds[place] + bounds[place + 1]) // 2
        members, ends = list(self.members), list(self.ends)
        members.insert(place + 1, peer)
        ends.insert(place, middle)
        return View(number, members, self.since | {peer: since}, ends, self.rtts | rtts)

    def without(self, gone: int, number: int) -> View:
        """Return a view without a member, whose share goes to a neighbour.

        Raises ValueError for the last member.
        """
        if len(self.members) == 1:
            raise ValueError("a clique has at least one member")
        place = self.members.index(gone)
        bounds = [0, *self.ends]
        before = bounds[place] - bounds[place - 1] if place else WHOLE + 1
        behind = bounds[place + 2] - bounds[place + 1] if place + 1 < len(self.members) else WHOLE + 1
        members, ends = list(self.members), list(self.ends)
        del members[place]
        del ends[place - 1 if before <= behind else place]
        return View(number, members, self.since, ends, self.rtts, [self.leader])

    def evened(self, number: int) -> View:
        """Return a view with equal shares."""
        return View(number, self.members, self.since, even_ends(len(self.members)), self.rtts)

    def record(self) -> CliqueRecord:
        """Return the record of this view for the directory."""
        since = [self.since[peer] for peer in self.members]
        members, ends = list(self.members), list(self.ends)
        return CliqueRecord(self.leader, self.number, members, since, ends, self.replaces)

    def message(self, replaced: Iterable[View] = ()) -> CliqueView:
        """Return the message with this view for its members; it replaces the views in `replaced`."""
        units = []
        for place, peer in enumerate(self.members):
            for other in self.members[:place]:
                rtt = self.rtts.get(pair(peer, other))
                units.append(0 if rtt is None else to_units(rtt))
        before = list(replaced)
        return CliqueView(
            self.record(), units, [view.leader for view in before], [view.number for view in before]
        )


def even_ends(members: int) -> list[int]:
    return [WHOLE * (place + 1) // members for place in range(members)]


def view_in(message: CliqueView) -> View | None:
    """Return the view that a message carries, None if it makes no sense."""
    record = message.record
    if record is None or not is_sound(record) or len(message.leaders) != len(message.views):
        return None
    rtts: Rtts = {}
    place = 0
    for row, peer in enumerate(record.members):
        for other in record.members[:row]:
            if place < len(message.rtts) and message.rtts[place]:
                rtts[pair(peer, other)] = from_units(message.rtts[place])
            place += 1
    since = dict(zip(record.members, record.since, strict=True))
    return View(record.view, record.members, since, record.ends, rtts, record.replaces)


_sound: Final[dict[int, CliqueRecord]] = {}
"""The records that were found sound, by their identity. They are kept: peers of one host pass them by
reference."""
_REMEMBERED: Final = 1 << 12


def is_sound(record: CliqueRecord) -> bool:
    """Return whether members and shares of a record fit together."""
    if _sound.get(id(record)) is record:
        return True
    sound = _fits_together(record)
    if sound:
        if len(_sound) >= _REMEMBERED:
            _sound.clear()
        _sound[id(record)] = record
    return sound


def _fits_together(record: CliqueRecord) -> bool:
    members = record.members
    return (
        len(members) > 0
        and len(members) == len(record.since) == len(record.ends) == len(set(members))
        and record.leader in members
        and record.ends[-1] == WHOLE
        and record.view <= LARGEST
    )
