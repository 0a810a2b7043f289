"""GossipSub's peer scores by golden numbers: P1 to P7, caps, decay, and who is remembered."""

from __future__ import annotations

import json
from typing import Any
from unittest.mock import Mock

import pytest
from fake_environment import FakeEnvironment
from gossipsub_peer import TOPIC as OF_MESH
from gossipsub_peer import connect, gossipsub
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from emulator.contract.registry import SYSTEMS
from emulator.protocols.pubsub.gossipsub.parameters import GossipSubParameters, misfits
from emulator.protocols.pubsub.gossipsub.score_parameters import ScoreParameters
from emulator.protocols.pubsub.gossipsub.scores import PeerScores
from trellis.v1.gossipsub import ConnectionAlive, ConnectionEnd

TOPIC = 3
WEIGHTS = {
    "time_in_mesh_weight": 0,
    "first_message_deliveries_weight": 0,
    "invalid_message_deliveries_weight": 0,
}


def scores(**parameters: Any) -> PeerScores:
    """Return scores of peer 1, all of whose weights but those given are 0."""
    made = PeerScores(ScoreParameters.model_validate({**WEIGHTS, **parameters}).rules())
    made.connect(1, 1)
    return made


def test_time_in_the_mesh_counts_in_whole_quanta_up_to_its_cap() -> None:
    tested = scores(time_in_mesh_weight=0.5, time_in_mesh_quantum="2 s", time_in_mesh_cap=10)
    tested.graft(1, TOPIC, 100.0)
    assert tested.score(1) == 0
    tested.decay(107.0)
    assert tested.score(1) == 1.5
    tested.decay(200.0)
    assert tested.score(1) == 5.0
    tested.prune(1, TOPIC)
    assert tested.score(1) == 0


def test_first_deliveries_are_capped_when_they_are_counted_and_decay() -> None:
    """The text has 120 x .97 = 110.4, which is 116.4."""
    parameters = {"first_message_deliveries_cap": 120, "first_message_deliveries_decay": 0.97}
    tested = scores(first_message_deliveries_weight=2, **parameters)
    for _ in range(130):
        tested.delivered_first(1, TOPIC)
    assert tested.score(1) == 240
    tested.decay(1.0)
    assert tested.score(1) == pytest.approx(2 * 116.4)


def under_delivery(**parameters: Any) -> PeerScores:
    return scores(
        mesh_message_deliveries_weight=-1,
        mesh_message_deliveries_threshold=4,
        mesh_message_deliveries_activation="10 s",
        mesh_message_deliveries_decay=0.5,
        mesh_message_delivery_window="5 ms",
        **parameters,
    )


def test_a_lack_of_deliveries_in_the_mesh_counts_squared_after_the_activation() -> None:
    tested = under_delivery()
    tested.graft(1, TOPIC, 0.0)
    tested.decay(10.0)
    assert tested.score(1) == 0
    tested.decay(10.5)
    assert tested.score(1) == -16
    tested.delivered_first(1, TOPIC)
    assert tested.score(1) == -9
    tested.delivered_again(1, TOPIC, 0.005)
    assert tested.score(1) == -4
    tested.delivered_again(1, TOPIC, 0.006)
    assert tested.score(1) == -4, "it came after the window"


def test_deliveries_outside_of_the_mesh_do_not_count_for_the_mesh() -> None:
    tested = under_delivery()
    tested.delivered_first(1, TOPIC)
    tested.graft(1, TOPIC, 0.0)
    tested.decay(10.5)
    assert tested.score(1) == -16


def test_what_lacked_at_a_prune_is_remembered_after_the_next_graft() -> None:
    tested = under_delivery(mesh_failure_penalty_weight=-2, mesh_failure_penalty_decay=0.5)
    tested.graft(1, TOPIC, 0.0)
    tested.decay(11.0)
    tested.prune(1, TOPIC)
    assert tested.score(1) == -16 - 2 * 16
    tested.graft(1, TOPIC, 12.0)
    assert tested.score(1) == -32
    tested.decay(13.0)
    assert tested.score(1) == -16


