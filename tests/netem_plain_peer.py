"""A host as in a pod, on a kernel that may lack netem: plain queues without delay stand for netem's.

Trials have to be of delays that are rounded to 0, or hosts find their round trips wrong.
"""

from __future__ import annotations

import sys
from functools import partial

from emulator.network.netem import messages, shaper
from services import peer

if __name__ == "__main__":
    shaper.why_unavailable = lambda: None
    shaper.Netem = partial(shaper.Netem, leaf=messages.plain_leaf)  # type: ignore[assignment,misc]
    sys.exit(peer.main())
