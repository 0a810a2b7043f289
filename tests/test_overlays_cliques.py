"""Cliques of servers: joining, leading and failures."""

from __future__ import annotations

from itertools import combinations

import pytest
from pydantic import ValidationError

from emulator.protocols.overlays.cliques.overlay import Cliques
from emulator.protocols.overlays.cliques.parameters import CliqueParameters
from emulator.protocols.overlays.cliques.view import WHOLE, View, even_ends, pair
from emulator.testing.fake_environment import FakeEnvironment, Lockstep
from trellis.v1.cliques import (
    CliqueConsent,
    CliqueDeparture,
    CliqueJoin,
    CliquePing,
    CliquePong,
    CliqueProposal,
    CliqueRecord,
    CliqueRelease,
    CliqueReport,
    CliqueView,
    DirectoryAnswer,
    DirectoryDigest,
)


def servers(count: int, **parameters: object) -> Lockstep:
    asked = CliqueParameters.model_validate({"size": 4, "minimum": 1, "diameter": "5 s"} | parameters)
    return Lockstep(lambda environment: Cliques(environment, asked), range(count))


def clique(peers: Lockstep, peer: int) -> Cliques:
    found = peers.protocols[peer]
    assert isinstance(found, Cliques)
    return found


def views(peers: Lockstep) -> set[tuple[int, ...]]:
    """Return what each server takes for its clique."""
    found = set()
    for peer in peers.protocols:
        seen = clique(peers, peer).view
        assert seen is not None
        found.add(tuple(seen.members))
    return found


def test_servers_at_one_place_fill_cliques_and_agree_on_them() -> None:
    peers = servers(10)
    peers.start()
    for _ in range(120):
        peers.round()
    found = views(peers)
    assert sorted(p for members in found for p in members) == list(range(10))
    assert max(map(len, found)) <= 4
    assert all(len(one) + len(two) > 4 for one, two in combinations(found, 2))
    assert all(len(clique(peers, peer).directory.records) == len(found) for peer in peers.protocols)


def test_when_the_oldest_crashes_the_next_leads_and_all_know() -> None:
    peers = servers(8)
    peers.start()
    for _ in range(30):
        peers.round()
    leaders = {clique(peers, peer).view.leader for peer in peers.protocols}  # type: ignore[union-attr]
    peers.crash(leaders)
    for _ in range(90):
        peers.round()
    assert sorted(p for members in views(peers) for p in members) == sorted(peers.protocols)
    for peer in peers.protocols:
        known = clique(peers, peer).directory.records
        assert not leaders & {p for record in known.values() for p in record.members}


def test_when_most_of_a_clique_crash_those_that_are_left_go_on_together() -> None:
    peers = servers(6, size=6)
    peers.start()
    for _ in range(30):
        peers.round()
    (members,) = views(peers)
    peers.crash(members[:4])
    for _ in range(20):
        peers.round()
    assert views(peers) == {members[4:]}


def test_a_leader_parts_its_clique_when_round_trips_have_grown() -> None:
    peers = servers(4, diameter="100 ms", minimum=2)
    peers.start()
    for _ in range(30):
        peers.round()
    (members,) = views(peers)
    leader = clique(peers, members[0]).view.leader  # type: ignore[union-attr]
    near = next(peer for peer in members if peer != leader)
    far = [peer for peer in members if peer not in (leader, near)]
    grown = {pair(a, b): 0.01 if (a in far) == (b in far) else 0.3 for a in members for b in members if a < b}
    clique(peers, leader).view.rtts.update(grown)  # type: ignore[union-attr]
    for peer in members:
        clique(peers, peer).measuring.rtts.update(
            {other: grown[pair(peer, other)] for other in members if other != peer}
        )
    for _ in range(20):
        peers.round()
    assert {frozenset(part) for part in views(peers)} == {frozenset([leader, near]), frozenset(far)}


