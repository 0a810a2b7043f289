"""Lifeguard's parts and what memberlist and Serf add, driven by hand."""

from __future__ import annotations

import math

import pytest
from membership_world import ALIVE, FAILED, SUSPECTED, Member

from emulator.protocols.membership.parameters import SwimParameters
from emulator.protocols.membership.swim import Swim
from emulator.testing.fake_environment import FakeEnvironment, Sent
from trellis.v1.swim import (
    MemberUpdate,
    SwimAck,
    SwimGossip,
    SwimNack,
    SwimPing,
    SwimPingRequest,
    SwimSync,
    SwimSyncReply,
)

SLOW = {"period": "100 s", "timeout": "50 s"}
"""A period within which no probe of the member itself fails."""


def failing_probe(member: Member, nacks: int) -> None:
    """Let one probe fail of which so many helpers say that the target is silent."""
    member.world.advance(0.5)
    ((_, ping),) = member.pinged()
    member.world.advance(0.5 * member.swim._health.multiple + 0.01)
    for helper, _ in member.world.take(SwimPingRequest)[:nacks]:
        member.world.hand_over(helper, SwimNack(ping.sequence))
    member.world.advance(0.49)


@pytest.mark.parametrize(
    ("preset", "nacks", "score"),
    [
        ("lifeguard", 3, 1),
        ("lifeguard", 2, 2),
        ("lifeguard", 0, 2),
        ("memberlist", 3, 0),
        ("memberlist", 2, 1),
        ("memberlist", 0, 3),
    ],
)
def test_a_failed_probe_and_missing_nacks_make_the_health_worse(preset: str, nacks: int, score: int) -> None:
    member = Member(8, preset=preset, gossip="0 s")
    failing_probe(member, nacks)
    assert member.swim.gauges()["local_health"] == score


@pytest.mark.parametrize("preset", ["lifeguard", "memberlist"])
def test_a_failed_probe_for_which_no_helper_was_asked_makes_the_health_worse_by_one(preset: str) -> None:
    member = Member(1, preset=preset, gossip="0 s")
    failing_probe(member, 0)
    assert member.swim.gauges()["failed_probes"] == 1 == member.swim.gauges()["local_health"]


def test_without_nacks_a_failed_probe_itself_makes_the_health_worse() -> None:
    member = Member(8, largest_health=8)
    failing_probe(member, 0)
    assert member.swim.gauges()["local_health"] == 1


@pytest.mark.parametrize(("preset", "timeout"), [("lifeguard", 2.0), ("memberlist", 0.5)])
def test_a_member_in_bad_health_probes_less_often_and_waits_longer_for_answers_but_in_memberlist(
    preset: str, timeout: float
) -> None:
    member = Member(8, preset=preset, gossip="0 s")
    member.swim._health.change(3)
    member.world.advance(0.5)
    assert len(member.pinged()) == 1
    member.world.advance(timeout - 0.1)
    assert not member.world.outbox
    member.world.advance(0.2)
    assert len(member.world.take(SwimPingRequest)) == 3
    member.world.advance(3.8 - timeout)
    assert member.told() == [] and not member.pinged()
    member.world.advance(0.2)
    assert len(member.told()) == 1 and len(member.pinged()) == 1


def test_an_answer_makes_the_health_better_and_a_suspicion_of_oneself_worse() -> None:
    member = Member(8, preset="lifeguard")
    member.say(0, SUSPECTED)
    assert member.swim.gauges()["local_health"] == 1
    member.world.advance(0.5)
    ((target, ping),) = member.pinged()
    member.world.hand_over(target, SwimAck(ping.sequence, []))
    assert member.swim.gauges()["local_health"] == 0


@pytest.mark.parametrize(("nack_after", "at"), [(0.8, 40.0), (1.0, 50.0)])
def test_a_helper_tells_that_the_target_is_silent_if_it_is_asked_to(nack_after: float, at: float) -> None:
    member = Member(8, nack_after=nack_after, **SLOW)
    member.world.hand_over(1, SwimPingRequest(7, 2, True))
    member.world.hand_over(1, SwimPingRequest(8, 3, False))
    member.world.advance(at - 0.1)
    assert not member.world.take(SwimNack)
    member.world.advance(0.2)
    assert [(peer, nack.sequence) for peer, nack in member.world.take(SwimNack)] == [(1, 7)]


