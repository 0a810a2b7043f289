"""The system's errors in reading and writing files, as sentences that name the file."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_FULL = (errno.ENOSPC, errno.EDQUOT)
_FULL_IN_WORDS = ("No space left on device", "Disk quota exceeded")


@contextmanager
def naming(what: str | Path) -> Iterator[None]:
    """Add a name to an OSError without one; those of `write`, of pyarrow and of sockets have none."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(what)
        raise


def full_disk(error: BaseException | None) -> str:
    """Return a sentence if a full disk is behind an error, also one that Java tells of; otherwise ""."""
    while error is not None:
        known = isinstance(error, OSError) and error.errno in _FULL
        if known or any(words in str(error) for words in _FULL_IN_WORDS):
            name = error.filename if isinstance(error, OSError) else None
            return f"the disk is full: {name or 'a file'} could not be written. Make room and resume the run"
        error = error.__cause__ or error.__context__
    return ""


def told(error: OSError) -> str:
    """Return an error of the system in one line."""
    if full := full_disk(error):
        return full
    what = error.strerror or " ".join(str(error).split()) or type(error).__name__
    return f"{_shortened(str(error.filename))}: {what}" if error.filename is not None else what


def _shortened(name: str) -> str:
    return name if len(name) <= 300 else f"{name[:300]}..."