@pytest.mark.parametrize(("at_first", "parted"), [(500, True), (3000, False)])
def test_only_a_clique_whose_round_trips_have_grown_is_parted(at_first: int, parted: bool) -> None:
    """Others are wide because a small one joined them, and would come together again."""
    environment = FakeEnvironment(0)
    leader = Cliques(environment, CliqueParameters.model_validate({"diameter": "100 ms", "minimum": 2}))
    leader.start([])
    members, shares = [0, 1, 2, 3], even_ends(4)
    record = CliqueRecord(0, 9, members, [0.0, 1.0, 2.0, 3.0], shares)
    environment.hand_over(1, CliqueView(record, [50, *[at_first] * 4, 50]))
    for peer in (2, 3):
        others = [other for other in members if other != peer]
        far = [50 if {peer, other} == {2, 3} else 3000 for other in others]
        environment.hand_over(peer, CliqueReport(9, others, far), "", 5)
    environment.outbox.clear()
    for _ in range(12):
        environment.advance(1.0)
    views = [message.record for _, message in environment.take(CliqueView) if message.record is not None]
    assert ([2, 3] in [view.members for view in views]) == parted


def test_a_server_that_leaves_tells_the_oldest() -> None:
    peers = servers(3)
    peers.start()
    peers.round()
    leader = clique(peers, 0).view.leader  # type: ignore[union-attr]
    clique(peers, leader).stop(graceful=True)
    peers.exchange()
    gone = peers.protocols.keys() - {leader}
    assert all(leader not in clique(peers, peer).view.members for peer in gone)  # type: ignore[union-attr]


def test_a_server_that_leaves_passes_over_those_that_it_knows_to_be_gone() -> None:
    environment = FakeEnvironment(3)
    leaving = Cliques(environment, CliqueParameters())
    leaving.start([])
    assert leaving.view is not None
    joined = View(1 << 30, [0, 1, 2, 3], {0: 0.0, 1: 1.0, 2: 2.0, 3: 3.0}, even_ends(4), {})
    environment.hand_over(0, joined.message(replaced=[leaving.view]))
    environment.fail(0)
    environment.outbox.clear()
    leaving.stop(graceful=True)
    assert [(peer, told.peer) for peer, told in environment.take(CliqueDeparture)] == [(1, 3)]


def test_a_leader_refuses_who_is_too_far_or_has_not_measured_all() -> None:
    environment = FakeEnvironment(0)
    alone = Cliques(environment, CliqueParameters.model_validate({"diameter": "100 ms"}))
    alone.start([])
    for units, members in ((2000, [0]), (500, [])):
        environment.outbox.clear()
        environment.hand_over(9, CliqueJoin(1.0, members, [units] * len(members)), "", 5)
        ((_, answer),) = environment.take(CliqueView)
        assert answer.record is not None and answer.record.members == [0]
    environment.hand_over(9, CliqueJoin(1.0, [0], [500]), "", 6)
    assert alone.view is not None and alone.view.members == [0, 9] and alone.view.rtt(0, 9) == 0.05


@pytest.mark.parametrize(
    "senseless",
    [
        CliqueView(None),
        CliqueView(CliqueRecord()),
        CliqueView(CliqueRecord(0, 1 << 40, [0, 5], [1.0], even_ends(2))),
        CliqueView(CliqueRecord(0, 1 << 40, [0, 5], [1.0, 2.0], [WHOLE])),
        CliqueView(CliqueRecord(0, 1 << 40, [0, 5], [1.0, 2.0], even_ends(2)), [], [0], []),
    ],
)
def test_a_view_that_makes_no_sense_changes_nothing(senseless: CliqueView) -> None:
    environment = FakeEnvironment(0)
    alone = Cliques(environment, CliqueParameters())
    alone.start([])
    environment.hand_over(5, senseless)
    assert alone.view is not None and alone.view.members == [0]


