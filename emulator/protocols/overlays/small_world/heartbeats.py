"""The heartbeats of the small world's peers at a host, as rows."""

from __future__ import annotations

from abc import abstractmethod
from typing import Final
from typing import Protocol as Interface

from librt.vecs import append, vec
from mypy_extensions import i64, mypyc_attr, trait

from emulator.compact.peer_rows import NO_ROW, PeerRows
from emulator.contract.held_messages import HeldMessages
from emulator.messages.message import Part
from emulator.protocols.gossip.profile_handles import HandleKeeper, ProfileHandles
from trellis.v1.overlay import Profile, ProfileExchange

NOTHING_SAID: Final[i64] = -1


class RidingSystem(Interface):
    """Any class that acts in the rounds of the overlay and lets something ride on its heartbeats."""

    def begin_round(self) -> None:
        """Act in a round, before the heartbeats go out."""

    def rider(self) -> Part | None:
        """Return what rides on heartbeats; the same object as long as it says the same."""
        ...

    def read_rider(self, content: bytes) -> Part:
        """Decode what rode on the heartbeat of a peer at another host. Raises MalformedMessage."""
        ...

    def fits(self, profile: Profile, rider: Part) -> bool:
        """Return whether what rode on a heartbeat fits the profile that came with it."""
        ...


@mypyc_attr(allow_interpreted_subclasses=True)
@trait
class HeartbeatListener:
    """An overlay that gets heartbeats."""

    @abstractmethod
    def hear(self, sender: i64, heartbeat: i64, now: float) -> None:
        """Take a heartbeat that comes at trial time `now` (s)."""


@mypyc_attr(allow_interpreted_subclasses=True)
@trait
class KnownLinks:
    """The links that peers have chosen, by the rows of the peers."""

    @abstractmethod
    def hear_again(self, row: i64, sender: i64, heartbeat: i64, now: float) -> bool:
        """Note that the peer at a link has said the same as before, at trial time `now` (s).

        Returns false if there is no such link, or the heartbeat may say something else; nothing is noted
        then.
        """


@mypyc_attr(allow_interpreted_subclasses=True)
@trait
class RiderStore:
    """A store that keeps what rides on heartbeats, by the heartbeats' rows."""

    @abstractmethod
    def take(self, heartbeat: i64, profile: Profile, rider: Part | None) -> None:
        """Keep what rides on a new heartbeat, which may have the row of one that nobody holds any more."""

    @abstractmethod
    def share(self, heartbeat: i64, other: i64) -> None:
        """Keep that the same rides on a new heartbeat as on another one."""

    @abstractmethod
    def differ(self, heartbeat: i64, other: i64) -> bool:
        """Return whether it is plain that not the same rides on two heartbeats with the same profile."""


