"""Links that are shared fairly or change their rate, against a fluid model of them in fractions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import pytest
from fluid_links import MBIT, MS, SENT, Pieces, Sent, departures, fluid, links
from hypothesis import given
from hypothesis import strategies as st

from emulator.network.access_links import LinkRates
from emulator.network.rate_change import NEVER, RateChange
from emulator.network.shared_links import SharedLinks


def both(sent: Sequence[Sent], pieces: Pieces, queue_ns: int, fair: bool) -> list[int | str | None]:
    """Return what both say, which has to be the same."""
    got = departures(links(pieces, queue_ns, fair), sent)
    room = Fraction(queue_ns * pieces[0][1], 10**9)
    assert got == fluid(sent, pieces, room, fair)  # type: ignore[arg-type]
    return got


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


def test_a_message_that_was_sent_ahead_counts_in_the_interval_in_which_it_leaves() -> None:
    made = SharedLinks([LinkRates(10 * MBIT, 0, 100 * MS)], [0], 0, True)
    made.counting = True
    use = made.use[0]
    for number in range(3):
        made.enter(0, 1, made.instant(number * 10 * MS), 1250, number)
        assert made.send_ahead(0) != NEVER
        made.count_departed(made.instant(number * 10 * MS + MS // 2))
        assert len(use.waits) == 0
        made.count_departed(made.instant((number + 1) * 10 * MS))
        use.begin_interval()
    assert [(each.bytes, len(each.waits)) for each in use.intervals()] == [(1250, 1)] * 3 + [(0, 0)]
    assert departures(made, [(40 * MS, 1, 1250)]) == [41 * MS]