def test_a_newcomer_that_is_answered_with_a_view_that_makes_no_sense_begins_a_clique_of_its_own() -> None:
    environment = FakeEnvironment(1)
    new = Cliques(environment, CliqueParameters())
    new.start([0])
    record = CliqueRecord(0, 3, [0], [0.0], [WHOLE])
    answers = {
        DirectoryDigest: DirectoryAnswer([record], [], [0], [1]),
        CliquePing: CliquePong(0, 3, False),
        CliqueJoin: CliqueView(CliqueRecord(0, 4, [0, 1], [0.0], even_ends(2))),
    }
    for _ in range(3):
        outbox, environment.fake.outbox = environment.outbox, []
        for sent in outbox:
            environment.hand_over(sent.peer, answers[type(sent.message)], "", -sent.request)
    assert new.view is not None and new.view.members == [1]


def test_a_ping_is_answered_with_the_clique() -> None:
    environment = FakeEnvironment(0)
    alone = Cliques(environment, CliqueParameters())
    alone.start([])
    environment.hand_over(3, CliquePing(), "", 1)
    sent = environment.outbox[-1]
    assert sent.peer == 3 and not sent.message.member  # type: ignore[attr-defined]


def test_sizes_that_contradict_each_other_are_told() -> None:
    with pytest.raises(ValidationError, match=r"minimum is 5, but a clique has at most 4 members"):
        CliqueParameters(size=4, minimum=5)
    with pytest.raises(ValidationError, match="a peer in two cliques"):
        CliqueParameters(given=[[1, 2], [2]])


def test_a_mate_that_was_laid_out_and_has_just_started_is_not_taken_for_gone() -> None:
    environment = FakeEnvironment(0)
    given = Cliques(environment, CliqueParameters.model_validate({"formed": "hac", "given": [[0, 1]]}))
    given.start([])
    environment.outbox.clear()
    environment.advance(1.0)
    (ping,) = [sent for sent in environment.outbox if isinstance(sent.message, CliquePing)]
    environment.hand_over(1, CliquePong(0, 1, True), "", -ping.request)
    environment.fail(1)
    assert given.mates == [1]
    environment.advance(11.0)
    environment.fail(1)
    assert given.mates == []


def test_a_mate_that_is_in_another_clique_by_its_own_words_is_out_within_seconds() -> None:
    environment = FakeEnvironment(0)
    members = list(range(10))
    given = Cliques(environment, CliqueParameters.model_validate({"formed": "hac", "given": [members]}))
    given.start([])
    for _ in range(150):
        environment.advance(0.1)
        outbox, environment.fake.outbox = environment.outbox, []
        for sent in outbox:
            if isinstance(sent.message, CliquePing):
                pong = CliquePong(50, 1, False) if sent.peer == 3 else CliquePong(0, 1, True)
                environment.hand_over(sent.peer, pong, "", -sent.request)
    # In its turn alone it would have been asked three times in 27 s.
    assert given.mates == [peer for peer in members[1:] if peer != 3]


def told(environment: FakeEnvironment, members: list[int]) -> Cliques:
    """Return a server that was told that these are its clique, the oldest first."""
    server = Cliques(environment, CliqueParameters())
    server.start([])
    since = {peer: float(place) for place, peer in enumerate(members)}
    view = View(1 << 30, members, since, even_ends(len(members)), {})
    assert server.view is not None
    environment.hand_over(members[1], view.message(replaced=[server.view]))
    environment.outbox.clear()
    return server


def test_a_server_that_most_mates_do_not_have_is_out_though_its_leader_never_answers_in_time() -> None:
    environment = FakeEnvironment(9)
    out = told(environment, [0, 1, 2, 9])
    assert out.mates == [0, 1, 2]
    for _ in range(300):
        environment.advance(0.1)
        outbox, environment.fake.outbox = environment.outbox, []
        for sent in outbox:
            if isinstance(sent.message, CliquePing) and sent.peer != 0:
                environment.hand_over(sent.peer, CliquePong(0, (1 << 30) + 1, False), "", -sent.request)
    assert out.mates == []