class Heartbeats(HeldMessages[ProfileExchange], HandleKeeper):
    """Messages of the type `ProfileExchange`.

    A peer's heartbeat is the same row as long as it says the same: who has it need not read it again.
    """

    def __init__(self, channel: str, rows: PeerRows, profiles: ProfileHandles) -> None:
        super().__init__()
        self._rows = rows
        self._profiles = profiles
        self._listeners: list[HeartbeatListener | None] = []
        self._table: KnownLinks | None = None
        self._riders: RiderStore | None = None
        self._own = vec[i64]()
        """The heartbeat and the reply of each peer, by its row, that say what it told last."""
        self._own_profiles: list[Profile | None] = []
        """The profile that each peer told last, and what rode on it."""
        self._own_riders: list[Part | None] = []
        self.handles = vec[i64]()
        """The handle of each heartbeat's profile."""
        self.contents = vec[i64]()
        """A number of what each heartbeat says. A peer's heartbeat and reply share it if they say the same;
        others may say the same with different numbers."""
        self._content: i64 = 0
        self._replies = vec[i64]()
        self._sound = vec[i64]()
        """1 for each heartbeat whose parts are known to fit together."""
        profiles.add_keeper(self)

    def join(self, row: i64, listener: HeartbeatListener) -> None:
        """Hand what comes to the peer of this row to `listener` from now on."""
        while len(self._listeners) <= row:
            self._listeners.append(None)
            self._own = append(append(self._own, NOTHING_SAID), NOTHING_SAID)
            self._own_profiles.append(None)
            self._own_riders.append(None)
        self._listeners[int(row)] = listener
        self._forget_own(row)

    def watch(self, table: KnownLinks) -> None:
        """Note heartbeats that are the same again at these links, and tell no listener of them."""
        self._table = table

    def keep_riders(self, riders: RiderStore) -> None:
        """Have this store keep what rides on heartbeats from now on."""
        self._riders = riders

    def leave(self, peer: i64) -> None:
        row = self._rows.find(peer)
        if row != NO_ROW and row < len(self._listeners):
            self._listeners[int(row)] = None
            self._forget_own(row)

    def own(self, row: i64, reply: bool, profile: Profile, rider: Part | None) -> i64:
        """Return the heartbeat of the peer of this row that says this; it is the last one if that does."""
        at = int(row)
        if profile is not self._own_profiles[at] or rider is not self._own_riders[at]:
            self._forget_own(row)
            self._own_profiles[at], self._own_riders[at] = profile, rider
        place, other = 2 * row, 2 * row + 1
        if reply:
            place, other = other, place
        if self._own[place] == NOTHING_SAID:
            self._own[place] = self._take(ProfileExchange(reply, profile, rider), self._own[other])
        return self._own[place]

    def take(self, message: ProfileExchange) -> i64:
        """Return a row for a message that has a profile; the caller holds it."""
        return self._take(message, NOTHING_SAID)

    def _take(self, message: ProfileExchange, same: i64) -> i64:
        """Return a row for a message; `same` is a heartbeat that says the same if there is any."""
        profile = message.profile
        assert profile is not None
        handle = self._profiles.take(profile)
        row = self.put(message)
        if row == len(self.handles):
            self.handles = append(self.handles, i64(0))
            self.contents = append(self.contents, i64(0))
            self._replies = append(self._replies, i64(0))
            self._sound = append(self._sound, i64(0))
        self.handles[row] = handle
        self._replies[row] = 1 if message.reply else 0
        riders = self._riders
        if same == NOTHING_SAID:
            self._content += 1
            self.contents[row] = self._content
            self._sound[row] = 0
            if riders is not None:
                riders.take(row, profile, message.rider)
        else:
            self.contents[row] = self.contents[same]
            self._sound[row] = self._sound[same]
            if riders is not None:
                riders.share(row, same)
        return row

    def is_sound(self, row: i64) -> bool:
        """Return whether somebody has noted that the heartbeat's parts fit together."""
        return self._sound[row] != 0

    def note_sound(self, row: i64) -> None:
        """Note that the heartbeat's parts fit together."""
        self._sound[row] = 1

    def differ(self, row: i64, other: i64) -> bool:
        """Return whether two heartbeats say different things."""
        riders = self._riders
        if self.handles[row] == self.handles[other] and riders is not None and riders.differ(row, other):
            return True
        one, two = self.view(row), self.view(other)
        return one.profile != two.profile or one.rider != two.rider

    def handle(self, row: i64) -> i64:
        """Return the handle of the profile that the heartbeat tells."""
        return self.handles[row]

    def is_reply(self, row: i64) -> bool:
        return self._replies[row] != 0

    def receive(self, peer: i64, sender: i64, row: i64, now: float) -> bool:
        at = self._rows.find(peer)
        if at == NO_ROW or at >= len(self._listeners):
            return False
        table = self._table
        if table is not None and table.hear_again(at, sender, row, now):
            return True
        listener = self._listeners[int(at)]
        if listener is None:
            return False
        listener.hear(sender, row, now)
        return True

    def _forget_own(self, row: i64) -> None:
        self._own_profiles[int(row)] = self._own_riders[int(row)] = None
        for place in (2 * row, 2 * row + 1):
            if self._own[place] != NOTHING_SAID:
                self.release(self._own[place])
                self._own[place] = NOTHING_SAID

    def mark(self, kept: vec[i64]) -> None:
        row: i64
        for row in range(len(self._holders)):
            if self._holders[row] > 0:
                kept[self.handles[row]] = 1
