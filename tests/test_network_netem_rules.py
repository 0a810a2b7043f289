"""The rules that netem is programmed with, judged by what u32 does with them."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from netem_u32 import Lookup

from emulator.contract.random_streams import generator
from emulator.network.king_like import king_rtt
from emulator.network.netem.rules import QUANTUM, DelayClass, Destinations, Filter, Rule, rules_for

few = st.sampled_from([0, 1, 2, 127, 255])
addresses = st.one_of(
    st.integers(0, 2**32 - 1).map(lambda number: str(ipaddress.IPv4Address(number))),
    st.tuples(few, few, few, few).map(lambda four: ".".join(map(str, four))),
)
delays = st.one_of(st.floats(0, 2), st.sampled_from([0.0, QUANTUM / 3, QUANTUM]))


def number(address: str) -> int:
    return int(ipaddress.IPv4Address(address))


def check(rules: list[Rule], destinations: dict[str, float], others: list[str], quantum: float) -> None:
    lookup = Lookup(rules)
    waits = {rule.minor: rule.delay_ns / 1e9 for rule in rules if isinstance(rule, DelayClass)}
    waits[0] = 0.0
    for address, seconds in destinations.items():
        assert waits[lookup.find(number(address)) or 0] == pytest.approx(seconds, abs=quantum / 2 + 1e-9)
    for address in set(others) - destinations.keys():
        assert lookup.find(number(address)) is None


@settings(deadline=None)
@given(
    st.dictionaries(addresses, delays, max_size=60),
    st.lists(addresses, max_size=30),
    st.sampled_from([QUANTUM, 0.001, 0.000125]),
)
def test_every_destination_finds_its_class_and_no_other_address_finds_one(
    destinations: dict[str, float], others: list[str], quantum: float
) -> None:
    check(rules_for(destinations, quantum), destinations, others, quantum)


@settings(deadline=None)
@given(st.lists(st.tuples(addresses, st.none() | delays), max_size=80), st.lists(addresses, max_size=10))
def test_changing_and_removing_leaves_the_last_delay_of_each(
    history: list[tuple[str, float | None]], others: list[str]
) -> None:
    book = Destinations()
    there: dict[tuple[str, int], Rule] = {}
    wanted: dict[str, float] = {}
    for address, seconds in history:
        if seconds is None or book.minor(seconds) == 0:
            there.pop(("filter", book.forget(address) or 0), None)
            wanted.pop(address, None)
        else:
            there.update({rule.key: rule for rule in book.rules_to(address, seconds)})
            wanted[address] = seconds
    check(list(there.values()), wanted, [*others, *(address for address, _ in history)], QUANTUM)


def test_five_thousand_destinations_wait_as_the_matrix_says() -> None:
    """One row of a matrix, with addresses as a cluster gives them: 110 pods on each node's /24."""
    hosts = 5001
    one_way = king_rtt(hosts, 0.180, generator(3, "netem"))[0, 1:] / 2
    cluster = [f"10.244.{pod // 110}.{2 + pod % 110}" for pod in range(hosts - 1)]
    destinations = {address: float(delay) for address, delay in zip(cluster, one_way, strict=True)}
    rules = rules_for(destinations)
    check(rules, destinations, ["10.96.0.1", "10.245.0.2", "10.244.0.1"], QUANTUM)
    lookup = Lookup(rules)
    for address in cluster:
        lookup.find(number(address))
        assert lookup.comparisons == 3
    filters = [rule for rule in rules if isinstance(rule, Filter)]
    classes = [rule for rule in rules if isinstance(rule, DelayClass)]
    assert len(filters) == 5000 + 46 + 1
    assert len(classes) <= max(one_way) / QUANTUM + 1


def test_a_round_trip_is_wrong_by_at_most_one_quantum() -> None:
    book = Destinations()
    for tenths_of_ms in range(1, 5000, 7):
        seconds = tenths_of_ms / 1e4
        assert abs(2 * book.minor(seconds) * QUANTUM - 2 * seconds) <= QUANTUM + 1e-12


def test_a_slow_class_has_room_for_what_is_sent_while_a_packet_waits() -> None:
    book = Destinations(packets_per_second=20_000)
    limits = [
        rule.limit
        for seconds in (0.001, 0.4)
        for rule in book.rules_to("10.0.0.1", seconds)
        if isinstance(rule, DelayClass)
    ]
    assert limits == [1000, 8000]


def test_a_moved_destination_keeps_its_place_and_changes_its_class() -> None:
    book = Destinations()
    before, after = book.rules_to("10.0.0.1", 0.010)[-1], book.rules_to("10.0.0.1", 0.020)[-1]
    assert isinstance(before, Filter)
    assert isinstance(after, Filter)
    assert (before.handle, before.target, after.target) == (after.handle, 40, 80)


@pytest.mark.parametrize("address", ["fd00::1", "peer-3", "10.0.0", "10.0.0.1:7001", ""])
def test_what_is_no_ipv4_address_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match="not an IPv4 address"):
        Destinations().rules_to(address, 0.1)


@pytest.mark.parametrize("seconds", [-0.001, float("nan"), float("inf"), 17.0])
def test_a_delay_without_class_is_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match="delay"):
        Destinations().rules_to("10.0.0.1", seconds)


def test_too_fine_a_quantum_is_refused() -> None:
    with pytest.raises(ValueError, match="1 microsecond"):
        Destinations(quantum=0)


def test_more_destinations_than_a_bucket_holds_are_refused() -> None:
    book = Destinations()
    for each in range(4095):
        book.rules_to(f"{1 + each // 256}.{each % 256}.7.9", 0.1)
    with pytest.raises(ValueError, match="share their last two bytes"):
        book.rules_to("200.1.7.9", 0.1)
    book.rules_to("200.1.7.10", 0.1)