@pytest.mark.parametrize(
    ("confirmed", "share"), [(0, 0.0), (1, 0.5), (2, math.log(3, 4)), (3, 1.0), (9, 1.0)]
)
def test_independent_suspicions_shorten_the_time_of_a_suspicion(confirmed: int, share: float) -> None:
    member = Member(8, preset="lifeguard", suspicion=0.01, **SLOW)  # 1 to 6 s
    member.say(2, SUSPECTED, accuser=3)
    for accuser in range(10, 10 + confirmed):
        member.say(2, SUSPECTED, accuser=accuser)
    until = 6.0 - 5.0 * share
    member.world.advance(until - 0.01)
    assert member.swim.state_of(2) == SUSPECTED
    member.world.advance(0.02)
    assert member.swim.state_of(2) == FAILED


def test_a_suspicion_of_the_same_accuser_confirms_nothing_and_k_are_passed_on() -> None:
    member = Member(8, preset="lifeguard", **SLOW)
    member.say(2, SUSPECTED, accuser=3)
    member.world.hand_over(1, SwimPing(1))
    assert member.world.take(SwimAck)
    passed = []
    for accuser in (3, 4, 4, 5, 6, 7):
        member.say(2, SUSPECTED, accuser=accuser)
        ((_, ack),) = _answered(member)
        passed += [update.accuser for update in ack.updates if update.state == SUSPECTED][:1]
    assert passed == [3, 4, 4, 5, 6, 6]


def _answered(member: Member) -> list[tuple[int, SwimAck]]:
    member.world.hand_over(1, SwimPing(1))
    return member.world.take(SwimAck)


@pytest.mark.parametrize("buddy", [False, True])
def test_a_ping_tells_a_suspected_member_first_that_it_is_suspected(buddy: bool) -> None:
    member = Member(1, buddy=buddy, repeats=1, **SLOW)
    member.say(1, SUSPECTED, incarnation=2)
    for _ in range(3):
        _answered(member)
    member.world.advance(51.0)
    ((_, ping),) = member.pinged()
    assert ping.updates == ([MemberUpdate(1, 0, 2, SUSPECTED, 0)] if buddy else [])


def test_gossip_goes_to_some_members_and_to_those_that_failed_lately() -> None:
    member = Member(3, preset="memberlist", gossip_nodes=9, **SLOW)
    member.say(2, FAILED)
    member.world.advance(0.2)
    assert {peer for peer, _ in member.world.take(SwimGossip)} == {1, 2, 3}
    member.world.advance(30.0)
    member.say(3, ALIVE, incarnation=1)
    member.world.take(SwimGossip)
    member.world.advance(0.2)
    assert {peer for peer, _ in member.world.take(SwimGossip)} == {1, 3}


def test_a_list_in_which_a_member_has_failed_makes_it_suspected_only() -> None:
    for confirm, state in (("by-incarnation", SUSPECTED), ("final", FAILED)):
        member = Member(4, confirm=confirm, **SLOW)
        member.world.hand_over(
            1, SwimSync(False, [MemberUpdate(1), MemberUpdate(2, state=FAILED)]), request=5
        )
        ((_, reply),) = member.world.take(SwimSyncReply)
        assert {update.member for update in reply.members} == {0, 1, 2, 3, 4}
        assert member.swim.state_of(2) == state


@pytest.mark.parametrize("state", [SUSPECTED, FAILED])
def test_lists_in_which_a_member_is_suspected_are_no_independent_suspicions_of_it(state: int) -> None:
    member = Member(8, preset="memberlist", suspicion=0.01, gossip="0 s", push_pull="0 s", **SLOW)  # 1 to 6 s
    member.say(2, SUSPECTED, accuser=3)
    for partner in (4, 5, 6):
        listed = [MemberUpdate(partner), MemberUpdate(2, 0, 0, state, partner)]
        member.world.hand_over(partner, SwimSync(False, listed), request=partner)
    assert len(member.swim._suspicions._of[2].accusers) == 2
    member.world.advance(2.0)
    assert member.swim.state_of(2) == SUSPECTED