def test_a_leader_takes_only_its_members_at_their_word_that_a_mate_is_gone() -> None:
    environment = FakeEnvironment(0)
    leader = told(environment, [0, 1, 2, 3])
    environment.hand_over(9, CliqueDeparture(1))
    assert leader.mates == [1, 2, 3]
    environment.hand_over(2, CliqueDeparture(1))
    assert leader.mates == [2, 3]


@pytest.mark.parametrize(
    ("pong", "reported"),
    [
        (CliquePong(50, 9, False), True),
        (CliquePong(0, 0, False), True),
        (CliquePong(0, (1 << 30) + 1, False), False),
        (CliquePong(0, (1 << 30) - 1, False), False),
    ],
    ids=[
        "in another clique",
        "in none",
        "in the clique, without this server",
        "has not heard of this server yet",
    ],
)
def test_a_mate_is_reported_only_if_it_is_not_in_the_clique_by_its_own_words(
    pong: CliquePong, reported: bool
) -> None:
    environment = FakeEnvironment(9)
    member = told(environment, [0, 1, 2, 9])
    departures = []
    for _ in range(100):
        environment.advance(0.1)
        outbox, environment.fake.outbox = environment.outbox, []
        for sent in outbox:
            if isinstance(sent.message, CliqueDeparture):
                departures.append(sent.message.peer)
            if isinstance(sent.message, CliquePing):
                answer = pong if sent.peer == 1 else CliquePong(0, 1 << 30, True)
                environment.hand_over(sent.peer, answer, "", -sent.request)
    assert (1 in departures) == reported
    assert member.mates == [0, 1, 2]


def test_a_leader_that_consented_tells_the_proposer_when_it_has_lost_a_member() -> None:
    environment = FakeEnvironment(0)
    told(environment, [0, 1, 2, 3])
    proposing = CliqueRecord(8, 1, [8], [5.0], even_ends(1))
    environment.hand_over(8, CliqueProposal(proposing), "", 3)
    environment.outbox.clear()
    environment.hand_over(1, CliqueDeparture(1))
    assert [peer for peer, _ in environment.take(CliqueRelease)] == [8]


@pytest.mark.parametrize("released", [False, True])
def test_a_proposer_rearranges_nothing_by_a_view_that_the_other_leader_took_back(released: bool) -> None:
    environment = FakeEnvironment(8)
    proposer = Cliques(environment, CliqueParameters())
    proposer.start([])
    theirs = View(5, [0, 1], {0: 0.0, 1: 1.0}, even_ends(2), {})
    proposer.directory.put(theirs.record(), 1)
    published = consented = False
    for _ in range(300):
        environment.advance(0.1)
        outbox, environment.fake.outbox = environment.outbox, []
        for sent in outbox:
            published |= isinstance(sent.message, CliqueView) and consented
            if isinstance(sent.message, CliqueProposal) and not consented:
                consented = True
                environment.hand_over(0, CliqueConsent(theirs.message()), "", -sent.request)
                if released:
                    environment.hand_over(0, CliqueRelease())
            elif isinstance(sent.message, CliquePing):
                environment.hand_over(sent.peer, CliquePong(0, 5, False), "", -sent.request)
    assert consented
    assert published != released


def test_a_server_that_came_back_is_no_member_by_what_it_was_in_its_life_before() -> None:
    environment = FakeEnvironment(1)
    environment.advance(100.0)
    back = Cliques(environment, CliqueParameters())
    before = View(8, [0, 1], {0: 1.0, 1: 2.0}, even_ends(2), {})
    environment.hand_over(0, before.message())
    assert back.view is None
    joined = View(9, [0, 1], {0: 1.0, 1: 100.5}, even_ends(2), {})
    environment.hand_over(0, joined.message())
    assert back.mates == [0]