def test_invalid_messages_count_squared() -> None:
    tested = scores(invalid_message_deliveries_weight=-3, topic_weight=0.5)
    for _ in range(4):
        tested.delivered_invalid(1, TOPIC)
    assert tested.score(1) == -3 * 16 * 0.5


def test_misbehaviour_counts_squared_beyond_its_threshold_and_decays() -> None:
    tested = scores(behaviour_penalty_weight=-10, behaviour_penalty_threshold=2, behaviour_penalty_decay=0.8)
    tested.penalise(1, 2)
    assert tested.score(1) == 0
    tested.penalise(1, 3)
    assert tested.score(1) == -90
    tested.decay(1.0)
    assert tested.score(1) == -40


def test_peers_at_one_address_count_squared_beyond_the_threshold() -> None:
    tested = scores(ip_colocation_factor_weight=-5, ip_colocation_factor_threshold=2)
    tested.connect(2, 1)
    assert tested.score(1) == 0
    tested.connect(3, 1)
    tested.connect(4, 1)
    assert tested.score(1) == tested.score(4) == -20
    tested.connect(5, 5)
    assert tested.score(5) == 0


def test_the_cap_bounds_what_topics_add_but_not_what_the_application_does() -> None:
    tested = scores(first_message_deliveries_weight=1, topic_score_cap=3, app_specific_weight=2)
    for topic in (1, 2):
        for _ in range(2):
            tested.delivered_first(1, topic)
    assert tested.score(1) == 3
    tested.connect(1, 1, application=10.0)
    assert tested.score(1) == 23


def test_a_counter_below_the_limit_becomes_zero() -> None:
    tested = scores(first_message_deliveries_weight=1, first_message_deliveries_decay=0.09, decay_to_zero=0.1)
    tested.delivered_first(1, TOPIC)
    tested.decay(1.0)
    assert tested.score(1) == 0


def test_a_bad_score_outlives_a_disconnection_and_a_good_one_does_not() -> None:
    tested = scores(
        first_message_deliveries_weight=2, invalid_message_deliveries_weight=-1, retain_score="60 s"
    )
    tested.delivered_first(1, TOPIC)
    tested.delivered_invalid(1, TOPIC)
    tested.disconnect(1, 0.0)
    tested.connect(1, 1)
    assert tested.score(1) == 0
    tested.penalise(1)
    tested.disconnect(1, 10.0)
    tested.decay(60.0)
    tested.connect(1, 1)
    assert tested.score(1) == -10, "it does not decay meanwhile"
    tested.disconnect(1, 70.0)
    tested.decay(130.5)
    tested.connect(1, 1)
    assert tested.score(1) == 0


ALL = {
    "time_in_mesh_weight": 0.1,
    "first_message_deliveries_weight": 1,
    "mesh_message_deliveries_weight": -1,
    "mesh_message_deliveries_threshold": 3,
    "mesh_message_deliveries_activation": "2 s",
    "mesh_message_delivery_window": "5 ms",
    "mesh_failure_penalty_weight": -1,
    "invalid_message_deliveries_weight": -1,
    "ip_colocation_factor_weight": -1,
    "ip_colocation_factor_threshold": 1,
    "behaviour_penalty_weight": -1,
    "retain_score": "5 s",
}
"""Weights with which everything counts."""


def do(tested: PeerScores, event: str, peer: int, now: float) -> None:
    """Let one thing happen to a peer; peers 1 and 2 have one address."""
    if event == "connect":
        tested.connect(peer, max(2, peer), now % 3)
    elif event == "decay":
        tested.decay(now)
    elif event == "disconnect":
        tested.disconnect(peer, now)
    elif event == "graft":
        tested.graft(peer, TOPIC, now)
    elif event == "again":
        tested.delivered_again(peer, TOPIC, 0.001 * (now % 9))
    elif event == "penalise":
        tested.penalise(peer)
    else:
        {
            "prune": tested.prune,
            "first": tested.delivered_first,
            "invalid": tested.delivered_invalid,
        }[event](peer, TOPIC)