def test_push_pull_exchanges_lists_with_one_member_an_interval() -> None:
    member = Member(4, push_pull="10 s", **SLOW)
    for _ in range(3):
        member.world.advance(10.0)
        ((_, sync),) = member.world.take(SwimSync)
        assert not sync.joins and len(sync.members) == 5


def asked_to_join(world: FakeEnvironment) -> Sent:
    """Return the one request for a list that was sent, and empty the outbox."""
    (request,) = [sent for sent in world.fake.empty_outbox() if isinstance(sent.message, SwimSync)]
    return request


def test_a_member_that_joins_by_all_contacts_asks_the_next_one_after_an_answer_and_after_silence() -> None:
    world = FakeEnvironment(9)
    swim = Swim(world, SwimParameters.model_validate({"preset": "memberlist", "push_pull": "0 s", **SLOW}))
    swim.start([7, 8, 6])
    first = asked_to_join(world)
    reply = SwimSyncReply(True, [MemberUpdate(7), MemberUpdate(3)])
    world.hand_over(7, reply, request=-first.request)
    second = asked_to_join(world)
    world.advance(10.1)
    third = asked_to_join(world)
    assert [first.peer, second.peer, third.peer] == [7, 8, 6]
    world.advance(10.1)
    assert not world.take(SwimSync) and not world.asked_for_contacts and swim.believes_up(3)


def test_failed_members_are_tried_again_until_a_time_out_and_only_if_asked_for() -> None:
    for reconnect, tries in (("0 s", 0), ("10 s", 2)):
        member = Member(1, reconnect=reconnect, reconnect_timeout="20 s", confirm="by-incarnation", **SLOW)
        member.say(1, FAILED)
        member.world.advance(60.0)
        assert [peer for peer, _ in member.world.take(SwimSync)] == [1] * tries


@pytest.mark.parametrize("reconnect_timeout", ["5 s", "100 s"])
def test_a_failed_member_is_forgotten_in_time_however_long_it_is_tried_again(reconnect_timeout: str) -> None:
    times = {"forget_after": "20 s", "reconnect": "1 s", "reconnect_timeout": reconnect_timeout}
    member = Member(4, confirm="by-incarnation", **times)
    member.say(2, FAILED)
    listed = []
    for _ in range(40):
        member.world.advance(1.0)
        for target, ping in member.pinged():
            member.world.hand_over(target, SwimAck(ping.sequence, []))
        listed.append(2 in member.swim._view.members())
    assert listed[18] and not listed[-1]


def test_a_preset_sets_what_an_experiment_does_not_give() -> None:
    parameters = SwimParameters.model_validate({"preset": "memberlist", "gossip_nodes": 5})
    assert (parameters.suspicion, parameters.repeats, parameters.gossip_nodes) == (4.0, 4, 5)
    assert (parameters.push_pull, parameters.gossip, parameters.confirm) == (30.0, 0.2, "by-incarnation")
    assert parameters.stretched == "period" == parameters.model_dump()["stretched"]
    assert SwimParameters().confirm == "final" and "stretched" not in SwimParameters().model_dump()
    with pytest.raises(ValueError, match="preset"):
        SwimParameters.model_validate({"preset": "serf"})


@pytest.mark.parametrize("preset", ["swim", "lifeguard", "memberlist"])
@pytest.mark.parametrize("stretched", ["both", "period"])
def test_parameters_that_were_written_are_read_as_they_were_given(preset: str, stretched: str) -> None:
    given = SwimParameters.model_validate({"preset": preset, "stretched": stretched})
    assert SwimParameters.model_validate(given.model_dump()) == given
    assert given.stretched == stretched


def test_probes_are_counted_when_they_end_and_those_that_failed_among_them() -> None:
    member = Member(8)
    failing_probe(member, 0)
    member.world.advance(0.01)
    ((target, ping),) = member.pinged()
    assert member.swim.gauges()["probes"] == 1 == member.swim.gauges()["failed_probes"]
    member.world.hand_over(target, SwimAck(ping.sequence, []))
    gauges = member.swim.gauges()
    assert (gauges["probes"], gauges["failed_probes"]) == (2, 1)
