"""The candidates of a selection, and the links of those that are selected, are what dictionaries give."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from emulator.compact.peer_rows import PeerRows
from emulator.protocols.gossip.profile_handles import ProfileHandles
from emulator.protocols.gossip.profiles import make_profile
from emulator.protocols.gossip.sightings import Sightings
from emulator.protocols.overlays.small_world.candidates import Candidates
from emulator.protocols.overlays.small_world.heartbeats import NOTHING_SAID, Heartbeats
from emulator.protocols.overlays.small_world.links import Links
from emulator.protocols.overlays.small_world.replacement import renew_links, replace_links
from trellis.v1.overlay import Profile, ProfileExchange

OWN = 0
OLDEST = 3.0
words = st.lists(
    st.tuples(st.integers(0, 15), st.integers(0, 9)), max_size=12, unique_by=lambda word: word[0]
)
"""Peers, and when they were heard from (s)."""


def profile(peer: int) -> Profile:
    return make_profile(peer, 0, 1, 1000 + peer, {})


def sightings(handles: ProfileHandles, told: list[tuple[int, int]]) -> Sightings:
    made = Sightings()
    for peer, heard in told:
        made.add(peer, handles.take(profile(peer)), float(heard))
    return made


@given(st.lists(words, max_size=4), st.dictionaries(st.integers(0, 15), st.floats(0, 9)))
def test_candidates_are_those_last_heard_from_that_did_not_fall_silent_since(
    told: list[list[tuple[int, int]]], silent: dict[int, float]
) -> None:
    handles, candidates = ProfileHandles(), Candidates()
    plain: dict[int, float] = {}
    for _ in range(2):
        candidates.begin(OWN, OLDEST, silent)
        plain.clear()
        for each in told:
            candidates.add(sightings(handles, each))
            for peer, heard in each:
                if peer != OWN and heard >= OLDEST and heard > silent.get(peer, -1.0):
                    plain[peer] = max(plain.get(peer, 0.0), heard)
    found = candidates.sightings
    assert dict(zip(found.peers[: found.count], found.heard[: found.count], strict=True)) == plain
    assert list(found.peers[: found.count]) == list(plain)


peers = st.lists(st.integers(1, 20), max_size=8, unique=True)


@given(peers, peers, peers, st.sets(st.integers(1, 20)))
def test_a_replaced_table_has_the_selected_with_their_links_and_former_ones_fade(
    table: list[int], incoming: list[int], selected: list[int], spoke: set[int]
) -> None:
    handles, rows = ProfileHandles(), PeerRows()
    heartbeats = Heartbeats("", rows, handles)
    links = [Links(handles, heartbeats, direction) for direction in ("table", "incoming")]
    others = [peer for peer in incoming if peer not in table]
    for store, known in zip(links, (table, others), strict=True):
        store.empty(0)
        for peer in known:
            said = heartbeats.take(ProfileExchange(False, profile(peer))) if peer in spoke else NOTHING_SAID
            store.add(0, peer, handles.take(profile(peer)), 1.0, said)
    candidates = sightings(handles, [(peer, peer % 3) for peer in selected])
    chosen = list(range(len(selected)))
    same = renew_links(links[0], 0, candidates, chosen)
    assert same == (set(selected) == set(table))
    if same:
        return
    left, joined = replace_links(links[0], links[1], 0, candidates, chosen)
    assert [contact.peer for contact in left] == [peer for peer in table if peer not in selected]
    assert [contact.peer for contact in joined] == [peer for peer in selected if peer not in table]
    assert [link.peer for link in links[0].links_of(0)] == selected
    known = {*table, *others}
    for link, place in zip(links[0].links_of(0), range(links[0].begin(0), links[0].end(0)), strict=True):
        assert (link.said is not None) == (link.peer in known & spoke)
        assert links[0].heard[place] == max(link.peer % 3, 1.0 if link.peer in known else 0.0)
    fading = [peer for peer in table if peer not in selected and peer in spoke]
    staying = [peer for peer in others if peer not in selected]
    assert [link.peer for link in links[1].links_of(0)] == [*staying, *fading]
    held = len([peer for peer in [*selected, *staying, *fading] if peer in known & spoke])
    assert heartbeats.held() == held
