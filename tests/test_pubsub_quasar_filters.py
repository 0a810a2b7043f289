"""Quasar's attenuated filters: bit by bit, as versions and deltas, and as soft state."""

from __future__ import annotations

from itertools import combinations

import pytest
from fake_environment import FakeEnvironment
from hypothesis import given, settings
from hypothesis import strategies as st
from librt.vecs import vec
from mypy_extensions import i64
from pydantic import ValidationError
from quasar_world import PARAMETERS, Graph, QuasarWorld

from emulator.contract.protocol import TopicInterest
from emulator.protocols.pubsub.quasar.bloom import difference, flipped, hashing_of
from trellis.v1.quasar import AttenuatedFilter, FilterRequest, GradientUpdate

POSITIONS = {
    "topic 0": [0x228, 0xE29, 0x99A, 0x57D],  # SHA-1: 228e2999a57d...
    "peer 0": [0xB49, 0x652, 0xB87, 0xC78],  # b49652b87c78...
    "peer 1": [0x1D4, 0xDF5, 0x2B4, 0xCA4],  # 1d4df52b4ca4...
    "peer 2": [0x289, 0xB63, 0x383, 0xFA1],  # 289b63383fa1...
}
PATH: Graph = {0: [1], 1: [0, 2], 2: [1]}


