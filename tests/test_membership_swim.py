"""SWIM, driven by hand: probes, updates, suspicion, joins and leaves."""

from __future__ import annotations

import pytest
from membership_world import ALIVE, FAILED, LEFT, SUSPECTED, Member

from emulator.contract.registry import SYSTEMS
from emulator.protocols.membership.dissemination import Dissemination
from emulator.protocols.membership.parameters import SwimParameters
from emulator.protocols.membership.words import UNKNOWN, Words
from emulator.testing.fake_environment import FakeEnvironment, Lockstep
from trellis.v1.swim import (
    MemberUpdate,
    SwimAck,
    SwimGossip,
    SwimPing,
    SwimPingRequest,
    SwimSync,
    SwimSyncReply,
)

SLOW = {"period": "10 s", "timeout": "5 s", "suspicion": 0.5}
"""A period within which no probe of the member itself fails, and a suspicion of 5 s."""


def test_a_member_probes_each_other_one_once_a_round() -> None:
    member = Member(6)
    rounds = []
    for _ in range(3):
        targets = []
        for _ in range(6):
            member.world.advance(1.0)
            ((target, ping),) = member.pinged()
            member.world.hand_over(target, SwimAck(ping.sequence, []))
            targets.append(target)
        assert sorted(targets) == [1, 2, 3, 4, 5, 6]
        rounds.append(targets)
    assert rounds[0] != rounds[1] or rounds[1] != rounds[2]


def test_k_helpers_are_asked_after_the_time_out_and_the_member_is_suspected_at_the_end_of_the_period() -> (
    None
):
    member = Member(6)
    member.world.advance(0.5)
    ((silent, ping),) = member.pinged()
    member.world.advance(0.49)
    assert not member.world.take(SwimPingRequest)
    member.world.advance(0.02)
    asked = member.world.take(SwimPingRequest)
    assert len({helper for helper, _ in asked}) == 3 and silent not in {helper for helper, _ in asked}
    assert {(each.sequence, each.target, each.nack) for _, each in asked} == {(ping.sequence, silent, False)}
    assert member.told() == []
    member.world.advance(0.5)
    assert member.told() == [("suspected", silent)]


@pytest.mark.parametrize("answerer", ["target", "helper"])
def test_an_answer_in_the_period_ends_the_probe(answerer: str) -> None:
    member = Member(6)
    member.world.advance(0.5)
    ((target, ping),) = member.pinged()
    member.world.advance(0.6)
    ((helper, _), *_) = member.world.take(SwimPingRequest)
    member.world.hand_over(target if answerer == "target" else helper, SwimAck(ping.sequence, []))
    member.world.advance(0.9)
    assert member.told() == []


def test_an_answer_to_an_earlier_probe_is_none_to_this_one() -> None:
    member = Member(6)
    member.world.advance(0.5)
    ((target, ping),) = member.pinged()
    member.world.hand_over(target, SwimAck(ping.sequence + 1, []))
    member.world.advance(1.0)
    assert member.told() == [("suspected", target)]


def test_a_helper_pings_the_target_and_passes_its_answer_on() -> None:
    member = Member(6)
    member.world.hand_over(1, SwimPingRequest(77, 2))
    ((target, ping),) = member.pinged()
    assert target == 2
    member.world.hand_over(2, SwimAck(ping.sequence, []))
    assert [(peer, ack.sequence) for peer, ack in member.world.take(SwimAck)] == [(1, 77)]
    member.world.hand_over(2, SwimAck(ping.sequence, []))
    assert not member.world.take(SwimAck)


def test_a_suspected_member_fails_after_its_time_and_not_before() -> None:
    member = Member(4, **SLOW)
    member.say(2, SUSPECTED)
    member.world.advance(4.99)
    assert member.swim.state_of(2) == SUSPECTED and member.swim.believes_up(2)
    member.world.advance(0.02)
    assert member.told() == [("suspected", 2), ("failed", 2)]
    assert not member.swim.believes_up(2)


def test_a_higher_incarnation_ends_a_suspicion_and_the_same_one_does_not() -> None:
    member = Member(4, **SLOW)
    member.say(2, SUSPECTED, incarnation=3)
    member.say(2, ALIVE, incarnation=3)
    assert member.swim.state_of(2) == SUSPECTED
    member.say(2, ALIVE, incarnation=4)
    member.say(2, SUSPECTED, incarnation=3)
    member.world.advance(9.0)
    assert ("failed", 2) not in member.told()


def test_who_is_suspected_speaks_for_itself_with_a_higher_incarnation() -> None:
    member = Member(4)
    member.say(0, SUSPECTED, incarnation=5)
    member.world.hand_over(1, SwimPing(9, []))
    ((_, ack),) = member.world.take(SwimAck)
    assert MemberUpdate(0, 0, 6, ALIVE) in ack.updates
    member.say(0, SUSPECTED, incarnation=5)
    assert member.swim._incarnation == 6


