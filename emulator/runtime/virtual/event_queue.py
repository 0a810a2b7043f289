"""The pending events of a discrete-event simulation, in order of time."""

from __future__ import annotations

from typing import Final

from librt.vecs import append, vec
from mypy_extensions import i64

_BUCKETS_PER_SECOND: Final = 512.0
_WINDOW: Final[i64] = 8192
"""The number of buckets, 16 s of trial time, that are kept apart. Later events wait by the window that they
belong to."""
_FACTS: Final[i64] = 8
"""The whole numbers of an event: order, pool, receiver, sender, session, row, next and reaches."""
_ORDER: Final[i64] = 0
_POOL: Final[i64] = 1
_RECEIVER: Final[i64] = 2
_SENDER: Final[i64] = 3
_SESSION: Final[i64] = 4
_ROW: Final[i64] = 5
_NEXT: Final[i64] = 6
_REACHES: Final[i64] = 7
_NONE: Final[i64] = -1
_SERVES: Final[i64] = -2
"""The number of no pool, for the event of a link."""


class Entry:
    """An event that is to happen at a time; of events at the same time, the first scheduled comes first."""

    __slots__ = ("at", "order")

    def __init__(self, at: float, order: int) -> None:
        self.at = at
        """The time in seconds."""
        self.order = order
        """The number of its scheduling; no two entries of a queue have the same time and order."""

    def is_void(self) -> bool:
        """Return whether nothing is left to happen. A queue may leave such an entry out."""
        return False


ROW_ARRIVES: Final = Entry(0.0, 0)
"""The entry that stands for the arrival of a row of a message pool, whose facts the queue has."""
ROW_REACHES: Final = Entry(0.0, 0)
"""The entry that stands for a row whose last bit reaches its receiver's down link."""
LINK_SERVES: Final = Entry(0.0, 0)
"""The entry that stands for the time at which a message may have gone through a fair link."""


