"""Links with a rate and a queue: departures and arrivals to the nanosecond."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from link_figures import LOADS, LOADS_OF_LINKS, Comparison, Load, compare, mean_wait, wait_of_theory

from emulator.files.quantities import format_rate, parse_rate
from emulator.network.access_links import DROPPED, AccessLinks, LinkRates, nearest_ns

MBIT = 1_000_000
MS = 1_000_000
WAY = 20 * MS
"""The delay between any two peers in ns."""


class Net:
    """Peers behind links of one class; messages are put in by hand."""

    def __init__(self, up: int, down: int, queue_ms: int = 1000, overhead: int = 0) -> None:
        self.links = AccessLinks([LinkRates(up, down, queue_ms * MS)], [0] * 10, overhead)

    def arrivals(self, *sent: tuple[int, int, int], size: int = 1250) -> list[float | None]:
        """Send messages (at ms, sender, receiver) in order; when each arrives in ms, None if dropped."""
        links, reached = self.links, []
        for number, (at, sender, receiver) in enumerate(sent):
            leaves = links.send(sender, links.instant(at * MS), size)
            if leaves != DROPPED:
                reached.append((leaves + links.instant(WAY), number, receiver))
        arrivals: list[float | None] = [None] * len(sent)
        for at, number, receiver in sorted(reached):
            arrives = links.receive(receiver, at, size)
            if arrives != DROPPED:
                arrivals[number] = links.nanoseconds(arrives) / MS
        return arrivals


def test_a_message_takes_both_links_and_the_way() -> None:
    assert Net(10 * MBIT, 10 * MBIT).arrivals((0, 0, 1)) == [22]


def test_messages_follow_each_other_on_a_link() -> None:
    assert Net(10 * MBIT, 10 * MBIT).arrivals((0, 0, 1), (0, 0, 1)) == [22, 23]


def test_a_fan_out_shares_the_up_link_and_a_fan_in_the_down_link() -> None:
    out = [(0, 0, receiver) for receiver in range(1, 5)]
    assert Net(10 * MBIT, 10 * MBIT).arrivals(*out) == [22, 23, 24, 25]
    into = [(0, sender, 0) for sender in range(1, 5)]
    assert Net(10 * MBIT, 10 * MBIT).arrivals(*into) == [22, 23, 24, 25]


def test_the_slower_link_sets_the_pace() -> None:
    assert Net(2 * MBIT, 10 * MBIT).arrivals((0, 0, 1), (0, 0, 1)) == [26, 31]


def test_a_link_without_a_limit_takes_no_time() -> None:
    assert Net(0, 0).arrivals((0, 0, 1), (0, 0, 1)) == [20, 20]
    assert Net(10 * MBIT, 0).arrivals((0, 0, 1), (0, 0, 1)) == [21, 22]


def test_a_message_without_bytes_waits_its_turn() -> None:
    net = Net(10 * MBIT, 0)
    assert net.arrivals((0, 0, 1)) == [21]
    assert net.arrivals((0, 0, 1), size=0) == [21]


def test_overhead_counts_for_each_message() -> None:
    assert Net(10 * MBIT, 0, overhead=1250).arrivals((0, 0, 1)) == [22]


def test_what_does_not_fit_is_dropped_when_it_enters() -> None:
    net = Net(10 * MBIT, 0, queue_ms=3)
    assert net.arrivals(*[(0, 0, 1)] * 5) == [21, 22, 23, None, None]
    # At 1 ms the first has left, so there is room for one again.
    assert net.arrivals((1, 0, 1)) == [24]


def test_what_the_down_link_drops_has_used_the_up_link() -> None:
    net = Net(10 * MBIT, 1 * MBIT, queue_ms=20)
    assert net.arrivals(*[(0, 0, 1)] * 4) == [31, 41, None, None]
    assert net.arrivals((0, 0, 2)) == [35]


def test_a_message_larger_than_the_queue_passes_an_idle_link() -> None:
    assert Net(1 * MBIT, 0, queue_ms=1).arrivals((0, 0, 1)) == [30]


@given(
    rate=st.integers(1_000, 10**9),
    messages=st.lists(st.tuples(st.integers(0, 50), st.integers(0, 5000)), min_size=1, max_size=30),
)
def test_departures_are_exact(rate: int, messages: list[tuple[int, int]]) -> None:
    """They are those of fractions, whatever the rate, and are rounded once."""
    links = AccessLinks([LinkRates(rate, 0, 10**15)], [0], 0)
    free, at = Fraction(0), 0
    for wait, size in messages:
        at += wait
        free = max(Fraction(at), free) + Fraction(8 * size * 10**9, rate)
        leaves = links.send(0, links.instant(at), size)
        assert Fraction(leaves, links.instant(1)) == free
        assert abs(links.nanoseconds(leaves) - free) <= Fraction(1, 2)


@pytest.mark.parametrize("text, bits", [("20 Mbit/s", 20 * MBIT), ("1.5 kbit/s", 1500), ("7 bit/s", 7)])
def test_rates_are_written_as_they_are_read(text: str, bits: int) -> None:
    assert parse_rate(text) == bits
    assert format_rate(bits) == text


@pytest.mark.parametrize("text", ["20", "20 MB/s", "0 bit/s", "1.5 bit/s", "2000 Gbit/s", 20])
def test_a_rate_without_a_unit_or_beyond_all_links_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="a rate"):
        parse_rate(text)


@pytest.mark.parametrize("load, messages", LOADS)
def test_waiting_at_random_arrivals_is_that_of_theory(load: float, messages: int) -> None:
    assert mean_wait(load, messages) == pytest.approx(wait_of_theory(load), rel=0.01)


@pytest.mark.parametrize("fair", [False, True], ids=["fifo", "fair"])
@pytest.mark.parametrize("load", LOADS_OF_LINKS, ids=lambda load: load.name)
def test_all_links_are_those_of_the_fluid_model(load: Load, fair: bool) -> None:
    for links, of in compare(load, fair, 10).items():
        assert of.messages > 300 and (of.other_fate, of.largest_ns) == (0, 0), links


def test_a_departure_that_is_a_nanosecond_late_is_seen() -> None:
    found = Comparison()
    found.add([5, 7, None, "dropped"], [5, 8, 9, "dropped"])
    assert (found.largest_ns, found.other_fate, found.dropped) == (1, 1, 1)


@given(st.one_of(st.floats(0, 1e6), st.integers(0, 10**12).map(lambda halves: halves / 2e9)))
def test_a_time_in_nanoseconds_is_the_one_that_round_gives(seconds: float) -> None:
    assert nearest_ns(seconds) == round(seconds * 1e9)


def test_instants_fit_words_unless_rates_divide_a_second_badly_or_the_trial_is_long() -> None:
    plain = AccessLinks([LinkRates(20 * MBIT, 100 * MBIT, 100 * MS)], [0], 0)
    assert plain.fit_words(100_000.0)
    assert not plain.fit_words(1e10)
    assert not AccessLinks([LinkRates(999_999_937, 0, 100 * MS)], [0], 0).fit_words(100_000.0)
