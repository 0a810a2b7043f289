"""Detection of messages that a Collector wrote more than once, whole or in part.

A sender that got no answer sends its message again. If the Collector had written it, the same record is in
the files twice; if the Collector was killed while it wrote, the beginning of the record is there, and later
the whole of it.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from emulator.telemetry.otlp_files import Cut, scan_records

_RECOGNIZED_BYTES = 256
"""The bytes by which records are told apart at first: senders and first spans may be alike at the
beginning."""


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of a file, without records that are also in an earlier place."""

    path: Path
    records: list[tuple[int, int]]
    """The frames as (offset, length), in bytes."""
    cuts: list[Cut]
    """The stretches that are no whole record in this file and whose record is nowhere whole."""


def scan_once(paths: Iterable[Path]) -> list[Contents]:
    """Return the records of one trial's files of one signal, each once, in the order of files and offsets."""
    found = [Contents(path, *scan_records(path)) for path in paths]
    alike: dict[int, list[tuple[Path, int]]] = defaultdict(list)
    for contents in found:
        for offset, length in contents.records:
            alike[length].append((contents.path, offset))
    again = _repeated(alike)
    return [
        Contents(
            contents.path,
            [record for record in contents.records if (contents.path, record[0]) not in again],
            [cut for cut in contents.cuts if not _is_whole_elsewhere(cut, alike)],
        )
        for contents in found
    ]


def _repeated(alike: dict[int, list[tuple[Path, int]]]) -> set[tuple[Path, int]]:
    """Return the places at which frames begin whose content is also in an earlier place."""
    again = set()
    for length, places in alike.items():
        seen = set()
        for path, offset in places if len(places) > 1 else ():
            digest = hashlib.blake2b(_bytes(path, offset, length)).digest()
            if digest in seen:
                again.add((path, offset))
            seen.add(digest)
    return again


def _is_whole_elsewhere(cut: Cut, alike: dict[int, list[tuple[Path, int]]]) -> bool:
    """Return whether the stretch that was cut off is the beginning of a whole record."""
    if cut.lost_bytes < _RECOGNIZED_BYTES:
        return False
    beginning = _bytes(cut.path, cut.offset, cut.lost_bytes)
    length = int.from_bytes(beginning[:4], "big")
    return any(
        _bytes(path, offset - 4, len(beginning)) == beginning for path, offset in alike.get(length, ())
    )


def _bytes(path: Path, offset: int, length: int) -> bytes:
    with path.open("rb") as file:
        file.seek(offset)
        return file.read(length)
