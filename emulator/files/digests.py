"""Digests of files, by which it is known whether one was changed since it was written."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from emulator.files.reading import open_regular

_AT_ONCE = 4
_LARGEST = 1 << 50
_PART = 1 << 20


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal. Raises OSError."""
    digest = hashlib.sha256()
    with open_regular(path, _LARGEST) as file:
        while part := file.read(_PART):
            digest.update(part)
    return digest.hexdigest()


def digests_of(paths: Iterable[Path], folder: Path) -> dict[str, str]:
    """Return the digests of files by their names from `folder`, in their order. Raises OSError."""
    found = sorted(paths)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        names = [path.relative_to(folder).as_posix() for path in found]
        return dict(zip(names, pool.map(digest_of, found), strict=True))