class EventQueue:
    """Buckets of 2 ms, each made a heap when its turn comes, of events that are rows of packed columns.

    One heap of all pending events of a large trial does not fit a processor's cache; these heaps do. The
    arrival of a row, by far the most frequent event, makes no object; any other event is an `Entry`. The
    heap is written out, because comparing two times in native code is what a compiled queue gains. Most
    timers are time-outs of requests that were answered long before: they get into no heap.
    """

    def __init__(self) -> None:
        self.at = 0.0
        """The time of the event that was popped last (s)."""
        self.event: i64 = _NONE
        """The number of that event; the other attributes are of a row only."""
        self.sent = 0.0
        """The time at which the row was sent (s)."""
        self.order: i64 = 0
        self.pool: i64 = 0
        self.receiver: i64 = 0
        self.sender: i64 = 0
        self.session: i64 = 0
        """The session of the sender."""
        self.row: i64 = 0
        self.reaches: i64 = _NONE
        """The instant, in units of the links, at which the row reaches its receiver's down link; -1 for a row
        that arrives."""
        self._times = vec[float]()
        """The time of each event, and the one at which its row was sent (s)."""
        self._facts = vec[i64]()
        self._entries: list[Entry | None] = []
        self._free = vec[i64]()
        self._free_count: i64 = 0
        self._heap_times = vec[float]()
        self._heap = vec[i64]()
        self._heap_size: i64 = 0
        self._current: i64 = -1
        """The number of the bucket that is in the heap."""
        self._base: i64 = 0
        """The number of the window's first bucket."""
        self._heads = vec[i64]([_NONE] * int(_WINDOW))
        """The first event of each bucket of the window; the others are chained to it."""
        self._near: i64 = 0
        """The number of events in the window's buckets."""
        self._far: dict[int, int] = {}
        """The first event of each later window, by the window's number."""

    def push(self, entry: Entry) -> None:
        """Add an entry; its time is not before that of the last event popped."""
        event = self._take(entry.at, entry.order)
        self._entries[int(event)] = entry
        self._facts[_FACTS * event + _POOL] = _NONE
        self._put(event, entry.at)

    def push_row(
        self,
        at: float,
        order: i64,
        pool: i64,
        receiver: i64,
        sender: i64,
        session: i64,
        row: i64,
        sent: float,
        reaches: i64 = _NONE,
    ) -> None:
        """Add the event that a row of the pool of this number arrives, or that it reaches a down link at an
        instant; its time is not before the last event's."""
        event = self._take(at, order)
        self._set_row(event, pool, receiver, sender, session, row, sent, reaches)
        self._put(event, at)

    def push_service(self, at: float, order: i64, link: i64, ns: i64, part: i64) -> None:
        """Add the event that a message may have gone through a fair link at an instant. When it is popped,
        `receiver` has the number of the link, `row` and `reaches` have the instant."""
        self.push_row(at, order, _SERVES, link, _NONE, _NONE, ns, at, part)

    def hold_row(
        self, order: i64, pool: i64, receiver: i64, sender: i64, session: i64, row: i64, sent: float, way: i64
    ) -> i64:
        """Return the number of an event of a row whose time is not known; `way` is kept with it."""
        event = self._take(sent, order)
        self._set_row(event, pool, receiver, sender, session, row, sent, way)
        return event

    def hold(self, entry: Entry | None, receiver: i64, way: i64) -> i64:
        """Return the number of the event of an entry whose time is not known, or of nothing."""
        event = self._take(0.0, 0 if entry is None else entry.order)
        self._entries[int(event)] = entry
        facts, first = self._facts, _FACTS * event
        facts[first + _POOL] = _NONE
        facts[first + _RECEIVER] = receiver
        facts[first + _REACHES] = way
        return event

    def hold_again(self, entry: Entry | None) -> i64:
        """Return the number of the event that was popped last, and keep it as it was; it is that of `entry`,
        or of a row."""
        self._free_count -= 1
        self._entries[int(self.event)] = entry
        return self.event

    def held_receiver(self, event: i64) -> i64:
        """Return the receiver of what is held."""
        return self._facts[_FACTS * event + _RECEIVER]

    def held_way(self, event: i64) -> i64:
        """Return the number that is kept with what is held."""
        return self._facts[_FACTS * event + _REACHES]

    def held_entry(self, event: i64) -> Entry | None:
        """Return the entry that is held, None for a row or nothing."""
        return self._entries[int(event)]

    def holds_row(self, event: i64) -> bool:
        """Return whether a row is held."""
        return self._facts[_FACTS * event + _POOL] != _NONE

    def put_row(self, event: i64, at: float, reaches: i64) -> None:
        """Have a row that was held arrive at this time or, if `reaches` is not -1, reach a down link."""
        self._times[2 * event] = at
        self._facts[_FACTS * event + _REACHES] = reaches
        self._put(event, at)

    def put_entry(self, event: i64, entry: Entry) -> None:
        """Have an entry happen at its time, in the place of the one that was held."""
        self._times[2 * event] = entry.at
        self._entries[int(event)] = entry
        self._put(event, entry.at)

    def let_go(self, event: i64) -> None:
        """Forget what is held."""
        self._entries[int(event)] = None
        self._free[self._free_count] = event
        self._free_count += 1

    def pop(self, end: float) -> Entry | None:
        """Take the first event up to time `end`: an entry, `ROW_ARRIVES`, `ROW_REACHES` or `LINK_SERVES`;
        None if there is none."""
        while self._heap_size == 0:
            if not self._advance(i64(end * _BUCKETS_PER_SECOND)):
                return None
        at = self._heap_times[0]
        if at > end:
            return None
        event = self._heap[0]
        self._drop_first()
        self.at = at
        self.event = event
        self._free[self._free_count] = event
        self._free_count += 1
        facts, first = self._facts, _FACTS * event
        self.pool = facts[first + _POOL]
        if self.pool == _NONE:
            entry = self._entries[int(event)]
            self._entries[int(event)] = None
            return entry
        self.order = facts[first + _ORDER]
        self.receiver = facts[first + _RECEIVER]
        self.sender = facts[first + _SENDER]
        self.session = facts[first + _SESSION]
        self.row = facts[first + _ROW]
        self.sent = self._times[2 * event + 1]
        self.reaches = facts[first + _REACHES]
        if self.pool == _SERVES:
            return LINK_SERVES
        return ROW_ARRIVES if self.reaches == _NONE else ROW_REACHES

    def _set_row(
        self,
        event: i64,
        pool: i64,
        receiver: i64,
        sender: i64,
        session: i64,
        row: i64,
        sent: float,
        reaches: i64,
    ) -> None:
        """Write the facts of a row to an event."""
        self._times[2 * event + 1] = sent
        facts, first = self._facts, _FACTS * event
        facts[first + _POOL] = pool
        facts[first + _RECEIVER] = receiver
        facts[first + _SENDER] = sender
        facts[first + _SESSION] = session
        facts[first + _ROW] = row
        facts[first + _REACHES] = reaches

    def _take(self, at: float, order: i64) -> i64:
        """Return a free event, which has this time and order now."""
        if self._free_count == 0:
            self._grow()
        self._free_count -= 1
        event = self._free[self._free_count]
        self._times[2 * event] = at
        self._facts[_FACTS * event + _ORDER] = order
        return event

    def _grow(self) -> None:
        """Double the room for events."""
        known: i64 = len(self._entries)
        more: i64 = max(known, 1024)
        self._entries.extend([None] * int(more))
        for _ in range(more):
            self._times = append(append(self._times, 0.0), 0.0)
            for _fact in range(_FACTS):
                self._facts = append(self._facts, i64(0))
            self._heap = append(self._heap, _NONE)
            self._heap_times = append(self._heap_times, 0.0)
            self._free = append(self._free, _NONE)
        event: i64
        for event in range(more):
            self._free[event] = known + more - 1 - event
        self._free_count = more

    def _put(self, event: i64, at: float) -> None:
        """Put an event into the heap, or into the bucket or the window whose turn comes later."""
        bucket = i64(at * _BUCKETS_PER_SECOND)
        if bucket <= self._current:
            self._heap_times[self._heap_size] = at
            self._heap[self._heap_size] = event
            self._heap_size += 1
            self._sift_up(self._heap_size - 1)
        elif bucket < self._base + _WINDOW:
            self._chain(event, bucket - self._base)
        else:
            window = int(bucket // _WINDOW)
            self._facts[_FACTS * event + _NEXT] = self._far.get(window, -1)
            self._far[window] = int(event)

    def _chain(self, event: i64, bucket: i64) -> None:
        """Add an event to a bucket of the window."""
        self._facts[_FACTS * event + _NEXT] = self._heads[bucket]
        self._heads[bucket] = event
        self._near += 1

    def _advance(self, last: i64) -> bool:
        """Make a heap of the next bucket up to `last` that has events. Returns whether there is one."""
        while self._current < last:
            if self._near == 0:
                if not self._far:
                    return False
                window = min(self._far)
                if i64(window) * _WINDOW > last:
                    return False
                self._open(window)
            self._current += 1
            bucket = self._current - self._base
            event = self._heads[bucket]
            if event >= 0:
                self._heads[bucket] = _NONE
                self._make_heap(event)
                return True
        return False

    def _open(self, window: int) -> None:
        """Spread the events of a later window over its buckets."""
        self._base = i64(window) * _WINDOW
        self._current = self._base - 1
        event: i64 = self._far.pop(window)
        while event >= 0:
            following = self._facts[_FACTS * event + _NEXT]
            self._chain(event, i64(self._times[2 * event] * _BUCKETS_PER_SECOND) - self._base)
            event = following

    def _make_heap(self, event: i64) -> None:
        """Make a heap of a chain of events, without the void entries."""
        size: i64 = 0
        while event >= 0:
            following = self._facts[_FACTS * event + _NEXT]
            self._near -= 1
            if self._is_void(event):
                self._entries[int(event)] = None
                self._free[self._free_count] = event
                self._free_count += 1
            else:
                self._heap_times[size] = self._times[2 * event]
                self._heap[size] = event
                size += 1
            event = following
        self._heap_size = size
        place = size // 2 - 1
        while place >= 0:
            self._sift_down(place)
            place -= 1

    def _is_void(self, event: i64) -> bool:
        if self._facts[_FACTS * event + _POOL] != _NONE:
            return False
        entry = self._entries[int(event)]
        return entry is not None and entry.is_void()

    def _drop_first(self) -> None:
        self._heap_size -= 1
        size = self._heap_size
        self._heap_times[0] = self._heap_times[size]
        self._heap[0] = self._heap[size]
        if size > 1:
            self._sift_down(0)

    def _sift_up(self, place: i64) -> None:
        """Move an event that was appended up to its place."""
        times, heap, facts = self._heap_times, self._heap, self._facts
        at, event = times[place], heap[place]
        order = facts[_FACTS * event + _ORDER]
        while place > 0:
            above = (place - 1) // 2
            if times[above] < at or (times[above] == at and facts[_FACTS * heap[above] + _ORDER] < order):
                break
            times[place] = times[above]
            heap[place] = heap[above]
            place = above
        times[place] = at
        heap[place] = event

    def _sift_down(self, place: i64) -> None:
        """Move an event, below which both halves are heaps, down to its place."""
        times, heap, facts = self._heap_times, self._heap, self._facts
        at, event, size = times[place], heap[place], self._heap_size
        order = facts[_FACTS * event + _ORDER]
        while True:
            child = 2 * place + 1
            if child >= size:
                break
            least = times[child]
            if child + 1 < size:
                other = times[child + 1]
                if other < least or (
                    other == least
                    and facts[_FACTS * heap[child + 1] + _ORDER] < facts[_FACTS * heap[child] + _ORDER]
                ):
                    child += 1
                    least = other
            if at < least or (at == least and order < facts[_FACTS * heap[child] + _ORDER]):
                break
            times[place] = least
            heap[place] = heap[child]
            place = child
        times[place] = at
        heap[place] = event