EVENTS = ("connect", "decay", "disconnect", "graft", "again", "penalise", "prune", "first", "invalid")


@given(st.lists(st.tuples(st.sampled_from(EVENTS), st.integers(1, 3)), min_size=5, max_size=40))
def test_a_score_does_not_depend_on_whether_it_was_asked_for_before(events: list[tuple[str, int]]) -> None:
    asked, silent = (PeerScores(ScoreParameters.model_validate(ALL).rules()) for _ in range(2))
    begin = [(event, peer) for peer in (1, 2, 3) for event in ("connect", "graft", "first", "penalise")]
    for now, (event, peer) in enumerate(begin + events):
        for tested in (asked, silent):
            do(tested, event, peer, float(now))
        _ = [asked.score(each) for each in (1, 2, 3)]
    assert [asked.score(each) for each in (1, 2, 3)] == [silent.score(each) for each in (1, 2, 3)]


def test_a_score_that_was_asked_for_follows_decay_and_disconnection() -> None:
    tested = scores(
        first_message_deliveries_weight=1,
        first_message_deliveries_decay=0.5,
        behaviour_penalty_weight=-1,
        behaviour_penalty_decay=0.5,
    )
    tested.delivered_first(1, TOPIC)
    assert tested.score(1) == 1
    tested.decay(1.0)
    assert tested.score(1) == 0.5
    tested.connect(2, 2)
    tested.penalise(2, 2)
    assert tested.score(2) == -4
    tested.decay(2.0)
    assert tested.score(2) == -1
    tested.delivered_first(2, TOPIC)
    assert tested.score(2) == 0
    tested.disconnect(2, 3.0)
    assert tested.score(2) == -1


def test_a_peer_of_the_first_version_scores_nobody() -> None:
    tested = PeerScores(ScoreParameters().rules(), enabled=False)
    tested.connect(1, 1)
    tested.penalise(1, 100)
    tested.delivered_first(1, TOPIC)
    tested.decay(1.0)
    assert tested.score(1) == 0


@pytest.mark.parametrize("preset", ["specification", "ethereum", "filecoin"])
def test_presets_are_valid_and_leave_out_the_deliveries_in_the_mesh(preset: str) -> None:
    found = GossipSubParameters.model_validate({"preset": preset})
    assert found.score.mesh_message_deliveries_weight == found.score.mesh_failure_penalty_weight == 0


def test_peers_of_both_networks_name_no_others_and_those_of_ethereum_do_not_flood_their_messages() -> None:
    ethereum, filecoin = (GossipSubParameters.model_validate({"preset": p}) for p in ("ethereum", "filecoin"))
    assert (ethereum.px_peers, filecoin.px_peers) == (0, 0)
    assert (ethereum.flood_publish, filecoin.flood_publish) == (False, True)


