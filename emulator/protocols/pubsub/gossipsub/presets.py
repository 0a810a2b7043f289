"""The values of two networks that run GossipSub, as far as we remember their programs.

Both leave P3 and P3b off, as these networks do by default or did after they had pruned honest peers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final


def _decay(seconds: float, interval: float) -> float:
    """Return the factor for each interval by which a counter falls to a hundredth in a time (s)."""
    return float(0.01 ** (interval / seconds))


_SLOT: Final = 12
"""The seconds of a slot of Ethereum's consensus, in each of which a block is published."""
_EPOCH: Final = 32 * _SLOT

PRESETS: Final[Mapping[str, Mapping[str, Any]]] = {
    "specification": {},
    "ethereum": {
        "degree": 8,
        "degree_low": 6,
        "degree_high": 12,
        "degree_lazy": 6,
        "degree_score": 4,
        "degree_out": 3,
        "heartbeat": "700 ms",
        "mcache_len": 6,
        "mcache_gossip": 3,
        "seen_ttl": f"{2 * _EPOCH} s",
        "flood_publish": False,
        "px_peers": 0,
        "score": {
            "gossip_threshold": -4000.0,
            "publish_threshold": -8000.0,
            "graylist_threshold": -16000.0,
            "accept_px_threshold": 100.0,
            "opportunistic_graft_threshold": 5.0,
            "decay_interval": f"{_SLOT} s",
            "retain_score": f"{100 * _EPOCH} s",
            "topic_score_cap": 53.75,
            "ip_colocation_factor_weight": -35.11,
            "ip_colocation_factor_threshold": 10,
            "behaviour_penalty_weight": -15.92,
            "behaviour_penalty_threshold": 6.0,
            "behaviour_penalty_decay": _decay(10 * _EPOCH, _SLOT),
            "topic_weight": 0.5,
            "time_in_mesh_weight": 0.0324,
            "time_in_mesh_quantum": f"{_SLOT} s",
            "time_in_mesh_cap": 300.0,
            "first_message_deliveries_weight": 1.0,
            "first_message_deliveries_decay": _decay(20 * _EPOCH, _SLOT),
            "first_message_deliveries_cap": 23.0,
            "invalid_message_deliveries_weight": -140.4475,
            "invalid_message_deliveries_decay": _decay(50 * _EPOCH, _SLOT),
        },
    },
    "filecoin": {
        "degree": 8,
        "degree_low": 6,
        "degree_high": 12,
        "degree_lazy": 12,
        "degree_score": 6,
        "degree_out": 3,
        "gossip_factor": 0.1,
        "mcache_len": 10,
        "iwant_followup": "5 s",
        "px_peers": 0,
        "score": {
            "gossip_threshold": -500.0,
            "publish_threshold": -1000.0,
            "graylist_threshold": -2500.0,
            "accept_px_threshold": 1000.0,
            "opportunistic_graft_threshold": 3.5,
            "decay_interval": "1 s",
            "retain_score": "6 h",
            "ip_colocation_factor_weight": -100.0,
            "ip_colocation_factor_threshold": 5,
            "behaviour_penalty_weight": -10.0,
            "behaviour_penalty_threshold": 6.0,
            "behaviour_penalty_decay": _decay(3600.0, 1.0),
            "topic_weight": 0.1,
            "time_in_mesh_weight": 0.0002778,
            "time_in_mesh_quantum": "1 s",
            "time_in_mesh_cap": 1.0,
            "first_message_deliveries_weight": 0.5,
            "first_message_deliveries_decay": _decay(600.0, 1.0),
            "first_message_deliveries_cap": 100.0,
            "invalid_message_deliveries_weight": -1000.0,
            "invalid_message_deliveries_decay": _decay(3600.0, 1.0),
        },
    },
}
"""The values of each preset that are not the defaults."""
