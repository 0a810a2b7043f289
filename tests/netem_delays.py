"""Hosts in namespaces of their own, netem between them, and the round trips of UDP echoes: as JSON.

`python tests/netem_delays.py HOSTS SEED` under a kernel with netem, as root. Prints one object:
`matrix`, `before`, `during`, `after` (RTTs in ms between hosts, null without an answer): what netem is
told, and what echoes took before netem, under netem, and when it was closed again.
"""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from typing import Any

from netem_probers import probers
from netem_world import hosts, within

from emulator.contract.random_streams import generator
from emulator.network.king_like import king_rtt
from emulator.network.netem.shaper import Netem, why_unavailable


def main(count: int, seed: int) -> dict[str, Any]:
    if (reason := why_unavailable()) is not None:
        raise SystemExit(reason)
    rtt = king_rtt(count, 0.180, generator(seed, "netem")).astype(float)
    with hosts(count) as places, probers(places, serving=True) as probe:
        found = {"matrix": (rtt * 1e3).tolist(), "before": probe.echoes()}
        with ExitStack() as stack:
            for own, name in enumerate(places.values()):
                with within(name):
                    netem = stack.enter_context(Netem(seed=seed))
                for other, address in enumerate(places):
                    netem.delay_to(address, rtt[own, other] / 2)
            found["during"] = probe.echoes()
        found["after"] = probe.echoes()
    return found


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]))))
