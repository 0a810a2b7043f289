"""The invariants of GossipSub, Kademlia, routing by filters and cliques: each tells of a break that is
planted in a sound state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from kademlia_world import KademliaWorld
from kyra_example import DOMAIN
from peers_by_hand import NOW, Peers

from emulator.contract.invariants import Broken
from emulator.contract.protocol import RangeInterest
from emulator.contract.registry import SYSTEMS
from emulator.protocols.overlays.cliques import view_invariant as cliques
from emulator.protocols.overlays.kademlia import subtree_invariant as subtrees
from emulator.protocols.pubsub.content import table_invariant as tables
from emulator.protocols.pubsub.gossipsub import mesh_invariant as meshes
from emulator.protocols.pubsub.siena.parameters import SienaParameters
from emulator.protocols.pubsub.siena.system import Siena
from emulator.testing.fake_environment import Lockstep


def test_the_systems_declare_them() -> None:
    declared = {name: {each.name for each in system.invariants} for name, system in SYSTEMS.items()}
    assert "mesh_links_have_two_ends" in declared["gossipsub"] & declared["gossipsub-broadcast"]
    assert "subtrees_are_known" in declared["kademlia"] & declared["scribe-kademlia"]
    assert declared["siena"] == {"tables_cover_what_is_wanted"}
    assert declared["kyra"] == declared["siena"] | {"mates_have_each_other", "cliques_forget_the_dead"}


def gossipsub(
    mesh: Mapping[int, Sequence[int]],
    connected: Mapping[int, Sequence[int]] | None = None,
    changed: Mapping[int, float] | None = None,
) -> Broken | None:
    """Judge peers by their mesh of topic 4, whom they are connected to (each other, unless it is given), and
    the seconds since the mesh changed last (60)."""
    return meshes.broken(
        Peers(
            (
                peer,
                SimpleNamespace(
                    meshes=SimpleNamespace(
                        members={4: dict.fromkeys(members)},
                        changed_at={4: NOW - (changed or {}).get(peer, 60.0)},
                    ),
                    connections=SimpleNamespace(peers=dict.fromkeys((connected or {}).get(peer, mesh))),
                ),
            )
            for peer, members in mesh.items()
        )
    )


def test_a_link_of_a_mesh_that_has_one_end_is_told_once_no_word_of_it_is_on_its_way() -> None:
    assert gossipsub({1: [2, 3], 2: [1], 3: [1]}) is None
    told = Broken([1], "1 links of meshes have one end, such as that of topic 4 from 1 to 3")
    one_end = {1: [2, 3], 2: [1], 3: []}
    assert gossipsub(one_end) == told
    for changed in ({1: 1.9}, {3: 1.9}):
        assert gossipsub(one_end, changed=changed) is None
    assert gossipsub(one_end, changed={1: 2.0, 3: 2.0}) == told
    assert gossipsub(one_end, connected={3: [2]}) is None, "3 came back, and 1 has not noticed yet"
    assert gossipsub({1: [9]}) is None, "9 is down"


def kademlia(world: KademliaWorld, started: float = NOW - 10.0) -> Broken | None:
    for node in world.peers.values():
        node.started_at = started
    return subtrees.broken(Peers(world.peers.items()))


def test_a_peer_of_kademlia_that_knows_nobody_in_a_subtree_is_told() -> None:
    world = KademliaWorld([0b000001, 0b000110, 0b010000, 0b110000, 0b111000], bits=6)
    assert kademlia(world) is None
    table = world.peers[0].known.table
    for known in [known for known in table if known.contact.identifier >> 5]:
        table.remove(known)
    told = Broken([0], "1 peers know nobody in a subtree in which somebody is")
    assert kademlia(world) == told
    assert kademlia(world, started=NOW - 9.9) is None, "they have just joined"


def siena(parents: Sequence[int], wanted: Mapping[int, tuple[float, float]]) -> Lockstep:
    parameters = SienaParameters(attributes=DOMAIN, parents=list(parents))
    peers = Lockstep(lambda environment: Siena(environment, parameters), range(len(parents)))
    (name,) = DOMAIN
    for peer, (low, high) in wanted.items():
        protocol = peers.protocols[peer]
        assert isinstance(protocol, Siena)
        protocol.subscribe(RangeInterest({name: (low, high)}))
    peers.start()
    for _ in range(12):
        peers.round()
    return peers


def test_a_table_that_lacks_what_is_wanted_behind_a_link_is_told() -> None:
    peers = siena([-1, 0, 1], {0: (0.0, 1.0), 2: (2.0, 5.0)})
    state = Peers(peers.protocols.items())
    assert tables.broken(state) is None
    root, middle = (peers.protocols[peer] for peer in (0, 1))
    assert isinstance(root, Siena) and isinstance(middle, Siena)
    (box,) = root.tree.routes.table.boxes_of(1)
    root.tree.routes.table.discard(box, 1)
    text = "1 tables lack what is wanted behind a link, such as that of 0 for 1"
    assert tables.broken(state) == Broken([1], text)
    middle.tree.routes.add_own(0, box)
    assert not middle.tree.settled and tables.broken(state) is None, "2 has not acknowledged it yet"


def clique(views: Mapping[int, Sequence[int]], changed: float = 99.0, **given: Any) -> Peers:
    """Return servers by the members of their views, which changed so many seconds ago."""
    return Peers(
        (
            (
                peer,
                SimpleNamespace(
                    view=SimpleNamespace(members=members),
                    mates=[mate for mate in members if mate != peer],
                    changed_at=NOW - changed,
                    parameters=SimpleNamespace(ping=1.0),
                ),
            )
            for peer, members in views.items()
        ),
        **given,
    )


def test_a_mate_that_has_another_clique_is_told_after_six_rounds_of_pings() -> None:
    sound, parted = {1: [1, 2], 2: [1, 2]}, {1: [1, 2], 2: [2]}
    assert cliques.symmetric(clique(sound)) is None
    told = Broken([1], "1 mates do not have the server in their clique, such as 2 of 1")
    assert cliques.symmetric(clique(parted, changed=16.0)) == told
    assert cliques.symmetric(clique(parted, changed=15.9)) is None


def test_a_clique_may_have_a_dead_member_for_six_rounds_of_pings() -> None:
    views = {1: [1, 2, 9], 2: [1, 2, 9]}
    assert cliques.dead(clique(views, down={9: 22.0})) is None
    told = Broken([1, 2], "2 views hold a peer that has been down for up to 23 s")
    assert cliques.dead(clique(views, down={9: 22.6})) == told
