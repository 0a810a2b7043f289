"""Links that are shared fairly or change their rate, against a fluid model of them in fractions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.network.access_links import LinkRates
from emulator.network.shared_links import NEVER, RateChange, SharedLinks

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


def links(pieces: Pieces, queue_ns: int, fair: bool) -> SharedLinks:
    """Return one up link of these rates; the first is its own, and the others are changes."""
    ends = [*(at for at, _ in pieces[2:]), NEVER][: len(pieces) - 1]
    changes = [RateChange(at, end, [0], rate, None) for (at, rate), end in zip(pieces[1:], ends, strict=True)]
    return SharedLinks(
        [LinkRates(pieces[0][1], 0, queue_ns)], [0] * 10, 0, fair, changes if pieces[1:] else []
    )


def departures(made: SharedLinks, sent: Sequence[Sent]) -> list[int | str | None]:
    """Drive the link as a runtime does: it is asked when it has said so, and when a message has entered."""
    found: list[int | str | None] = [None] * len(sent)
    asked: list[int] = []

    def serve(until: int) -> None:
        for at, number in made.take(0, until):
            assert isinstance(number, int)
            found[number] = made.nanoseconds(at)
        due = made.await_next(0)
        if due != NEVER:
            asked.append(due)

    def wake(until: int | None) -> None:
        while asked and (until is None or min(asked) <= until):
            due = min(asked)
            asked.remove(due)
            if made.is_awaited(0, due):
                serve(due)

    for number, (at, peer, size) in enumerate(sent):
        wake(made.instant(at))
        if made.fits(0, made.instant(at), size):
            made.enter(0, peer, made.instant(at), size, number)
            serve(made.instant(at))
        else:
            found[number] = "dropped"
    wake(None)
    return found


def both(sent: Sequence[Sent], pieces: Pieces, queue_ns: int, fair: bool) -> list[int | str | None]:
    """Return what both say, which has to be the same."""
    got = departures(links(pieces, queue_ns, fair), sent)
    room = Fraction(queue_ns * pieces[0][1], 10**9)
    assert got == fluid(sent, pieces, room, fair)  # type: ignore[arg-type]
    return got


SENT = st.lists(
    st.tuples(st.integers(0, 400_000), st.integers(1, 5), st.integers(0, 3000)), min_size=1, max_size=25
)
RATES = st.sampled_from([1 * MBIT, 3 * MBIT, 7 * MBIT, 10 * MBIT, 64_000, 12_345_678])


@given(sent=SENT, rate=RATES, queue=st.sampled_from([1, 5, 50, 1000]))
def test_fair_links_are_those_of_the_fluid_model(sent: list[Sent], rate: int, queue: int) -> None:
    both(sorted(sent), [(0, rate)], queue * MS, fair=True)


@given(
    sent=SENT,
    rate=RATES,
    later=st.lists(st.tuples(st.integers(1, 900_000), st.one_of(RATES, st.just(0))), max_size=4),
    fair=st.booleans(),
)
def test_a_change_of_rate_holds_for_what_is_left(
    sent: list[Sent], rate: int, later: list[tuple[int, int]], fair: bool
) -> None:
    pieces = [(0, rate), *sorted(dict(later).items())]
    both(sorted(sent), pieces, 20 * MS, fair)


def test_messages_to_different_peers_share_a_link_and_those_to_one_are_in_order() -> None:
    four = [(0, peer, 1250) for peer in (1, 2, 3, 4)]
    assert both(four, [(0, 10 * MBIT)], 1000 * MS, True) == [4 * MS] * 4
    assert both([(0, 1, 1250)] * 2, [(0, 10 * MBIT)], 1000 * MS, True) == [1 * MS, 2 * MS]
    # A short message does not wait for a long one to another peer.
    mixed = both([(0, 1, 12_500), (0, 2, 1250)], [(0, 10 * MBIT)], 1000 * MS, True)
    assert mixed == [11 * MS, 2 * MS]
    assert both([(0, 1, 12_500), (0, 2, 1250)], [(0, 10 * MBIT)], 1000 * MS, False) == [10 * MS, 11 * MS]


def test_fair_links_drop_by_the_same_limit_as_fifo_ones() -> None:
    sent = [(0, peer, 1250) for peer in range(5)] + [(1 * MS, 1, 1250)]
    for fair in (False, True):
        found = both(sent, [(0, 10 * MBIT)], 3 * MS, fair)
        assert [each == "dropped" for each in found] == [False] * 3 + [True] * 2 + [False]


def test_a_rate_of_0_stalls_a_message_in_the_middle() -> None:
    stalled = [(0, 10 * MBIT), (MS // 2, 0), (MS * 5, 10 * MBIT)]
    assert both([(0, 1, 1250)], stalled, 100 * MS, False) == [MS * 11 // 2]
    assert both([(0, 1, 1250)] * 2, stalled[:2], 100 * MS, False) == [None, None]
    # A message of no bytes takes no time, also on a link that stalls.
    assert both([(MS, 1, 0)], stalled[:2], 100 * MS, False) == [MS]


def test_room_is_that_of_the_link_s_own_rate() -> None:
    """2,500 bytes fit, however slow the link is at the time."""
    found = both([(2, 1, 1250)] * 4, [(0, 10 * MBIT), (1, 1 * MBIT)], 2 * MS, False)
    assert found == [10 * MS + 2, 20 * MS + 2, "dropped", "dropped"]


def test_the_lower_of_two_rates_holds() -> None:
    changes = [RateChange(0, NEVER, [0], 5 * MBIT, None), RateChange(0, 4 * MS, [0], 1 * MBIT, None)]
    made = SharedLinks([LinkRates(10 * MBIT, 0, 100 * MS)], [0], 0, False, changes)
    # 4 ms at 1 Mbit/s are 500 bytes, and the other 750 take 1.2 ms at 5 Mbit/s.
    assert departures(made, [(0, 1, 1250)]) == [5_200_000]


def test_a_busy_fair_link_stays_exact() -> None:
    """Thousands of arrivals in one busy period round shares, but never by a nanosecond."""
    sent = [(number * 900_000 // 7, number * number % 5, 100 + number * 37 % 1400) for number in range(300)]
    found = both(sent, [(0, 10 * MBIT - 1)], 10**12, True)
    assert Counter(map(type, found)) == {int: 300}


@pytest.mark.parametrize("fair", [False, True])
def test_links_without_a_limit_are_none(fair: bool) -> None:
    made = SharedLinks([LinkRates(0, 10 * MBIT, MS)], [0, 0], 0, fair)
    assert [made.limits(link) for link in range(4)] == [False, True, False, True]
