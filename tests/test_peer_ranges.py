"""Ranges of columns, by the rows of peers: they hold what lists of their own would hold."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from mypy_extensions import i64

from emulator.compact.peer_ranges import NO_PLACE
from emulator.protocols.pubsub.vitis.relay_requests import RelayLinks

ROWS = st.integers(0, 3)
STEPS = st.one_of(
    st.tuples(st.just("add"), ROWS, st.integers(0, 90)),
    st.tuples(st.just("take out"), ROWS, st.integers(0, 90)),
    st.tuples(st.just("leave"), ROWS, st.just(0)),
)


@given(st.lists(STEPS, max_size=150))
def test_each_row_has_what_was_added_to_it_in_that_order(steps: list[tuple[str, int, int]]) -> None:
    links, expected = RelayLinks(), [list[tuple[int, int, float]]() for _ in range(4)]
    links.leave(3)
    for number, (step, row, peer) in enumerate(steps):
        peers = [each for each, _, _ in expected[row]]
        place = links.find(row, peer)
        assert (place == NO_PLACE) == (peer not in peers)
        if step == "leave":
            links.leave(row)
            expected[row] = []
        elif step == "add" and peer not in peers:
            links.add(row, peer, number, float(number))
            expected[row].append((peer, number, float(number)))
        elif step == "take out" and peer in peers:
            links.take_out(row, place)
            del expected[row][peers.index(peer)]
    for row, each in enumerate(expected):
        places = [i64(place) for place in range(links.begin(row), links.end(row))]
        assert [(links.peers[at], links.requests[at], links.ends[at]) for at in places] == each
        assert links.count(row) == len(each)


def test_a_range_that_a_row_has_outgrown_serves_another_row() -> None:
    links = RelayLinks()
    links.leave(2)
    for peer in range(17):
        links.add(0, peer, 0, 0.0)
    room = len(links.peers)
    links.add(1, 7, 0, 0.0)
    assert len(links.peers) == room
    links.add(2, 7, 0, 0.0)
    assert len(links.peers) > room
