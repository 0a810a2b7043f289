"""A run directory as one stream: a tar in one zstd frame that says at its end what it holds.

The last member lists how many files and bytes went before it, and the frame ends with a checksum, so
whoever unpacks the stream knows that it came whole.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import stat
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Protocol, cast

import zstandard

_CONTENTS = ".trellis-contents"
_CHUNK = 1 << 18
_MAX_CONTENTS = 1 << 12


class ArchiveError(Exception):
    """A stream that did not come whole, or is none of ours."""


class Sink(Protocol):
    def write(self, data: bytes, /) -> int: ...


class Source(Protocol):
    def read(self, size: int, /) -> bytes: ...


def pack(folder: Path, sink: Sink) -> None:
    """Write the archive of a run directory, also while it grows.

    Of a file that grows, what it held when its turn came is taken; drafts (`*.new`, what Spark is still
    writing) are left out, and so is what vanishes meanwhile. Raises OSError if a file shrinks while it
    is read, and what `sink` raises; the archive is then incomplete, and `unpack` says so.
    """
    files = size = 0
    compressor = zstandard.ZstdCompressor(level=3, write_checksum=True)
    with (
        compressor.stream_writer(cast(IO[bytes], sink), closefd=False) as frame,
        tarfile.open(fileobj=frame, mode="w|", format=tarfile.PAX_FORMAT, bufsize=_CHUNK) as tar,
    ):
        for path in _finished(folder):
            added = _add(tar, path, path.relative_to(folder).as_posix())
            if added is not None:
                files, size = files + 1, size + added
        contents = json.dumps({"files": files, "bytes": size}).encode()
        info = tarfile.TarInfo(_CONTENTS)
        info.size = len(contents)
        tar.addfile(info, io.BytesIO(contents))


def _finished(folder: Path) -> Iterator[Path]:
    """Everything below the folder, without drafts; a folder comes before what is in it."""
    for path in sorted(folder.iterdir()):
        if path.name.endswith(".new") or path.name.startswith((".", "_")):
            continue
        yield path
        if path.is_dir() and not path.is_symlink():
            try:
                yield from _finished(path)
            except FileNotFoundError:
                continue


def _add(tar: tarfile.TarFile, path: Path, name: str) -> int | None:
    """Add a file or a folder; the bytes of a file, None for all else."""
    info = tarfile.TarInfo(name)
    if path.is_dir() and not path.is_symlink():
        info.type, info.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(info)
        return None
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError:
        if path.is_symlink():
            return None
        raise
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return None
        info.mtime, info.size = int(found.st_mtime), found.st_size
        tar.addfile(info, file)
    return info.size


def unpack(source: Source, folder: Path, watch: Callable[[int], None] = lambda _: None) -> None:
    """Write what `pack` packed into an empty folder; `watch` is told the bytes that have come.

    Raises ArchiveError if the stream ends early, is damaged, or names a file outside the folder, and
    OSError; what came is then left in the folder.
    """
    frame = _Frame(source, watch)
    files = size = 0
    contents: dict[str, int] | None = None
    try:
        with tarfile.open(fileobj=cast(IO[bytes], frame), mode="r|", bufsize=_CHUNK) as tar:
            for member in tar:
                if member.name == _CONTENTS:
                    contents = _read_contents(tar, member)
                    continue
                target = folder / _inside(member.name)
                if member.isdir():
                    target.mkdir(parents=True, exist_ok=True)
                elif member.isreg() and (data := tar.extractfile(member)) is not None:
                    target.parent.mkdir(parents=True, exist_ok=True)
                    with target.open("xb") as file:
                        shutil.copyfileobj(data, file, _CHUNK)
                    os.utime(target, (member.mtime, member.mtime))
                    files, size = files + 1, size + member.size
                else:
                    raise ArchiveError(f"the archive has a {member.name} that is neither file nor folder")
        frame.finish()
    except (tarfile.TarError, zstandard.ZstdError, EOFError, ValueError) as error:
        raise ArchiveError(f"the archive is damaged: {error}") from None
    if contents is None:
        raise ArchiveError("the archive ends early")
    if contents != {"files": files, "bytes": size}:
        told = f"{contents.get('files')} files and {contents.get('bytes')} bytes"
        raise ArchiveError(f"the archive should hold {told}, but {files} files and {size} bytes came")


def _read_contents(tar: tarfile.TarFile, member: tarfile.TarInfo) -> dict[str, int]:
    data = tar.extractfile(member)
    if data is None or member.size > _MAX_CONTENTS:
        raise ArchiveError("the archive does not say what it holds")
    return dict(json.loads(data.read()))


def _inside(name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise ArchiveError(f"the archive names a file outside the run directory: {name}")
    return path


class _Frame:
    """The content of the one zstd frame in a stream."""

    def __init__(self, source: Source, watch: Callable[[int], None]) -> None:
        self._source = source
        self._watch = watch
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._left = b""
        self._came = 0

    def read(self, size: int) -> bytes:
        """At most `size` bytes, fewer only at the end. Raises EOFError if the stream ends in the frame."""
        parts = [self._left]
        have = len(self._left)
        while have < size and not self._frame.eof:
            data = self._source.read(_CHUNK)
            if not data:
                raise EOFError("it ends early")
            self._came += len(data)
            self._watch(self._came)
            parts.append(self._frame.decompress(data))
            have += len(parts[-1])
        whole = b"".join(parts)
        self._left = whole[size:]
        return whole[:size]

    def finish(self) -> None:
        """Read on to the frame's checksum. Raises EOFError and ZstdError."""
        while self.read(_CHUNK):
            pass
