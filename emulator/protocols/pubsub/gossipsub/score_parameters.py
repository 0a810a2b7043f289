"""The parameters of GossipSub's peer scores, by the names of the specification's tables."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, model_validator

from emulator.files.quantities import Duration
from emulator.protocols.pubsub.gossipsub.scores import ScoreRules, TopicRules

_OF_PEER = frozenset(
    (
        *("topic_score_cap", "app_specific_weight", "decay_to_zero", "retain_score"),
        *("graylist_threshold", "ip_colocation_factor_weight", "ip_colocation_factor_threshold"),
        *("behaviour_penalty_weight", "behaviour_penalty_threshold", "behaviour_penalty_decay"),
    )
)
"""The parameters of a peer as a whole."""
_OF_THRESHOLDS = frozenset(
    (
        *("gossip_threshold", "publish_threshold", "accept_px_threshold"),
        *("opportunistic_graft_threshold", "decay_interval"),
    )
)
"""The parameters that are none of scores. All others are of topics."""


class ScoreParameters(BaseModel):
    """Thresholds, weights and decays; the specification gives no values, so the defaults are ours.

    All topics have the same.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    gossip_threshold: float = Field(
        -10.0, lt=0, description="below: no gossip with the peer; at least `publish_threshold`"
    )
    publish_threshold: float = Field(-50.0, lt=0, description="below: own messages do not go to the peer")
    graylist_threshold: float = Field(
        -80.0, lt=0, description="below: all that the peer sends is ignored; at most `publish_threshold`"
    )
    accept_px_threshold: float = Field(
        100.0, ge=0, description="from it on: a prune's peers are connected to"
    )
    opportunistic_graft_threshold: float = Field(
        1.0, ge=0, description="median score of a mesh below which better peers are grafted"
    )
    decay_interval: Duration = Field(1.0, gt=0, description="time between two decays of all counters")
    decay_to_zero: float = Field(0.01, ge=0, description="value below which a counter becomes 0")
    retain_score: Duration = Field(600.0, ge=0, description="time for which the score of a gone peer stays")
    topic_score_cap: float = Field(0.0, ge=0, description="most that P1 to P4 of all topics add; 0: no cap")
    app_specific_weight: float = Field(1.0, ge=0, description="of P5")
    ip_colocation_factor_weight: float = Field(-10.0, le=0, description="of P6")
    ip_colocation_factor_threshold: int = Field(1, ge=1, description="peers at one address without P6")
    behaviour_penalty_weight: float = Field(-10.0, le=0, description="of P7")
    behaviour_penalty_threshold: float = Field(0.0, ge=0, description="misbehaviour without P7")
    behaviour_penalty_decay: float = Field(0.99, gt=0, lt=1, description="of P7")
    topic_weight: float = Field(1.0, ge=0, description="weight of each topic")
    time_in_mesh_weight: float = Field(0.01, ge=0, description="of P1")
    time_in_mesh_quantum: Duration = Field(1.0, gt=0, description="time in the mesh that counts as 1")
    time_in_mesh_cap: float = Field(10.0, ge=0, description="most of P1")
    first_message_deliveries_weight: float = Field(1.0, ge=0, description="of P2")
    first_message_deliveries_decay: float = Field(0.98, gt=0, lt=1, description="of P2")
    first_message_deliveries_cap: float = Field(50.0, ge=0, description="most of P2")
    mesh_message_deliveries_weight: float = Field(0.0, le=0, description="of P3; 0: off")
    mesh_message_deliveries_decay: float = Field(0.97, gt=0, lt=1, description="of P3")
    mesh_message_deliveries_threshold: float = Field(
        1.0, ge=0, description="deliveries in the mesh below which P3 counts what lacks"
    )
    mesh_message_deliveries_cap: float = Field(20.0, ge=0, description="most of the counter of P3")
    mesh_message_deliveries_activation: Duration = Field(
        30.0, ge=0, description="time in the mesh before P3 counts"
    )
    mesh_message_delivery_window: Duration = Field(
        0.01, ge=0, description="time after the validation of a message in which a copy still counts for P3"
    )
    mesh_failure_penalty_weight: float = Field(0.0, le=0, description="of P3b; 0: off")
    mesh_failure_penalty_decay: float = Field(0.98, gt=0, lt=1, description="of P3b")
    invalid_message_deliveries_weight: float = Field(-10.0, le=0, description="of P4")
    invalid_message_deliveries_decay: float = Field(0.99, gt=0, lt=1, description="of P4")

    @model_validator(mode="after")
    def _thresholds_fit(self) -> ScoreParameters:
        if not self.graylist_threshold <= self.publish_threshold <= self.gossip_threshold:
            raise ValueError(
                f"graylist_threshold {self.graylist_threshold:g}, "
                f"publish_threshold {self.publish_threshold:g} and "
                f"gossip_threshold {self.gossip_threshold:g} have to be in this order, the lowest first. "
                "Change one of them"
            )
        if self.mesh_message_deliveries_cap < self.mesh_message_deliveries_threshold:
            raise ValueError(
                "mesh_message_deliveries_cap is below the threshold, so P3 always counts. Raise it"
            )
        return self

    def rules(self) -> ScoreRules:
        """Return the same as plain numbers, for the protocol."""
        of_peer = {name: getattr(self, name) for name in _OF_PEER}
        others = type(self).model_fields.keys() - _OF_PEER - _OF_THRESHOLDS
        return ScoreRules(TopicRules(**{name: getattr(self, name) for name in others}), **of_peer)
