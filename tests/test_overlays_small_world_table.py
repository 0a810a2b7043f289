"""One peer of the small world: whom it has in its table, and who leaves it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from librt.vecs import vec
from mypy_extensions import i64
from small_world_peer import SELF, Peer, hop_of, knowing, profile

from emulator.contract.identifiers import RING, hash_of_peer
from trellis.v1.overlay import Goodbye, NewscastExchange


def test_silent_neighbours_are_dropped_after_their_time() -> None:
    tested = knowing([101, 102], stale_after=5)
    for _ in range(5):
        tested.hear_from([101])
        tested.rounds(1)
    assert tested.table() == {101, 102}
    tested.hear_from([101])
    tested.rounds(1)
    assert tested.table() == {101}
    assert (102, False) in tested.application.changes


def test_silent_incoming_links_are_dropped_too() -> None:
    tested = knowing([101], stale_after=5)
    tested.hear_from([200])
    for _ in range(6):
        tested.hear_from([101])
        tested.rounds(1)
    assert 200 not in tested.overlay.neighbours()["incoming"]


def test_a_peer_heard_of_long_ago_is_no_neighbour() -> None:
    tested = Peer(stale_after=5)
    tested.rounds(10)
    tested.hear_of([101], age=6.0)
    tested.hear_of([102], age=4.0)
    assert tested.table() == {102}


@pytest.mark.parametrize("incoming", [False, True])
def test_goodbye_drops_at_once(incoming: bool) -> None:
    tested = knowing([101])
    if incoming:
        tested.hear_from([200])
    leaver = 200 if incoming else 101
    tested.environment.hand_over(leaver, Goodbye())
    assert all(link.profile.peer != leaver for link in tested.overlay.links())
    assert leaver not in tested.table()
    assert hop_of(tested.overlay, hash_of_peer(leaver)) != leaver
    assert ((leaver, False) in tested.application.changes) == (not incoming)


def test_an_unreachable_peer_is_dropped_at_once() -> None:
    tested = knowing([101, 102])
    tested.environment.fail(101)
    assert tested.table() == {102}
    assert hop_of(tested.overlay, hash_of_peer(101)) != 101
    assert (101, False) in tested.application.changes


def test_an_unreachable_peer_does_not_come_back_by_older_hearsay() -> None:
    tested = knowing([101, 102])
    tested.rounds(2)
    tested.environment.fail(101)
    tested.rounds(1)
    tested.hear_of([101], age=1.5)
    assert 101 not in tested.table()


def test_an_unreachable_peer_comes_back_when_heard_of_later() -> None:
    tested = knowing([101, 102])
    tested.rounds(2)
    tested.environment.fail(101)
    tested.rounds(2)
    tested.hear_of([101], age=0.5)
    assert 101 in tested.table()


def test_an_unreachable_peer_comes_back_when_it_speaks() -> None:
    tested = knowing([101, 102])
    tested.environment.fail(101)
    tested.rounds(1)
    tested.hear_from([101])
    tested.hear_of([102])
    assert 101 in tested.table()


def test_an_unreachable_peer_leaves_the_random_sample() -> None:
    tested = Peer()
    told = NewscastExchange(True, [profile(101)], vec[i64]([0]))
    tested.environment.hand_over(101, told, channel="newscast")
    tested.environment.fail(101)
    tested.rounds(1)
    assert tested.table() == set()
    assert not tested.environment.outbox


def test_a_graceful_stop_says_goodbye_in_both_directions() -> None:
    tested = knowing([101])
    tested.hear_from([200])
    tested.environment.outbox.clear()
    tested.overlay.stop(graceful=True)
    assert tested.sent(Goodbye) == [101, 200]


def test_a_crash_says_nothing() -> None:
    tested = knowing([101])
    tested.environment.outbox.clear()
    tested.overlay.stop(graceful=False)
    assert not tested.environment.outbox


def test_itself_is_never_a_neighbour() -> None:
    tested = knowing([SELF, 101])
    tested.rounds(1)
    assert tested.table() == {101}


@given(st.sets(st.integers(100, 400), max_size=60), st.integers(4, 12))
def test_the_table_is_never_larger_than_asked(known: set[int], size: int) -> None:
    tested = knowing(known, routing_table=size)
    tested.rounds(1)
    assert len(tested.table()) == min(size, len(known))


def test_a_dropped_neighbour_counts_as_long_as_it_may_count_on_this_peer() -> None:
    tested = Peer(routing_table=4)
    near = sorted(range(100, 200), key=lambda peer: RING.distance(hash_of_peer(SELF), hash_of_peer(peer)))
    far, close = near[40:44], near[:4]
    tested.hear_of(far)
    tested.hear_from(far)
    tested.hear_of(close)
    dropped = set(far) - tested.table()
    assert dropped
    assert dropped <= set(tested.overlay.neighbours()["incoming"])
    tested.rounds(7)
    assert not dropped & {link.profile.peer for link in tested.overlay.links()}
