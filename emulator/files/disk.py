"""What the system says when files cannot be written or read, in sentences that name the file."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_FULL = (errno.ENOSPC, errno.EDQUOT)
_FULL_IN_WORDS = ("No space left on device", "Disk quota exceeded")


@contextmanager
def naming(what: str | Path) -> Iterator[None]:
    """An OSError that names no file, as those of `write`, of pyarrow and of sockets, names this one."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(what)
        raise


def full_disk(error: BaseException | None) -> str:
    """A sentence if a full disk is behind an error, also one that Java tells of; else nothing."""
    while error is not None:
        known = isinstance(error, OSError) and error.errno in _FULL
        if known or any(words in str(error) for words in _FULL_IN_WORDS):
            name = error.filename if isinstance(error, OSError) else None
            return f"the disk is full: {name or 'a file'} could not be written. Make room and resume the run"
        error = error.__cause__ or error.__context__
    return ""


def told(error: OSError) -> str:
    """An error of the system in a line."""
    if full := full_disk(error):
        return full
    what = error.strerror or " ".join(str(error).split()) or type(error).__name__
    return f"{_shortened(str(error.filename))}: {what}" if error.filename is not None else what


def _shortened(name: str) -> str:
    return name if len(name) <= 300 else f"{name[:300]}..."
