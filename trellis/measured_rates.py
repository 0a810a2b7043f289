"""The rates of the repository's systems, as `python -m benchmarks.rates` measured them."""

from __future__ import annotations

from typing import Final

from trellis.system_rate import SystemRate

RATES: Final[dict[str, SystemRate]] = {
    "chord": SystemRate(2.08, 0.0, 7.51, False, 11.8, 0.71, 163100000.0, 24000.0, (('stabilization', 0.63),)),
    "gossipsub": SystemRate(8.58, 0.334, 4.39, False, 10.8, 1.08, 162300000.0, 57000.0, (('heartbeat', 0.09), ('score.decay_interval', 0.089), ('keepalive', 0.18), ('discovery', 0.4))),
    "gossipsub-broadcast": SystemRate(10.1, 0.0, 8.45, True, 14.4, 0.36, 159200000.0, 70000.0, (('heartbeat', 0.12), ('score.decay_interval', 0.11), ('keepalive', 0.24), ('discovery', 0.47))),
    "pastry": SystemRate(4.36, 0.0, 2.4, True, 26.2, 0.56, 163200000.0, 38000.0, (('probe_timeout', 0.1),)),
    "rvr": SystemRate(29.8, 0.33, 6.52, False, 6.4, 0.56, 162800000.0, 31000.0, (('period', 0.99),)),
}
