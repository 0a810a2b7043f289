"""The invariants of single systems: each holds for sound states, and tells of a break that is planted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from peers_by_hand import NOW, Peers

from emulator.contract.identifiers import ClockwiseRing
from emulator.contract.invariants import Broken
from emulator.contract.registry import MEMBERSHIPS, OVERLAYS, OWN_PARTS, SYSTEMS
from emulator.contract.system import MembershipKind, OverlayKind
from emulator.protocols.broadcast import tree_invariant as eager_trees
from emulator.protocols.gossip import cyclon_invariant
from emulator.protocols.gossip.hyparview import view_invariant as active_views
from emulator.protocols.membership import view_invariant as members
from emulator.protocols.membership.parameters import SwimParameters
from emulator.protocols.overlays.oscar import ring_invariant as oscar_ring
from emulator.protocols.overlays.small_world import ring_invariant as small_world_ring
from emulator.protocols.pubsub.magnet import tree_invariant as magnet_trees
from trellis.v1.overlay import Contact

NOBODY = -1


def test_the_systems_declare_them() -> None:
    declared = {name: {each.name for each in system.invariants} for name, system in SYSTEMS.items()}
    assert declared["oscar"] == {"successors_form_one_ring"}
    assert declared["scribe-oscar"] == {"successors_form_one_ring", "trees_have_no_loop"}
    assert declared["magnet-oscar"] == {"successors_form_one_ring", "trees_have_no_loop"}
    assert declared["magnet-chord"] == declared["magnet-oscar"] | {"ring_is_one_cycle"}
    assert declared["small-world"] == {"views_forget_the_dead", "neighbours_form_one_ring"}
    hyparview = {"active_views_are_symmetric", "active_views_forget_the_dead"}
    assert declared["plumtree-hyparview"] == hyparview | {"eager_links_form_a_tree"}
    assert declared["flood-hyparview"] == hyparview
    assert declared["push-gossip-cyclon"] == declared["swim"] == {"views_forget_the_dead"}
    for name, system in SYSTEMS.items():
        assert len(system.invariants) == len(declared[name]), f"{name} has two of one name"


def test_systems_declare_the_invariants_of_what_they_are_over() -> None:
    parts: dict[str, OverlayKind | MembershipKind] = {**OVERLAYS, **MEMBERSHIPS}
    fixed = {"pastry": ["li"], "small-world": ["vitis", "rvr"]}
    for part, kind in parts.items():
        over = [name for name in SYSTEMS if name == part or name.endswith(f"-{part}")]
        assert len(over) >= 5
        for name in (*over, *fixed.get(part, ())):
            missing = set(kind.invariants) - set(SYSTEMS[name].invariants)
            assert not missing, f"{name} does not declare those of {part}"
    promising = {part for part in OWN_PARTS if part in parts and parts[part].invariants}
    own = {part for part in OWN_PARTS if part in parts}
    assert own == promising


Ring = Mapping[int, tuple[Sequence[int], int | None]]
"""The successors and the predecessor of each peer."""


def on_ring(ring: Ring, moved: Sequence[int] = (), name: str = "") -> list[tuple[int, Any]]:
    """Return peers whose identifiers are 16 times their numbers, on a ring of 256. Those that have `moved`
    stand one place further than others know."""

    def contact(peer: int) -> Contact:
        return Contact(peer, 16 * peer)

    return [
        (
            peer,
            SimpleNamespace(
                environment=SimpleNamespace(name=name),
                ready=True,
                identifier=16 * peer + (peer in moved),
                space=ClockwiseRing(8),
                ring=SimpleNamespace(
                    successors=[contact(each) for each in after],
                    predecessor=None if before is None else contact(before),
                ),
            ),
        )
        for peer, (after, before) in ring.items()
    ]


SOUND: Ring = {1: ([2, 3], 3), 2: ([3, 1], 1), 3: ([1, 2], 2)}
TWO: Ring = {1: ([2], 2), 2: ([1], 1), 3: ([4], 4), 4: ([3], 3)}


def oscar(ring: Ring, moved: Sequence[int] = ()) -> Broken | None:
    return oscar_ring.broken(Peers(on_ring(ring, moved)))


def test_oscars_ring_may_have_appendages_and_peers_that_do_not_know_their_predecessor_yet() -> None:
    assert oscar(SOUND) is None
    assert oscar({}) is None and oscar({1: ([], None)}) is None
    joined = {1: ([3], 3), 2: ([3], None), 3: ([1], 2)}
    assert oscar(joined) is None
    assert oscar({1: ([9, 2], 3), 2: ([3], 1), 3: ([1], 9)}) is None, "9 is down"


@pytest.mark.parametrize(
    "ring, peers, text",
    [
        (TWO, [1, 3], "there are 2 rings, of 2 and 2 peers"),
        ({1: ([2], 2), 2: ([1], 1), 3: ([], None)}, [1, 3], "there are 2 rings, of 2 and 1 peers"),
        ({1: ([3], 2), 3: ([2], 1), 2: ([1], 3)}, [1, 3, 2], "the ring goes round more than once"),
        ({1: ([2], 3), 2: ([9], 1), 3: ([1], 2)}, [2], "none of its successors is up"),
        (
            {1: ([2], 2), 2: ([3], 1), 3: ([4], 4), 4: ([1], 3)},
            [1, 3],
            "by predecessors, there are 2 rings, of 2 and 2 peers",
        ),
    ],
)
def test_rings_that_oscar_does_not_promise_are_told(ring: Ring, peers: list[int], text: str) -> None:
    found = oscar(ring)
    assert found is not None and found.peers == peers and found.text.startswith(text)


def test_a_peer_of_oscar_that_has_moved_is_no_neighbour_at_its_former_place() -> None:
    ring: Ring = {1: ([2, 3], 3), 2: ([3], 1), 3: ([1], 2)}
    assert oscar(ring, moved=[2]) is None
    assert oscar({1: ([2], 3), 2: ([3], 1), 3: ([1], 2)}, moved=[2]) == Broken(
        [1], "none of its successors is up"
    )


def test_each_ring_of_magnet_counts_by_itself() -> None:
    assert oscar_ring.broken(Peers(on_ring(SOUND, name="control") + on_ring(SOUND, name="interest"))) is None
    assert (
        oscar_ring.broken(Peers(on_ring(SOUND, name="control") + on_ring(TWO, name="interest"))) is not None
    )


def small_world(tables: Mapping[int, Sequence[int]]) -> Broken | None:
    """Judge peers whose identifiers are 2 ** 100 times their numbers, by their routing tables."""
    return small_world_ring.broken(
        Peers(
            (
                peer,
                SimpleNamespace(
                    ready=True,
                    identifier=peer << 100,
                    table=lambda table=table: [SimpleNamespace(peer=each) for each in table],
                ),
            )
            for peer, table in tables.items()
        )
    )


def test_routing_tables_with_all_ring_neighbours_are_sound() -> None:
    assert small_world({}) is None and small_world({1: []}) is None
    assert small_world({1: [2, 4, 3], 2: [1, 3], 3: [4, 2], 4: [3, 1]}) is None
    assert small_world({1: [9, 3, 2], 2: [1, 3], 3: [1, 2]}) is None, "9 is down"
    assert small_world({1: [3], 2: [3, 1], 3: [1]}) is None, "nobody knows 2 yet"


@pytest.mark.parametrize(
    "tables, peers, text",
    [
        ({1: [2], 2: [1], 3: [4], 4: [3]}, [1, 3], "there are 2 rings, of 2 and 2 peers"),
        ({1: [9], 2: [1]}, [1], "none of its neighbours is up"),
        ({1: [3], 2: [5], 3: [5], 4: [1], 5: [2, 4]}, [], "goes round more than once"),
    ],
)
def test_routing_tables_that_form_no_ring_are_told(
    tables: Mapping[int, Sequence[int]], peers: list[int], text: str
) -> None:
    found = small_world(tables)
    assert found is not None and text in found.text and (not peers or found.peers == peers)


def plumtree(
    eager: Mapping[int, Sequence[int]],
    lazy: Mapping[int, Sequence[int]] | None = None,
    young: Mapping[int, tuple[float, int]] | None = None,
) -> Broken | None:
    """Judge peers by their eager and lazy links; those that are `young` have changed links so many seconds
    ago, and pushed so many messages since."""
    parts = []
    for peer, links in eager.items():
        ago, pushed = (young or {}).get(peer, (60.0, 50))
        parts.append(
            (
                peer,
                SimpleNamespace(
                    environment=SimpleNamespace(now=NOW + 7),
                    changed_at=NOW + 7 - ago,
                    pushed_since=pushed,
                    eager=dict.fromkeys(links),
                    links=dict.fromkeys([*links, *(lazy or {}).get(peer, ())]),
                ),
            )
        )
    return eager_trees.broken(Peers(parts))


TREE = {1: [2, 3], 2: [1, 4], 3: [1], 4: [2], 5: [6], 6: [5]}
LOOP = {1: [2, 4], 2: [1, 3, 5], 3: [2, 4], 4: [3, 1], 5: [2]}


def test_trees_of_eager_links_are_sound_and_may_be_several() -> None:
    assert plumtree({}) is None and plumtree(TREE) is None


def test_a_loop_of_eager_links_is_told_once_messages_have_passed_it_for_long() -> None:
    found = plumtree(LOOP)
    assert found is not None and found.text == "4 peers have eager links in a loop"
    assert len(found.peers) == 4 and {*found.peers} == {1, 2, 3, 4}
    assert all(b in LOOP[a] for a, b in zip(found.peers, [*found.peers[1:], found.peers[0]], strict=True))
    assert plumtree(LOOP, young={3: (60.0, 19)}) is None
    assert plumtree(LOOP, young={3: (4.9, 50)}) is None
    assert plumtree(LOOP, young={3: (5.0, 20)}) is not None


def test_a_link_that_is_eager_at_one_end_alone_is_told() -> None:
    one_sided = TREE | {3: []}
    told = Broken([1, 3], "the link from the first to the second is eager at the first alone")
    assert plumtree(one_sided, {3: [1]}) == told
    assert plumtree(one_sided, {3: [1]}, {3: (1.0, 50)}) is None
    assert plumtree(one_sided) is None, "1 is no neighbour of 3"


def magnet(trees: Mapping[int, Mapping[int, tuple[int, Sequence[int]]]]) -> Broken | None:
    """Judge peers by their parent and their children in the tree of each topic."""
    return magnet_trees.broken(
        Peers(
            (
                peer,
                SimpleNamespace(
                    trees=SimpleNamespace(
                        branches={
                            topic: SimpleNamespace(parent=parent, children=dict.fromkeys(children, 0))
                            for topic, (parent, children) in of.items()
                        }
                    )
                ),
            )
            for peer, of in trees.items()
        )
    )


def test_a_loop_of_magnets_parents_is_told_if_they_know_their_children() -> None:
    assert magnet({1: {7: (NOBODY, [2])}, 2: {7: (1, [3])}, 3: {7: (2, [])}}) is None
    loop = {1: {7: (3, [2])}, 2: {7: (1, [3]), 8: (NOBODY, [])}, 3: {7: (2, [1])}}
    found = magnet(loop)
    assert found is not None and {*found.peers} == {1, 2, 3}
    assert found.text == "the tree of topic 7 has a loop"
    assert magnet(loop | {3: {7: (2, [])}}) is None, "3 does not know that 1 has it as its parent"


def cyclon(down: Mapping[int, float], size: int = 2) -> Broken | None:
    """Judge the views of three peers with shuffles every 10 s."""
    views = {1: [2, 8], 2: [9], 3: [1]}
    return cyclon_invariant.broken(
        Peers(
            (
                (peer, SimpleNamespace(size=size, period=10.0, neighbours=lambda view=view: {"view": view}))
                for peer, view in views.items()
            ),
            down,
        )
    )


def test_a_view_of_cyclon_may_hold_the_dead_for_two_views_of_shuffles() -> None:
    assert cyclon({8: 40.0, 9: 39.0}) is None
    assert cyclon({8: 41.0}) == Broken([1], "1 views hold a peer that has been down for up to 41 s")
    assert cyclon({8: 99.0}, size=3) is None, "its places are more than the peers"


def hyparview(
    active: Mapping[int, Mapping[int, float]], down: Mapping[int, float] | None = None, keepalive: float = 5.0
) -> Peers:
    """Return peers by what they have in their active views, and how many seconds ago they heard of it. Their
    own clocks are 7 s fast."""
    return Peers(
        (
            (
                peer,
                SimpleNamespace(
                    environment=SimpleNamespace(now=NOW + 7),
                    keepalive=keepalive,
                    silence=3 * keepalive,
                    active={other: NOW + 7 - ago for other, ago in view.items()},
                ),
            )
            for peer, view in active.items()
        ),
        down,
    )


def test_a_neighbour_of_hyparview_that_is_none_the_other_way_round_is_told_once_it_has_been_silent() -> None:
    assert active_views.one_sided(hyparview({1: {2: 99.0}, 2: {1: 99.0}})) is None
    assert active_views.one_sided(hyparview({1: {2: 20.0}, 2: {}})) is None
    found = active_views.one_sided(hyparview({1: {2: 20.1}, 2: {}}))
    assert found is not None and found.peers == [1, 2]
    assert active_views.one_sided(hyparview({1: {2: 99.0}, 2: {}}, keepalive=0.0)) is None
    assert active_views.one_sided(hyparview({1: {9: 99.0}})) is None, "9 is down"


def test_an_active_view_of_hyparview_may_hold_the_dead_until_their_silence_is_noticed() -> None:
    assert active_views.kept_dead(hyparview({1: {9: 20.0}}, {9: 25.0})) is None
    assert active_views.kept_dead(hyparview({1: {9: 20.0}}, {9: 25.1})) == Broken(
        [1], "1 views hold a peer that has been down for up to 25 s"
    )
    assert active_views.kept_dead(hyparview({1: {9: 99.0}}, {9: 99.0}, keepalive=0.0)) is None


def swim(down: Mapping[int, float], **given: Any) -> Broken | None:
    """Judge ten members, of which the first takes member 30 for up as well."""
    parameters = SwimParameters.model_validate(given)
    return members.broken(
        Peers(
            (
                (
                    member,
                    SimpleNamespace(
                        parameters=parameters,
                        members_up=lambda member=member: [
                            *(each for each in range(10) if each != member),
                            *([30] if member == 0 else []),
                        ],
                    ),
                )
                for member in range(10)
            ),
            down,
        )
    )


def test_the_time_in_which_swim_notices_a_crash_is_that_of_the_paper() -> None:
    assert members.noticed_within(SwimParameters(), 10) == 19 + 5 + 1
    lifeguard = SwimParameters.model_validate({"preset": "lifeguard", "period": "2 s"})
    assert members.noticed_within(lifeguard, 100) == 2 * (199 * 9 + 5 * 2 * 6 + 1)


def test_a_member_of_swim_may_take_the_dead_for_up_for_twice_that_time() -> None:
    longest = 2 * members.noticed_within(SwimParameters(), 11)
    assert swim({30: longest}) is None
    assert swim({30: longest + 1}) == Broken(
        [0], f"1 views hold a peer that has been down for up to {longest + 1:.0f} s"
    )
    assert swim({30: 999.0}, listed_at=f"{NOW - longest} s") is None, "members have not probed for long"
