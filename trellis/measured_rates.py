"""The rates of the repository's systems, as `python -m benchmarks.rates` measured them."""

from __future__ import annotations

from typing import Final

from trellis.system_rate import SystemRate

RATES: Final[dict[str, SystemRate]] = {
    "gossipsub": SystemRate(10.5, 4.2, 19.9, 0.39, 139700000.0, 57000.0),
    "gossipsub-broadcast": SystemRate(8.28, 8.61, 38.7, 0.71, 138300000.0, 68000.0),
    "opt": SystemRate(20.4, 9.26, 8.54, 0.4, 139700000.0, 25000.0),
    "rvr": SystemRate(29.3, 8.08, 5.19, 0.6, 139800000.0, 31000.0),
}
