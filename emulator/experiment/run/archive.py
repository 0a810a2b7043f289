"""A run directory as one stream: a tar in one zstd frame that says at its end what it holds.

The last member lists how many files and bytes came before it, and the frame ends with a checksum, so whoever
unpacks the stream knows that it is complete.
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
_MAX_MEMBERS = 1_000_000
_MAX_BYTES = 1 << 40
_MAX_GROWTH, _FREE_GROWTH = 200, 1 << 28
"""The factor by which the content may exceed the stream so far, and the bytes (a quarter of a GiB) that it
may have in any case; archives of Trellis grow tenfold."""
_MAX_HEADER = 1 << 20
"""The most bytes of a member's header."""
_SLICE = 1 << 11
"""The bytes that are decompressed at once: a zstd frame may grow 30,000 times."""


class ArchiveError(Exception):
    """The stream is incomplete, or is no archive of Trellis."""


class ArchiveBomb(ArchiveError):
    """The stream would fill the disk or the memory, so it is no use to ask for it again."""


class Sink(Protocol):
    def write(self, data: bytes, /) -> int: ...


class Source(Protocol):
    def read(self, size: int, /) -> bytes: ...


def pack(folder: Path, sink: Sink) -> None:
    """Write the archive of a run directory, also while it grows.

    A file that grows is taken as it is when its turn comes; drafts (`*.new`, what Spark is still writing) are
    left out, and so is what vanishes meanwhile. Raises OSError if a file shrinks while it is read, and what
    `sink` raises; the archive is then incomplete, and `unpack` says so.
    """
    files = size = 0
    compressor = zstandard.ZstdCompressor(level=3, write_checksum=True)
    with (
        compressor.stream_writer(cast(IO[bytes], sink), closefd=False) as frame,
        tarfile.open(fileobj=frame, mode="w|", format=tarfile.PAX_FORMAT, bufsize=_CHUNK) as tar,
    ):
        for path in finished(folder):
            added = _add(tar, path, path.relative_to(folder).as_posix())
            if added is not None:
                files, size = files + 1, size + added
        contents = json.dumps({"files": files, "bytes": size}).encode()
        info = tarfile.TarInfo(_CONTENTS)
        info.size = len(contents)
        tar.addfile(info, io.BytesIO(contents))


def finished(folder: Path) -> Iterator[Path]:
    """Yield everything below the folder, without drafts; a folder comes before what is in it."""
    for path in sorted(folder.iterdir()):
        if path.name.endswith(".new") or path.name.startswith((".", "_")):
            continue
        yield path
        if path.is_dir() and not path.is_symlink():
            try:
                yield from finished(path)
            except FileNotFoundError:
                continue


def _add(tar: tarfile.TarFile, path: Path, name: str) -> int | None:
    """Add a file or a folder. Returns the bytes of a file, None for all else."""
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

    Raises ArchiveError if the stream ends early, is damaged, or names a file outside the folder, ArchiveBomb
    if it has more members or bytes than a run has, and OSError; what came is then left in the folder.
    """
    frame = _Frame(source, watch)
    files = size = members = 0
    contents: dict[str, int] | None = None
    try:
        with tarfile.open(fileobj=cast(IO[bytes], frame), mode="r|", bufsize=_CHUNK) as tar:
            for member in tar:
                members, size = members + 1, size + member.size
                frame.allow(member.size)
                _refuse_bomb(members, size, member.size, folder)
                if member.issparse():
                    raise ArchiveError(f"the archive has a {member.name} with holes")
                if member.name == _CONTENTS:
                    contents = _read_contents(tar, member)
                    size -= member.size
                    continue
                target = folder / _inside(member.name)
                if member.isdir():
                    target.mkdir(parents=True, exist_ok=True)
                elif member.isreg() and (data := tar.extractfile(member)) is not None:
                    target.parent.mkdir(parents=True, exist_ok=True)
                    with target.open("xb") as file:
                        shutil.copyfileobj(data, file, _CHUNK)
                    os.utime(target, (member.mtime, member.mtime))
                    files += 1
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


def _refuse_bomb(members: int, size: int, next_size: int, folder: Path) -> None:
    """Check the sizes so far. Raises ArchiveBomb for what no run has, or what there is no room for."""
    if members > _MAX_MEMBERS:
        raise ArchiveBomb(f"the archive has more than {_MAX_MEMBERS:,} members, which no run has")
    if size > _MAX_BYTES:
        raise ArchiveBomb(f"the archive holds more than {_MAX_BYTES / 1e9:,.0f} GB, which no run does")
    if next_size > (free := shutil.disk_usage(folder).free):
        raise ArchiveBomb(
            f"a file of the archive has {next_size / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free"
        )


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
        self._pending = memoryview(b"")
        self._left = b""
        self._came = self._made = self._given = 0
        self._allowed = _MAX_HEADER

    def allow(self, size: int) -> None:
        """Let the next `size` bytes be read, which are a member's content, and then a header."""
        self._allowed = self._given + size + _MAX_HEADER

    def read(self, size: int) -> bytes:
        """Return at most `size` bytes, fewer only at the end.

        Raises EOFError if the stream ends in the frame, ArchiveBomb if it grows too much.
        """
        parts = [self._left]
        have = len(self._left)
        while have < size and not self._frame.eof:
            parts.append(self._frame.decompress(self._slice()))
            have += len(parts[-1])
            self._made += len(parts[-1])
            if self._made > _FREE_GROWTH + _MAX_GROWTH * self._came:
                raise ArchiveBomb(f"the archive grows more than {_MAX_GROWTH} times, which no run does")
        whole = b"".join(parts)
        self._left = whole[size:]
        self._given += min(size, have)
        if self._given > self._allowed:
            raise ArchiveBomb(f"the archive has more than {_MAX_HEADER:,} bytes between two files")
        return whole[:size]

    def finish(self) -> None:
        """Read on to the frame's checksum. Raises EOFError, ArchiveBomb and ZstdError."""
        while self.read(_CHUNK):
            pass

    def _slice(self) -> memoryview:
        """Return a small part of what has come. Raises EOFError if there is no more."""
        if not self._pending:
            self._pending = memoryview(self._source.read(_CHUNK))
            if not self._pending:
                raise EOFError("it ends early")
            self._came += len(self._pending)
            self._watch(self._came)
        part, self._pending = self._pending[:_SLICE], self._pending[_SLICE:]
        return part