def test_what_is_given_goes_before_the_preset_also_in_the_score() -> None:
    found = GossipSubParameters.model_validate(
        {"preset": "ethereum", "degree": 9, "score": {"topic_weight": 0.25}}
    )
    assert (found.degree, found.degree_low, found.score.topic_weight) == (9, 6, 0.25)
    assert found.score.graylist_threshold == -16000


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"degree_low": 7}, "in this order"),
        ({"degree_out": 4}, "degree_out is 4"),
        ({"mcache_gossip": 6}, "mcache_gossip is more than mcache_len"),
        ({"score": {"publish_threshold": -5}}, "in this order"),
        ({"connections": 900}, "most_connections is 400"),
        ({"uplink": "50 Mbit/s"}, "uplink is for version 1.2"),
        ({"seen_ttl": "4 s"}, "seen_ttl is 4 s, .* Raise seen_ttl to .*, 5 s, or more"),
        ({"seen_ttl": "100 ms"}, "seen_ttl is 100 ms"),
        ({"heartbeat": "100 s"}, "seen_ttl is 120 s, .*, 500 s, or more"),
        ({"validation": "116 s"}, "seen_ttl is 120 s, .*, 121 s, or more"),
        ({"preset": "ethereum", "seen_ttl": "4199 ms"}, ", 4.2 s, or more"),
        ({"mcache_len": 1001}, "less than or equal to 1000"),
        ({"idontwant_ttl": 1001}, "less than or equal to 1000"),
        ({"view": 1001}, "less than or equal to 1000"),
        ({"application_scores": {"x": 1.0}}, "Write it in digits"),
        ({"application_scores": {"03": 1.0}}, "Write it in digits"),
        ({"application_scores": {"-1": 1.0}}, "peers have numbers from 0 on"),
        ({"application_scores": {-1: 1.0}}, "peers have numbers from 0 on"),
    ],
)
def test_values_that_do_not_fit_are_refused(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        GossipSubParameters.model_validate(given)


def test_who_scores_above_zero_by_its_time_in_a_mesh_is_forgotten_when_it_disconnects() -> None:
    environment = FakeEnvironment(0)
    weights = {"invalid_message_deliveries_weight": -1.0, "time_in_mesh_weight": 1.0}
    tested = gossipsub(environment, score=weights)
    tested.start([])
    connect(environment, 1)
    environment.advance(12.0)
    tested._scores.delivered_invalid(1, OF_MESH)
    environment.hand_over(1, ConnectionAlive([OF_MESH]))
    assert tested._scores.score(1) > 0.0
    environment.hand_over(1, ConnectionEnd())
    assert tested._scores.score(1) == 0.0


def test_what_lacked_in_a_mesh_counts_once_when_a_peer_disconnects_and_its_link_is_removed() -> None:
    rules = {
        "mesh_message_deliveries_weight": -1.0,
        "mesh_message_deliveries_threshold": 4.0,
        "mesh_message_deliveries_cap": 8.0,
        "mesh_message_deliveries_activation": "1 s",
        "mesh_failure_penalty_weight": -1.0,
    }
    tested = scores(**rules)
    tested.graft(1, TOPIC, 0.0)
    tested.decay(5.0)
    tested.disconnect(1, 5.0)
    once = tested.score(1)
    tested.prune(1, TOPIC)
    assert tested.score(1) == once < 0.0


@pytest.mark.parametrize(
    "given",
    [
        {"preset": "specification"},
        {"preset": "ethereum"},
        {"preset": "filecoin"},
        {"preset": "ethereum", "seen_ttl": "4200 ms"},
        {"heartbeat": "100 ms", "mcache_len": 3, "seen_ttl": "300 ms"},
    ],
)
def test_a_seen_ttl_as_long_as_a_message_can_come_again_is_taken(given: dict[str, Any]) -> None:
    GossipSubParameters.model_validate(given)


def test_a_file_gives_peers_application_scores_by_their_numbers() -> None:
    given = json.dumps({"application_scores": {3: -100.0}})
    found = GossipSubParameters.model_validate_json(given, strict=True)
    assert found.application_scores == {3: -100.0}
    again = GossipSubParameters.model_validate(found.model_dump(mode="json"))
    assert again.application_scores == {3: -100.0}


def test_application_scores_of_peers_that_are_not_there_are_refused() -> None:
    found = GossipSubParameters.model_validate({"application_scores": {9: 1.0, 4: 1.0, 5: 1.0}})
    assert misfits(found, Mock(peers=5), None) == [
        ("application_scores", "there is no peer 5. They are 0 to 4")
    ]
    assert misfits(found, Mock(peers=10), None) == []
    assert SYSTEMS["gossipsub-broadcast"].misfits == f"{misfits.__module__}:misfits"
