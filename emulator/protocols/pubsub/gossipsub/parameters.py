"""The parameters of GossipSub, and the values of two networks that run it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from emulator.contract.workload import Trial
from emulator.files.quantities import Duration, RateOr0, format_duration
from emulator.protocols.pubsub.gossipsub.presets import PRESETS
from emulator.protocols.pubsub.gossipsub.score_parameters import ScoreParameters


def _peer(key: Any) -> Any:
    """Return the number of a peer, which is a text where it is the key of a file."""
    if isinstance(key, str):
        if not (key.isascii() and key.removeprefix("-").isdigit() and str(int(key)) == key):
            raise ValueError("a key here is the number of a peer. Write it in digits, such as 3: -100.0")
        key = int(key)
    if isinstance(key, int) and key < 0:
        raise ValueError("peers have numbers from 0 on. Write the number of a peer, such as 3: -100.0")
    return key


PeerKey = Annotated[int, BeforeValidator(_peer)]
"""The number of a peer as the key of a mapping."""


def misfits(parameters: GossipSubParameters, trial: Trial, round_trips: object) -> list[tuple[str, str]]:
    """Return the key and the problem if a peer has an application score that the trial does not have."""
    strangers = sorted(peer for peer in parameters.application_scores if peer >= trial.peers)
    text = f"there is no peer {strangers[0]}. They are 0 to {trial.peers - 1}" if strangers else ""
    return [("application_scores", text)] if strangers else []


class GossipSubParameters(BaseModel):
    """The parameters of GossipSub; docs/systems/gossipsub.md says where the values come from."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    preset: Literal["specification", "ethereum", "filecoin"] = Field(
        "specification", description="the network whose values the parameters have that are not given"
    )
    version: Literal["1.0", "1.1", "1.2"] = Field("1.1", description="the version of the protocol")
    degree: int = Field(6, ge=1, le=1000, description="D: peers that a mesh is filled or pruned to")
    degree_low: int = Field(4, ge=0, description="D_low: a mesh with fewer peers is filled; at most `degree`")
    degree_high: int = Field(
        12, ge=1, description="D_high: a mesh with more peers is pruned; at least `degree`"
    )
    degree_lazy: int = Field(6, ge=0, description="D_lazy: fewest peers that gossip goes to; 0: no gossip")
    degree_score: int = Field(4, ge=0, description="D_score: best peers that a prune keeps (v1.1)")
    degree_out: int = Field(
        2,
        ge=0,
        description="D_out: peers in a mesh that it connected to itself; below `degree_low`, and at most "
        "half of `degree` (v1.1)",
    )
    heartbeat: Duration = Field(1.0, gt=0, description="time between two heartbeats")
    fanout_ttl: Duration = Field(60.0, gt=0, description="time without a publication that a fan-out stays")
    mcache_len: int = Field(5, ge=1, le=1000, description="heartbeats for which a message can be asked for")
    mcache_gossip: int = Field(
        3, ge=0, description="heartbeats in which gossip tells of a message; at most `mcache_len`"
    )
    seen_ttl: Duration = Field(
        120.0,
        gt=0,
        description="time for which a message is known as seen: at least as long as it is validated and can "
        "be asked for",
    )
    flood_publish: bool = Field(
        True, description="whether own messages go to all connected peers of the topic (v1.1)"
    )
    gossip_factor: float = Field(
        0.25, ge=0, le=1, description="share of the peers outside of the mesh that gossip goes to (v1.1)"
    )
    prune_backoff: Duration = Field(60.0, ge=1, description="time after a prune without a graft (v1.1)")
    unsubscribe_backoff: Duration = Field(10.0, ge=1, description="the same after leaving a topic (v1.1)")
    px_peers: int = Field(16, ge=0, description="peers that a prune tells of; 0: no peer exchange (v1.1)")
    opportunistic_graft_period: Duration = Field(
        60.0, gt=0, description="time between two looks at the median score of a mesh (v1.1)"
    )
    opportunistic_graft_peers: int = Field(2, ge=0, description="peers that are grafted then (v1.1)")
    max_ihave_messages: int = Field(
        10, ge=1, description="IHAVE of a peer in a heartbeat that are heeded (v1.1)"
    )
    max_ihave_length: int = Field(
        5000, ge=1, description="messages that a peer is asked for in a heartbeat (v1.1)"
    )
    gossip_retransmission: int = Field(
        3, ge=1, description="times that a peer gets a message by IWANT (v1.1)"
    )
    iwant_followup: Duration = Field(
        3.0, gt=0, description="time that a peer has to send what it told of, before P7 (v1.1)"
    )
    idontwant_threshold: int = Field(
        1024, ge=0, description="bytes of a payload from which IDONTWANT is sent (v1.2)"
    )
    max_idontwant_messages: int = Field(
        1000, ge=0, description="IDONTWANT of a peer in a heartbeat that are heeded (v1.2)"
    )
    idontwant_ttl: int = Field(
        3, ge=1, le=1000, description="heartbeats for which an IDONTWANT is kept (v1.2)"
    )
    uplink: RateOr0 = Field(
        0,
        description="rate at which copies of large messages leave one after the other, so that an IDONTWANT "
        "spares those that wait; 0: all copies are handed to the network at once (v1.2)",
    )
    validation: Duration = Field(0.0, ge=0, description="time that the validation of a message takes")
    score: ScoreParameters = Field(default_factory=ScoreParameters, description="the score of peers (v1.1)")
    application_scores: dict[PeerKey, float] = Field(
        default_factory=dict, description="P5 that all peers give these peers, such as bootstrappers (v1.1)"
    )
    connections: int = Field(
        20,
        ge=2,
        le=10_000,
        description="connections of a peer in the mean: it makes half of them itself; a mesh has no more",
    )
    most_connections: int = Field(
        400, ge=2, le=100_000, description="connections from which on a peer refuses others"
    )
    keepalive: Duration = Field(
        10.0, gt=0, description="time between two signs of life on a connection, which three missing ones end"
    )
    view: int = Field(
        20, ge=2, le=1000, description="peers in the Newscast view, from which connections are made"
    )
    discovery: Duration = Field(1.0, gt=0, description="length of a round of Newscast and of connecting")
    topic_discovery: bool = Field(
        False,
        description="whether peers name their topics in Newscast, and connect to others of a topic while its "
        "mesh is below degree_low",
    )
    request_timeout: Duration = Field(2.0, gt=0, description="time that a peer has to accept a connection")
    tell_mesh: bool = Field(
        False, description="whether peers tell of each graft and prune, for the measures of meshes over time"
    )

    @model_validator(mode="before")
    @classmethod
    def _take_preset(cls, given: Any) -> Any:
        """Fill in the preset's values where none is given."""
        if not isinstance(given, Mapping):
            return given
        preset = PRESETS.get(str(given.get("preset", "specification")), {})
        filled = {**preset, **given}
        if "score" in preset and isinstance(given.get("score"), Mapping):
            filled["score"] = {**preset["score"], **given["score"]}
        return filled

    @model_validator(mode="after")
    def _bounds_fit(self) -> GossipSubParameters:
        if not self.degree_low <= self.degree <= self.degree_high:
            raise ValueError(
                f"degree_low {self.degree_low}, degree {self.degree} and degree_high {self.degree_high} "
                "have to be in this order. Change one of them"
            )
        if self.mcache_gossip > self.mcache_len:
            raise ValueError(f"mcache_gossip is more than mcache_len, {self.mcache_len}. Lower it")
        if self.seen_ttl < self._comes_again:
            raise ValueError(
                f"seen_ttl is {format_duration(self.seen_ttl)}, and a message that is forgotten while it can "
                "come again is delivered again. Raise seen_ttl to validation + mcache_len x heartbeat, "
                f"{format_duration(self._comes_again)}, or more"
            )
        if self.version != "1.0" and self.degree_out and not self._out_fits:
            raise ValueError(
                f"degree_out is {self.degree_out}: it has to be less than degree_low and at most half of "
                "degree (v1.1, Outbound Mesh Quotas). Lower it"
            )
        if self.uplink and self.version != "1.2":
            raise ValueError(f"uplink is for version 1.2, and version is {self.version}. Leave it out")
        if self.connections // 2 > self.most_connections:
            raise ValueError(
                f"most_connections is {self.most_connections}, and a peer makes half of connections, "
                f"{self.connections // 2}, itself. Raise most_connections to that or more"
            )
        return self

    @property
    def _comes_again(self) -> float:
        """The time (s) for which a message is validated and can be asked for, to the nanosecond."""
        return round(self.validation + self.mcache_len * self.heartbeat, 9)

    @property
    def _out_fits(self) -> bool:
        return self.degree_out < self.degree_low and 2 * self.degree_out <= self.degree
