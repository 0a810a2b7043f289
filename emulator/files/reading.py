"""Opens files that a user names, which must be regular files of a bounded size and no pipes or devices."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def open_regular(path: Path, most: int) -> BinaryIO:
    """Open a regular file of at most this many bytes, without ever waiting for it.

    Raises OSError whose `strerror` can be told after "cannot be read:".
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError as error:  # such as a name with a NUL in it
        raise OSError(errno.EINVAL, f"no file can have that name ({error})", str(path)) from None
    facts = os.fstat(descriptor)
    if not stat.S_ISREG(facts.st_mode):
        os.close(descriptor)
        kind = _KINDS.get(stat.S_IFMT(facts.st_mode), "something else")
        raise OSError(errno.EINVAL, f"it is {kind}, not a file", str(path))
    if facts.st_size > most:
        os.close(descriptor)
        raise OSError(errno.EFBIG, _too_large(most), str(path))
    return os.fdopen(descriptor, "rb")


def read_regular(path: Path, most: int) -> bytes:
    """Return the content of a regular file of at most this many bytes.

    Raises OSError as `open_regular` does.
    """
    with open_regular(path, most) as file:
        content: bytes | None = file.read(most + 1)
    if content is None:  # it would have to be waited for
        raise OSError(errno.EAGAIN, "it holds nothing now", str(path))
    if len(content) > most:  # it grew, or its size was not known
        raise OSError(errno.EFBIG, _too_large(most), str(path))
    return content


def _too_large(most: int) -> str:
    return f"it has more than the {most:,} bytes that are allowed"