def reference(graph: Graph, topics: dict[int, set[int]], depth: int = 3) -> dict[int, list[bytes]]:
    """Return the levels at each peer by what a level is: what can be reached over so many links, back and
    forth."""
    hashing = hashing_of(512, 4)
    at = {peer: {peer} for peer in graph}
    found: dict[int, list[bytes]] = {peer: [] for peer in graph}
    for _ in range(depth):
        for peer, reached in at.items():
            level = bytearray(512)
            for other in reached:
                for positions in [hashing.of_peer(other), *map(hashing.of_group, topics.get(other, ()))]:
                    for position in positions:
                        level[position // 8] |= 1 << position % 8
            found[peer].append(bytes(level))
        at = {peer: {n for other in graph[peer] for n in at[other]} for peer in graph}
    return found


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    peers = draw(st.integers(2, 8))
    links = draw(st.sets(st.sampled_from(list(combinations(range(peers), 2))), min_size=1))
    return {n: sorted({a + b - n for a, b in links if n in (a, b)}) for n in range(peers)}


def test_positions_are_the_first_48_bits_of_the_sha1_of_a_name() -> None:
    hashing = hashing_of(512, 4)
    assert hashing.of_group(0) == POSITIONS["topic 0"]
    assert hashing.of_peer(1) == POSITIONS["peer 1"]
    assert len(hashing_of(512, 7).of_group(0)) == 7
    assert hashing_of(512, 7).of_group(0)[:4] == hashing.of_group(0)


def test_on_a_path_level_two_of_an_end_has_the_other_end_and_itself() -> None:
    world = QuasarWorld(PATH, {2: [0]})
    world.rounds(4)
    group, ends = POSITIONS["topic 0"], [*POSITIONS["peer 0"], *POSITIONS["peer 2"]]
    assert set_bits(world.levels(0)[0]) == set(POSITIONS["peer 0"])
    assert set_bits(world.levels(0)[1]) == set(POSITIONS["peer 1"])
    assert set_bits(world.levels(0)[2]) == {*ends, *group}


def set_bits(level: bytes) -> set[int]:
    return {n for n in range(8 * len(level)) if level[n // 8] >> n % 8 & 1}


class Changing:
    """A world whose peers, links and subscriptions change, beside what they are to be."""

    def __init__(self, graph: Graph, topics: dict[int, set[int]]) -> None:
        self.links = {frozenset((peer, n)) for peer in graph for n in graph[peer]}
        self.topics = {peer: topics.get(peer, set()) for peer in graph}
        self.world = QuasarWorld(graph, {peer: sorted(those) for peer, those in self.topics.items()})

    def change(self, data: st.DataObject) -> None:
        """Make one change of any kind that is possible."""
        peers = sorted(self.topics)
        links = sorted(sorted(link) for link in self.links)
        lacking = [pair for pair in combinations(peers, 2) if frozenset(pair) not in self.links]
        kinds = ["subscribe", *(["unsubscribe"] if any(self.topics.values()) else [])]
        kinds += [*(["add"] if lacking else []), *(["remove"] if links else [])]
        kinds += ["lose"] if len(peers) > 2 else []
        match data.draw(st.sampled_from(kinds)):
            case "subscribe":
                peer, topic = data.draw(st.sampled_from(peers)), data.draw(st.integers(6, 9))
                self.world.quasars[peer].subscribe(TopicInterest(topic))
                self.topics[peer] = self.topics[peer] | {topic}
            case "unsubscribe":
                peer = data.draw(st.sampled_from([peer for peer in peers if self.topics[peer]]))
                topic = data.draw(st.sampled_from(sorted(self.topics[peer])))
                self.world.quasars[peer].unsubscribe(TopicInterest(topic))
                self.topics[peer] = self.topics[peer] - {topic}
            case "add":
                one, other = data.draw(st.sampled_from(lacking))
                self.world.graphs[one].add(other)
                self.world.graphs[other].add(one)
                self.links.add(frozenset((one, other)))
            case "remove":
                one, other = data.draw(st.sampled_from(links))
                self.world.graphs[one].remove(other)
                self.world.graphs[other].remove(one)
                self.links.remove(frozenset((one, other)))
            case "lose":
                self.lose(data.draw(st.sampled_from(peers)))

    def lose(self, lost: int) -> None:
        """A peer crashes, and whoever has a link to it sees a send fail."""
        del self.topics[lost]
        self.world.lockstep.crash([lost])
        for link in [link for link in self.links if lost in link]:
            (peer,) = link - {lost}
            self.world.graphs[peer].links.remove(lost)
            self.world.environment(peer).fail(lost)
            self.links.remove(link)

    def is_right(self) -> bool:
        graph = {
            peer: sorted(n for link in self.links if peer in link for n in link - {peer})
            for peer in self.topics
        }
        found = {peer: self.world.levels(peer) for peer in self.topics}
        return found == reference(graph, self.topics)


@settings(max_examples=60, deadline=None)
@given(
    graphs(),
    st.dictionaries(st.integers(0, 7), st.sets(st.integers(0, 5)), max_size=8),
    st.lists(st.integers(1, 3), min_size=1, max_size=3),
    st.data(),
)
def test_filters_are_right_k_rounds_after_any_changes(
    graph: Graph, topics: dict[int, set[int]], together: list[int], data: st.DataObject
) -> None:
    """Subscriptions and links that come or go, and peers that are lost, up to three at once."""
    changing = Changing(graph, topics)
    changing.world.rounds(4)
    assert changing.is_right()
    for count in together:
        for _ in range(count):
            changing.change(data)
        changing.world.rounds(3)
        assert changing.is_right()
        changing.world.rounds(1)
        assert changing.is_right(), "it stays so"


def test_a_peer_keeps_1536_bytes_for_each_neighbour_and_tells_how_full_its_levels_are() -> None:
    world = QuasarWorld({0: [1, 2, 3, 4], 1: [0], 2: [0], 3: [0], 4: [0, 5], 5: [4]}, {3: [0]})
    world.rounds(4)
    gauges = world.quasars[0].gauges()
    assert (gauges["filter_links"], gauges["filter_bytes"]) == (4, 4 * 1536)
    assert world.quasars[5].gauges()["filter_bytes"] == 1536
    hashing = hashing_of(512, 4)

    def bits_of(*peers: int) -> int:
        own = {bit for peer in peers for bit in hashing.of_peer(peer)}
        return len(own | (set(hashing.of_group(0)) if 3 in peers else set()))

    levels = [
        [bits_of(1), bits_of(2), bits_of(3), bits_of(4)],
        [bits_of(0), bits_of(0), bits_of(0), bits_of(0, 5)],
        [bits_of(1, 2, 3, 4)] * 4,
    ]
    assert [gauges[f"fill_{n}"] for n in range(3)] == [sum(level) / 4 / 4096 for level in levels]
    small = QuasarWorld(PATH, {}, depth=2, filter_bytes=64)
    small.rounds(4)
    gauges = small.quasars[1].gauges()
    assert gauges["filter_bytes"] == 2 * 2 * 64
    assert "fill_2" not in gauges
    new = QuasarWorld({0: [], 1: []}, {})
    new.graphs[0].add(1)
    gauges = new.quasars[0].gauges()
    assert (gauges["filter_links"], gauges["filter_bytes"]) == (1, 0), "its filter has not come yet"


def test_peers_of_another_trial_share_no_filters() -> None:
    one, other = QuasarWorld(PATH, {0: [0]}), QuasarWorld(PATH, {0: [0]})
    for world in (one, other):
        world.rounds(4)
    assert one.levels(0) == other.levels(0)
    assert one.quasars[0]._gradients.own is not other.quasars[0]._gradients.own


@given(st.sets(st.integers(0, 12287), max_size=60), st.sets(st.integers(0, 12287), max_size=60))
def test_a_delta_leads_from_one_version_to_the_next(one: set[int], other: set[int]) -> None:
    def made(bits: set[int]) -> AttenuatedFilter:
        whole = sum(1 << bit for bit in bits).to_bytes(1536, "little")
        return AttenuatedFilter([whole[:512], whole[512:1024], whole[1024:]])

    changes = difference(made(one), made(other))
    assert sorted(changes) == sorted(one ^ other)
    assert flipped(made(one), changes).levels == made(other).levels


def test_the_whole_filter_is_sent_once_and_then_only_what_changes() -> None:
    world = QuasarWorld(PATH, {2: [0]})
    world.rounds(5)
    environment = world.environment(1)
    environment.advance(10.0)
    sent = environment.take(GradientUpdate)
    assert [(to, message.filter, len(message.flipped)) for to, message in sent] == [
        (0, None, 0),
        (2, None, 0),
    ]
    assert sent[0][1] is sent[1][1]
    assert sent[0][1].byte_size() <= 4
    world.quasars[1].subscribe(TopicInterest(0))
    environment.advance(10.0)
    sent = environment.take(GradientUpdate)
    assert [message.filter for _, message in sent] == [None, None]
    assert set(sent[0][1].flipped) == set(POSITIONS["topic 0"])
    assert sent[0][1] is sent[1][1]


def test_neighbours_keep_one_object() -> None:
    world = QuasarWorld({0: [1, 2], 1: [0], 2: [0]}, {0: [0]})
    world.rounds(4)
    filters = [world.quasars[peer]._gradients.links[0].filter for peer in (1, 2)]
    assert filters[0] is filters[1] is world.quasars[0]._gradients.own


def test_who_missed_a_delta_asks_for_the_whole_filter() -> None:
    world = QuasarWorld(PATH, {})
    world.rounds(5)
    link = world.quasars[0]._gradients.links[1]
    known = link.version
    environment = world.environment(0)
    environment.outbox.clear()
    environment.hand_over(1, GradientUpdate(0, known + 2, True, None, vec[i64]([i64(5)])))
    assert [to for to, _ in environment.take(FilterRequest)] == [1]
    assert link.version == known
    other = world.environment(1)
    other.hand_over(0, FilterRequest())
    ((to, message),) = other.take(GradientUpdate)
    assert to == 0
    assert message.filter is world.quasars[1]._gradients.own


def test_a_delta_of_bits_that_no_filter_has_is_refused() -> None:
    world = QuasarWorld(PATH, {})
    world.rounds(5)
    link = world.quasars[0]._gradients.links[1]
    before, environment = link.filter, world.environment(0)
    environment.outbox.clear()
    environment.hand_over(1, GradientUpdate(0, link.version + 1, True, None, vec[i64]([i64(8 * 1536)])))
    assert [to for to, _ in environment.take(FilterRequest)] == [1]
    assert link.filter is before


def test_an_update_that_was_overtaken_changes_nothing() -> None:
    world = QuasarWorld(PATH, {})
    world.rounds(5)
    link = world.quasars[0]._gradients.links[1]
    before, known = link.filter, link.version
    empty = AttenuatedFilter([bytes(512)] * 3)
    world.environment(0).hand_over(1, GradientUpdate(0, known - 1, True, empty))
    assert link.filter is before
    world.environment(0).hand_over(1, GradientUpdate(1, 1, True, empty))
    assert link.filter == empty


def test_a_filter_of_another_size_is_refused() -> None:
    world = QuasarWorld(PATH, {})
    world.environment(0).hand_over(1, GradientUpdate(0, 99, True, AttenuatedFilter([bytes(4)] * 3)))
    assert world.quasars[0]._gradients.links[1].filter is None


def test_a_silent_neighbour_counts_no_more_after_the_freshness_time() -> None:
    world = QuasarWorld(PATH, {2: [0]})
    world.rounds(4)
    alone = world.environment(0)
    alone.advance(29.0)
    assert set(POSITIONS["topic 0"]) <= set_bits(world.levels(0)[2])
    alone.advance(20.0)
    assert not any(world.levels(0)[1])
    assert not any(world.levels(0)[2])


def test_a_link_that_one_side_makes_serves_both() -> None:
    world = QuasarWorld({0: [1], 1: []}, {0: [0], 1: [1]})
    world.rounds(3)
    hashing = hashing_of(512, 4)
    assert set(hashing.of_group(0)) <= set_bits(world.levels(1)[1])
    assert set(hashing.of_group(1)) <= set_bits(world.levels(0)[1])
    world.graphs[0].links.clear()
    world.rounds(5)
    assert not world.quasars[0]._gradients.links
    assert not world.quasars[1]._gradients.links


@pytest.mark.parametrize("back", [[], [0]])
def test_a_link_that_is_given_up_is_claimed_no_longer(back: list[int]) -> None:
    world = QuasarWorld({0: [1], 1: back}, {0: [0]}, freshness="1000 s")
    world.rounds(3)
    world.graphs[0].remove(1)
    if back:
        world.graphs[1].remove(0)
    world.lockstep.exchange()
    assert not world.quasars[0]._gradients.links
    assert not world.quasars[1]._gradients.links


def test_a_new_neighbour_is_told_at_once() -> None:
    world = QuasarWorld({0: [], 1: []}, {0: [0]})
    world.rounds(1)
    world.graphs[0].add(1)
    world.lockstep.exchange()
    assert world.quasars[1]._gradients.links[0].filter is world.quasars[0]._gradients.own
    assert world.quasars[0]._gradients.links[1].filter is world.quasars[1]._gradients.own


@pytest.mark.parametrize(
    ("given", "told"),
    [({"filter_bytes": 500}, "power of two"), ({"hashes": 11}, "hashes"), ({"freshness": 5}, "freshness")],
)
def test_parameters_that_cannot_be(given: dict[str, int], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        PARAMETERS.model_validate(given)


def test_a_peer_that_is_gone_is_forgotten() -> None:
    world = QuasarWorld(PATH, {})
    world.rounds(2)
    environment: FakeEnvironment = world.environment(1)
    environment.fail(0)
    assert list(world.quasars[1]._gradients.links) == [2]


def test_a_claim_that_is_not_renewed_ends_after_the_freshness_time() -> None:
    world = QuasarWorld({0: [1], 1: []}, {0: [0]})
    world.rounds(3)
    alone, gradients = world.environment(1), world.quasars[1]._gradients
    alone.advance(29.0)
    assert list(gradients.links) == [0]
    alone.advance(20.0)
    assert not gradients.links
