"""Names the system and the peer whose code raised an error, and the line of it."""

from __future__ import annotations

import traceback
from pathlib import PurePath

_OWN = "emulator"
"""The folder of Trellis' own code: compiled modules name their files from there on."""


def blame(error: BaseException, system: str, peer: int, at: float) -> None:
    """Add to an error the note that a system raised it, at which peer (-1: at none), at trial time `at` (s).

    The note has the last line of the error's traceback, and for a package the last one of its own code.
    """
    frames = traceback.extract_tb(error.__traceback__)
    of_package = [frame for frame in frames if _OWN not in PurePath(frame.filename).parts]
    lines = [f"{PurePath(frame.filename).name}:{frame.lineno}" for frame in (of_package or frames)[-1:]]
    at_peer = [f"at peer {peer}"] if peer >= 0 else []
    error.add_note(f"in {system} {' '.join([*at_peer, f'at {at:.3f} s', *lines])}")
