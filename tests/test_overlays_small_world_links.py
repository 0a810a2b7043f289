"""The links of a host's peers, in columns, are what lists of objects would be."""

from __future__ import annotations

from from_source import from_source
from hypothesis import given
from hypothesis import strategies as st

from emulator.compact.peer_ranges import NO_PLACE
from emulator.compact.peer_rows import PeerRows
from emulator.protocols.gossip.profile_handles import ProfileHandles
from emulator.protocols.gossip.profiles import make_profile
from emulator.protocols.overlays.small_world.heartbeats import NOTHING_SAID, HeartbeatListener, Heartbeats
from emulator.protocols.overlays.small_world.links import Links
from trellis.v1.overlay import Profile, ProfileExchange

ROWS = 3
steps = st.lists(
    st.tuples(
        st.sampled_from(["add", "remove", "take out", "empty"]), st.integers(0, ROWS - 1), st.integers(0, 40)
    ),
    max_size=120,
)


def profile(peer: int) -> Profile:
    return make_profile(peer, 0, 1, 1000 + peer, {})


@given(steps)
def test_links_come_and_go_in_their_order(steps: list[tuple[str, int, int]]) -> None:
    handles = ProfileHandles()
    heartbeats = Heartbeats("", PeerRows(), handles)
    links = Links(handles, heartbeats, "table")
    plain: list[list[int]] = [[] for _ in range(ROWS)]
    for row in range(ROWS):
        links.empty(row)
    for step, row, peer in steps:
        place = links.find(row, peer)
        assert (place == NO_PLACE) == (peer not in plain[row])
        if step == "empty":
            links.empty(row)
            plain[row].clear()
        elif step == "add" and place == NO_PLACE:
            said = heartbeats.take(ProfileExchange(False, profile(peer)))
            links.add(row, peer, handles.take(profile(peer)), float(peer), said)
            plain[row].append(peer)
        elif step == "remove" and place != NO_PLACE:
            links.remove(row, place)
            plain[row].remove(peer)
        elif step == "take out" and place != NO_PLACE:
            heartbeats.release(links.said[place])
            links.take_out(row, place)
            plain[row].remove(peer)
        for each in range(ROWS):
            found = links.links_of(each)
            assert [link.peer for link in found] == plain[each]
            assert all(link.said is not None and link.said.profile is not None for link in found)
            assert [link.said.profile.peer for link in found if link.said and link.said.profile] == plain[
                each
            ]
    assert heartbeats.held() == sum(len(row) for row in plain)


@given(st.lists(st.sets(st.integers(0, 9) | st.integers(0, 9000), max_size=8), max_size=8), st.integers(0, 9))
def test_the_interested_are_those_whose_profiles_list_the_topic(
    interests: list[set[int]], topic: int
) -> None:
    handles = ProfileHandles()
    links = Links(handles, Heartbeats("", PeerRows(), handles), "table")
    links.empty(0)
    for peer, topics in enumerate(interests):
        known = make_profile(peer, 0, 1, 1000 + peer, dict.fromkeys(topics, 1.0))
        links.add(0, peer, handles.take(known), 1.0, NOTHING_SAID)
    interested = {99}
    links.add_interested(0, topic, interested)
    assert interested == {99, *(peer for peer, topics in enumerate(interests) if topic in topics)}


def test_what_a_peer_says_is_held_once_however_often_it_is_said() -> None:
    handles = ProfileHandles()
    heartbeats = Heartbeats("", PeerRows(), handles)
    links = Links(handles, heartbeats, "table")
    links.empty(0)
    links.add(0, 5, handles.take(profile(5)), 1.0, NOTHING_SAID)
    said = heartbeats.take(ProfileExchange(False, profile(5)))
    for _ in range(3):
        links.say(0, said)
    heartbeats.release(said)
    assert heartbeats.held() == 1
    links.say(0, NOTHING_SAID)
    assert heartbeats.held() == 0


class Listener(HeartbeatListener):
    def hear(self, sender: int, heartbeat: int, now: float) -> None:
        raise AssertionError("no heartbeat is sent")


@from_source
def test_a_peer_that_comes_back_does_not_keep_the_heartbeats_of_its_former_life() -> None:
    rows, handles = PeerRows(), ProfileHandles()
    heartbeats = Heartbeats("", rows, handles)
    for _ in range(5):
        told = profile(1)
        heartbeats.join(rows.row(1), Listener())
        heartbeats.own(rows.row(1), True, told, None)
        heartbeats.own(rows.row(1), False, told, None)
    assert heartbeats.held() == 2
    heartbeats.leave(1)
    assert heartbeats.held() == 0
