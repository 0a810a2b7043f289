"""Fair links in machine words, against links of any size and against a fluid model in fractions."""

from __future__ import annotations

from fractions import Fraction

import pytest
from fluid_links import MBIT, MS, SENT, Sent, departures, departures_in_words, fluid, links
from hypothesis import given
from hypothesis import strategies as st

from emulator.network.access_links import LinkRates
from emulator.network.fair_links import FairLinks

RATES = st.sampled_from([1 * MBIT, 3 * MBIT, 7 * MBIT, 10 * MBIT, 64_000])


def of_rate(rate: int, queue_ns: int) -> FairLinks:
    classes = [LinkRates(rate, 0, queue_ns)]
    assert FairLinks.fit(classes, 10)
    return FairLinks(classes, [0] * 10, 0)


@given(sent=SENT, rate=RATES, queue=st.sampled_from([1, 5, 50, 1000]))
def test_words_are_the_fluid_model(sent: list[Sent], rate: int, queue: int) -> None:
    sent = sorted(sent)
    room = Fraction(queue * MS * rate, 10**9)
    assert departures_in_words(of_rate(rate, queue * MS), sent) == fluid(sent, [(0, rate)], room, True)  # type: ignore[arg-type]


def test_a_busy_link_is_the_same_departures_in_words() -> None:
    """Thousands of arrivals in one busy period round shares, but never by a nanosecond."""
    sent = [(number * 900_000 // 7, number * number % 97, 100 + number * 37 % 1400) for number in range(3000)]
    assert departures_in_words(of_rate(10 * MBIT, 10**12), sent) == departures(
        links([(0, 10 * MBIT)], 10**12, True), sent
    )


def test_each_link_has_its_own_rate_and_overhead_counts() -> None:
    classes = [LinkRates(10 * MBIT, 0, MS), LinkRates(0, 5 * MBIT, MS)]
    made = FairLinks(classes, [0, 1, 0], 250)
    assert [made.limits(link) for link in range(6)] == [True, False, False, True, True, False]
    assert departures_in_words(made, [(0, 1, 1000)], link=4) == [1 * MS]
    assert departures_in_words(made, [(0, 1, 1000)], link=3) == [2 * MS]


def test_what_is_counted_is_the_wait_beside_the_message_alone() -> None:
    made = of_rate(10 * MBIT, 100 * MS)
    made.counting = True
    assert departures_in_words(made, [(0, 1, 1250), (0, 2, 1250)]) == [2 * MS, 2 * MS]
    assert (made.use[0].bytes, made.use[0].waited_ns, len(made.use[0].waits)) == (2500, 2 * MS, 2)
    assert len(made.use[1].waits) == 0


@pytest.mark.parametrize("rate", [999_999_937, 12_345_678])
def test_words_say_that_they_have_no_room_for_an_awkward_rate(rate: int) -> None:
    assert not FairLinks.fit([LinkRates(rate, 0, MS)], 10)
    assert FairLinks.fit([LinkRates(20 * MBIT, 100 * MBIT, MS)], 100_000)
