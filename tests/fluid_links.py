"""A fluid model of a link in fractions, and what drives a link as a runtime does."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from hypothesis import strategies as st

from emulator.network.access_links import LinkRates
from emulator.network.fair_links import NOBODY, FairLinks
from emulator.network.rate_change import NEVER, RateChange
from emulator.network.shared_links import SharedLinks

MBIT = 1_000_000
MS = 1_000_000
Sent = tuple[int, int, int]
"""When a message enters (ns), the peer at the other end, and its bytes."""
Pieces = Sequence[tuple[int, int]]
"""From when on (ns) the link has which rate (bit/s), from 0 on."""


def fluid(sent: Sequence[Sent], pieces: Pieces, room: int, fair: bool) -> list[int | str | None]:
    """Return when each message departs (ns), None if it never does, "dropped" if it does not fit.

    The model moves from event to event: a departure, a change of rate, or an arrival, in that order.
    """
    found: list[int | str | None] = [None] * len(sent)
    queues: dict[int, list[list[Fraction | int]]] = {}
    now, rate, coming, changes = Fraction(0), 0, list(enumerate(sent)), list(pieces)
    while True:
        heads = [queue[0] for queue in queues.values()]
        share = Fraction(rate, 10**9 * max(len(heads), 1))
        done = [now + head[0] / share if share else now for head in heads if share or not head[0]]
        times = [*done, *(at for at, _ in changes[:1]), *(at for _, (at, _, _) in coming[:1])]
        if not times:
            return found
        then = min(times)
        for head in heads:
            head[0] -= share * (then - now)
        now = Fraction(then)
        if then in done:
            for peer, queue in list(queues.items()):
                if queue[0][0] == 0:
                    found[int(queue.pop(0)[1])] = int(now + Fraction(1, 2))
                    if not queue:
                        del queues[peer]
        elif changes and changes[0][0] == then:
            rate = changes.pop(0)[1]
        else:
            number, (_, peer, size) = coming.pop(0)
            left = sum(message[0] for queue in queues.values() for message in queue)
            if left and left + 8 * size > room:
                found[number] = "dropped"
            else:
                queues.setdefault(peer if fair else 0, []).append([Fraction(8 * size), number])


def rates(pieces: Pieces, queue_ns: int, down: bool) -> LinkRates:
    """Return the first of these rates as that of up links, or of down links."""
    rate = pieces[0][1]
    return LinkRates(0, rate, queue_ns) if down else LinkRates(rate, 0, queue_ns)


def links(pieces: Pieces, queue_ns: int, fair: bool, down: bool = False) -> SharedLinks:
    """Return one up link of these rates, or one down link; the first is its own, and the others are
    changes."""
    ends = [*(at for at, _ in pieces[2:]), NEVER][: len(pieces) - 1]
    changes = [
        RateChange(at, end, [0], None if down else rate, rate if down else None)
        for (at, rate), end in zip(pieces[1:], ends, strict=True)
    ]
    return SharedLinks([rates(pieces, queue_ns, down)], [0] * 10, 0, fair, changes)


def departures(made: SharedLinks, sent: Sequence[Sent], link: int = 0) -> list[int | str | None]:
    """Drive the link as a runtime does: it is asked when it has said so, and when a message has entered."""
    found: list[int | str | None] = [None] * len(sent)
    asked: list[int] = []

    def serve(until: int) -> None:
        for at, number in made.take(link, until):
            assert isinstance(number, int)
            found[number] = made.nanoseconds(at)
        due = made.await_next(link)
        if due != NEVER:
            asked.append(due)

    def wake(until: int | None) -> None:
        while asked and (until is None or min(asked) <= until):
            due = min(asked)
            asked.remove(due)
            if made.is_awaited(link, due):
                serve(due)

    for number, (at, peer, size) in enumerate(sent):
        wake(made.instant(at))
        if made.fits(link, made.instant(at), size):
            made.enter(link, peer, made.instant(at), size, number)
            serve(made.instant(at))
        else:
            found[number] = "dropped"
    wake(None)
    return found


def departures_in_words(made: FairLinks, sent: Sequence[Sent], link: int = 0) -> list[int | str | None]:
    """Drive a fair link in words as the virtual clock does, and return when each message departs (ns)."""
    found: list[int | str | None] = [None] * len(sent)
    asked: list[tuple[int, int]] = []

    def serve(at: int, part: int) -> None:
        while (number := made.take(link, at, part)) != NOBODY:
            found[number] = made.nanoseconds(made.gone, made.gone_part)

    def come_back() -> None:
        if made.await_next(link):
            asked.append((made.gone, made.gone_part))

    def wake(until: tuple[int, int] | None) -> None:
        while asked and (until is None or min(asked) <= until):
            due = min(asked)
            asked.remove(due)
            if made.is_awaited(link, *due):
                serve(*due)
                come_back()

    for number, (at, peer, size) in enumerate(sent):
        wake((at, 0))
        serve(at, 0)
        if made.has_room(link, size):
            made.enter(link, peer, at, 0, size, number)
            come_back()
        else:
            found[number] = "dropped"
    wake(None)
    return found


SENT = st.lists(
    st.tuples(st.integers(0, 400_000), st.integers(1, 5), st.integers(0, 3000)), min_size=1, max_size=25
)
