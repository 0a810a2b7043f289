"""The rates of the repository's systems, as `python -m benchmarks.rates` measured them."""

from __future__ import annotations

from typing import Final

from trellis.system_rate import SystemRate

RATES: Final[dict[str, SystemRate]] = {
    "chord": SystemRate(2.08, 0.0, 7.51, False, 11.8, 0.71, 163100000.0, 24000.0, (("stabilization", 0.63),)),
    "flood-hyparview": SystemRate(
        2.76,
        0.0,
        3.91,
        False,
        10.6,
        0.59,
        162100000.0,
        14000.0,
        (("membership.period", 0.41), ("membership.keepalive", 0.4)),
    ),
    "gossipsub": SystemRate(
        8.58,
        0.334,
        4.39,
        False,
        10.8,
        1.08,
        162300000.0,
        57000.0,
        (("heartbeat", 0.09), ("score.decay_interval", 0.089), ("keepalive", 0.18), ("discovery", 0.4)),
    ),
    "gossipsub-broadcast": SystemRate(
        10.1,
        0.0,
        8.45,
        True,
        14.4,
        0.36,
        159200000.0,
        70000.0,
        (("heartbeat", 0.12), ("score.decay_interval", 0.11), ("keepalive", 0.24), ("discovery", 0.47)),
    ),
    "kyra": SystemRate(
        7.89,
        0.344,
        0.498,
        False,
        19.4,
        0.66,
        165100000.0,
        59000.0,
        (("cliques.ping", 0.36), ("cliques.gossip", 0.25), ("cliques.tending", 0.21), ("report", 0.076)),
    ),
    "li": SystemRate(
        10.6, 0.673, 0.257, False, 31.8, 0.49, 170000000.0, 0.0, (("overlay.join_timeout", 0.17),)
    ),
    "opt": SystemRate(9.35, 2.01, 9.27, True, 6.83, 0.34, 162400000.0, 25000.0, (("period", 1.0),)),
    "pastry": SystemRate(4.36, 0.0, 2.4, True, 26.2, 0.56, 163200000.0, 38000.0, (("probe_timeout", 0.1),)),
    "plumtree-hyparview": SystemRate(
        2.71,
        0.0,
        4.68,
        False,
        8.1,
        0.58,
        162800000.0,
        0.0,
        (("membership.period", 0.41), ("membership.keepalive", 0.4)),
    ),
    "push-gossip-hyparview": SystemRate(
        2.75,
        0.0,
        9.98,
        False,
        7.08,
        0.57,
        162100000.0,
        16000.0,
        (("membership.period", 0.41), ("membership.keepalive", 0.4)),
    ),
    "rvr": SystemRate(29.8, 0.33, 6.52, False, 6.4, 0.56, 162800000.0, 31000.0, (("period", 0.99),)),
    "siena": SystemRate(
        3.73, 0.0069, 0.333, False, 8.9, 0.93, 165400000.0, 21000.0, (("beat", 0.89), ("patience", 0.084))
    ),
    "small-world": SystemRate(29.2, 0.0, 4.75, True, 3.4, 0.54, 162600000.0, 20000.0, (("period", 1.0),)),
    "swim": SystemRate(3.06, 0.0, 0.0, False, 50.6, 0.58, 153900000.0, 42000.0, (("period", 0.97),)),
}
