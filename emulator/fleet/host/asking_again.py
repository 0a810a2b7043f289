"""The time after which a caller asks a coordinator again that did not answer, or told it to ask again."""

from __future__ import annotations

from typing import Any

import grpc.aio

AFTER = "trellis-ask-again-after"
"""The key in a refusal's trailing metadata of the wall seconds after which the caller is to ask again."""
_PAUSE = 0.5
_LONGEST = 60.0


def pause_after(error: grpc.aio.AioRpcError) -> float:
    """Return the wall seconds to the next call: those that the coordinator told, at most 60, or 0.5."""
    trailing: Any = error.trailing_metadata() or ()
    told = next((value for key, value in trailing if key == AFTER), None)
    return min(float(told), _LONGEST) if isinstance(told, str) and told.isdecimal() else _PAUSE