@pytest.mark.parametrize("confirm", ["final", "by-incarnation"])
def test_a_failure_overrides_every_incarnation_only_where_it_is_final(confirm: str) -> None:
    member = Member(4, confirm=confirm)
    member.say(2, ALIVE, incarnation=7)
    member.say(2, FAILED, incarnation=3)
    is_final = confirm == "final"
    assert member.swim.believes_up(2) is not is_final
    member.say(2, FAILED, incarnation=7)
    member.say(2, ALIVE, incarnation=8)
    assert member.swim.believes_up(2) is not is_final
    member.say(2, ALIVE, life=1)
    assert member.swim.believes_up(2)


def test_a_failed_member_cannot_speak_for_itself_where_failures_are_final() -> None:
    for confirm, incarnation in (("final", 0), ("by-incarnation", 1)):
        member = Member(4, confirm=confirm)
        member.say(0, FAILED)
        assert member.swim._incarnation == incarnation


def test_words_of_the_lives_and_states_of_a_member_come_back_as_they_were_packed() -> None:
    for final in (True, False):
        words = Words(final)
        for update in (MemberUpdate(5, 4095, 32767, SUSPECTED), MemberUpdate(5, 3, 9, ALIVE)):
            word = words.pack(update)
            found = words.update(5, word)
            assert (found.life, found.incarnation, found.state) == (
                update.life,
                update.incarnation,
                update.state,
            )
        for over in (FAILED, LEFT):
            assert words.state(words.pack(MemberUpdate(5, 1, 2, over))) == over
        assert words.pack(MemberUpdate(5, 4096)) == UNKNOWN == words.pack(MemberUpdate(5, 0, 0, 4))


def test_updates_out_of_range_are_dropped_and_counted() -> None:
    member = Member(4)
    member.say(2, 9)
    member.say(1 << 30, ALIVE)
    assert sum(member.world.dropped.values()) == 2


def test_an_update_rides_a_number_of_times_and_those_sent_least_often_go_first() -> None:
    news = Dissemination(2, 2)
    for member in (1, 2, 3):
        news.put(MemberUpdate(member))
    taken = [[update.member for update in news.take(50)] for _ in range(7)]
    assert taken[0] == [3, 2] and taken[1][0] == 1
    counts = [member for each in taken for member in each]
    assert {member: counts.count(member) for member in (1, 2, 3)} == dict.fromkeys((1, 2, 3), 4)
    assert len(news) == 0


def test_a_new_update_takes_the_place_of_the_earlier_one_about_the_member() -> None:
    news = Dissemination(3, 10)
    news.put(MemberUpdate(1, state=SUSPECTED))
    news.take(10)
    news.put(MemberUpdate(1, incarnation=1))
    assert news.take(10) == [MemberUpdate(1, incarnation=1)] and len(news) == 1


def test_a_joining_member_gets_the_list_of_the_first_contact_that_answers_and_tells_of_itself() -> None:
    world = FakeEnvironment(9)
    swim = SYSTEMS["swim"].create(world, SwimParameters())
    swim.start([7, 8])
    ((contact, sync),) = world.take(SwimSync)
    assert contact == 7 and sync.joins and [update.member for update in sync.members] == [9]
    world.advance(10.1)
    (request,) = [sent for sent in world.outbox if isinstance(sent.message, SwimSync)]
    assert request.peer == 8
    members = [MemberUpdate(8), MemberUpdate(3), MemberUpdate(4, state=FAILED)]
    world.hand_over(8, SwimSyncReply(True, members), request=-request.request)
    told = {(each.name, each.subject) for each in world.recorded}
    assert told == {("member_joined", 8), ("member_joined", 3)}


def test_a_leaving_member_tells_as_many_as_an_update_is_sent_to_and_a_crashing_one_nobody() -> None:
    member = Member(20)
    member.world.take(SwimPing)
    member.swim.stop(graceful=False)
    assert not member.world.outbox
    member.swim.stop(graceful=True)
    sent = member.world.take(SwimGossip)
    assert len({peer for peer, _ in sent}) == 12
    assert all(message.updates == [MemberUpdate(0, 0, 0, LEFT)] for _, message in sent)


def test_members_that_join_one_after_the_other_all_know_each_other() -> None:
    found = SYSTEMS["swim"]
    peers = Lockstep(lambda environment: found.create(environment, SwimParameters()), range(8))
    peers.start()
    for _ in range(12):
        peers.round()
    for peer, swim in peers.protocols.items():
        assert all(swim.believes_up(other) for other in range(8) if other != peer)  # type: ignore[attr-defined]
    peers.crash([5])
    for _ in range(20):
        peers.round()
    assert not any(swim.believes_up(5) for swim in peers.protocols.values())  # type: ignore[attr-defined]


def test_a_member_that_tells_little_tells_only_what_it_found_out_itself() -> None:
    member = Member(4)
    member.swim.tells_all = False
    member.say(2, SUSPECTED)
    assert member.told() == []
    member.world.advance(5.1)
    assert ("failed", 2) in member.told()


def test_the_time_out_has_to_be_below_the_period() -> None:
    with pytest.raises(ValueError, match=r"timeout is 1 s and has to be below period, 1 s.*Lower timeout"):
        SwimParameters.model_validate({"period": "1 s", "timeout": "1 s"})
