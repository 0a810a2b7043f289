"""Opens trace and matrix files that may be compressed: what a file is, its first bytes tell, not its name."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from pathlib import Path
from typing import IO, BinaryIO, cast

from emulator.files.reading import open_regular
from emulator.files.trace_error import TraceError

_GZIP, _XZ, _BZIP2, _ZIP = b"\x1f\x8b", b"\xfd7zXZ\x00", b"BZh", b"PK\x03\x04"
_OTHERS = {
    b"\x28\xb5\x2f\xfd": "zstd",
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"\x89HDF": "HDF5",
    b"PAR1": "Parquet",
    b"%PDF": "PDF",
}
DAMAGE = (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, gzip.BadGzipFile, RuntimeError)
"""The errors that reading a damaged or an encrypted file raises."""


_TAR = b"ustar"
_TAR_AT = 257


def name_of(line: bytes) -> str | None:
    """Return what an uncompressed file is by its first line, if that is no text that a file of traces has."""
    if line[_TAR_AT : _TAR_AT + len(_TAR)] == _TAR:
        return "tar"
    packed = {_GZIP: "gz", _XZ: "xz", _BZIP2: "bz2", _ZIP: "zip", b"\x93NUMPY": "NumPy", **_OTHERS}
    return next((name for magic, name in packed.items() if line.startswith(magic)), None)


def open_content(file: Path, most: int) -> IO[bytes]:
    """Open a file of at most `most` bytes for what is in it, uncompressed.

    Raises OSError as `open_regular` does, and TraceError for an archive that has not exactly one file.
    """
    raw = cast(io.BufferedReader, open_regular(file, most))
    begin = raw.peek(8)[:8]
    if begin.startswith(_GZIP):
        return cast(BinaryIO, gzip.GzipFile(fileobj=raw))
    if begin.startswith(_XZ):
        return cast(BinaryIO, lzma.LZMAFile(raw))
    if begin.startswith(_BZIP2):
        return cast(BinaryIO, bz2.BZ2File(raw))
    if begin.startswith(_ZIP):
        return _only_member(raw, file)
    for magic, name in _OTHERS.items():
        if begin.startswith(magic):
            raw.close()
            raise TraceError(file, 0, f"is a {name} file. Write it as text; gz, xz, bz2 and zip are read")
    return raw


def _only_member(raw: BinaryIO, file: Path) -> IO[bytes]:
    try:
        archive = zipfile.ZipFile(raw)
        members = [member for member in archive.infolist() if not member.is_dir()]
        if len(members) == 1:
            return archive.open(members[0])
    except DAMAGE as error:  # a kind of compression that is not known is a RuntimeError, too
        raw.close()
        raise TraceError(file, 0, f"is a zip file that cannot be read: {error}") from error
    raw.close()
    names = ", ".join(member.filename[:40] for member in members[:5])
    raise TraceError(
        file, 0, f"is a zip file of {len(members)} files ({names}). Unpack it and name one of them"
    )
