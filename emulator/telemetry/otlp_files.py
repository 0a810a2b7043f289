"""OTLP files: the OpenTelemetry Collector's file format (`format: proto`, `compression: zstd`).

A file is a sequence of records: a 4-byte big-endian length and one zstd frame that holds one
`TracesData` or `MetricsData` message.
"""

from __future__ import annotations

import mmap
import queue
import struct
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import zstandard

from emulator.files.disk import naming

_LENGTH = struct.Struct(">I")
_COMPRESSION_LEVEL = 3
_QUEUED_RECORDS = 64


class Sink(ABC):
    """A sink, which takes encoded messages of one signal."""

    kept: int
    """The number of spans, or data points, that are written for certain."""
    lost: int
    """The number of spans, or data points, that seem lost: perhaps only an answer got lost instead."""

    @abstractmethod
    def write(self, message: bytes, count: int) -> None:
        """Keep a message that holds `count` spans, or data points."""

    @abstractmethod
    def close(self) -> None:
        """Write what is still kept, and end. Raises OSError if anything could not be written."""


class FileSink(Sink):
    """Writes each message at once. Raises OSError, for example on a full disk, and then each time.

    A record that could not be written whole may be cut off; nothing follows it.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._file = path.open("xb", buffering=0)
        self._compressor = zstandard.ZstdCompressor(level=_COMPRESSION_LEVEL, write_content_size=True)
        self.kept = 0
        self.lost = 0
        self._error: OSError | None = None

    def write(self, message: bytes, count: int) -> None:
        if self._error is not None:
            raise self._error
        frame = self._compressor.compress(message)
        record = memoryview(_LENGTH.pack(len(frame)) + frame)
        try:
            with naming(self._path):
                while record:
                    record = record[self._file.write(record) :]
        except OSError as error:
            self._error = error
            raise
        self.kept += count

    def close(self) -> None:
        self._file.close()


class BackgroundSink(Sink):
    """Hands messages to a `FileSink` in a thread, through a bounded queue.

    Messages that find the queue or the disk full are counted in `lost`; `error` keeps the first error, and
    `close` raises it.
    """

    def __init__(self, path: Path) -> None:
        self._sink = FileSink(path)
        self._queue: queue.Queue[tuple[bytes, int] | None] = queue.Queue(_QUEUED_RECORDS)
        self.kept = 0
        self.lost = 0
        self.error: OSError | None = None
        self._thread = threading.Thread(target=self._drain, name=f"otlp {path.name}", daemon=True)
        self._thread.start()

    def write(self, message: bytes, count: int) -> None:
        try:
            self._queue.put_nowait((message, count))
        except queue.Full:
            self.lost += count

    def close(self) -> None:
        self._queue.put(None)
        self._thread.join()
        self._sink.close()
        if self.error is not None:
            raise self.error

    def _drain(self) -> None:
        while (item := self._queue.get()) is not None:
            message, count = item
            if self.error is None:
                try:
                    self._sink.write(message, count)
                    self.kept += count
                    continue
                except OSError as error:
                    self.error = error
                except Exception as error:  # whatever is wrong, what follows is counted
                    self.error = OSError(f"{type(error).__name__}: {error}")
            self.lost += count


@dataclass(frozen=True, slots=True)
class Cut:
    """A stretch of a file that is no whole record: its end, or where a killed Collector went on."""

    path: Path
    offset: int
    lost_bytes: int


def scan_records(path: Path) -> tuple[list[tuple[int, int]], list[Cut]]:
    """Return the (offset, length) of the frame of every whole record, and the stretches that are none."""
    size = path.stat().st_size
    if not size:
        return [], []
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        records: list[tuple[int, int]] = []
        cuts: list[Cut] = []
        offset = 0
        while offset < size:
            end = _end(data, offset)
            if end is None or not _is_frame(data[offset + _LENGTH.size : end]):
                following = _next_record(data, offset + 1)
                if end is None or end != following:
                    cuts.append(Cut(path, offset, following - offset))
                    offset = following
                    continue
                # The length is right, so the damage is within the frame, which its reader will report.
            records.append((offset + _LENGTH.size, end - offset - _LENGTH.size))
            offset = end
    return records, cuts


def _end(data: mmap.mmap, offset: int) -> int | None:
    """Return the offset at which the record at `offset` ends; None if the file is too short for it."""
    if offset + _LENGTH.size > len(data):
        return None
    (length,) = _LENGTH.unpack_from(data, offset)
    end: int = offset + _LENGTH.size + length
    return end if end <= len(data) else None


def _next_record(data: mmap.mmap, start: int) -> int:
    """Return the first offset from `start` at which a whole record begins, or the end of the file."""
    at = data.find(zstandard.FRAME_HEADER, start + _LENGTH.size)
    while at >= 0:
        offset = at - _LENGTH.size
        end = _end(data, offset)
        if end is not None and _is_frame(data[at:end]):
            return offset
        at = data.find(zstandard.FRAME_HEADER, at + 1)
    return len(data)


def _is_frame(content: bytes) -> bool:
    """Return whether these bytes are one zstd frame."""
    decompression = zstandard.ZstdDecompressor().decompressobj()
    try:
        decompression.decompress(content)
    except zstandard.ZstdError:
        return False
    return decompression.eof and not decompression.unused_data


def read_records(path: Path) -> Iterator[bytes]:
    """Yield the messages of all whole records. Raises zstandard.ZstdError on a damaged frame."""
    records, _ = scan_records(path)
    yield from read_frames(path, records)


def read_frames(path: Path, records: Iterable[tuple[int, int]]) -> Iterator[bytes]:
    """Yield the messages of records that `scan_records` found.

    Raises zstandard.ZstdError on a damaged frame.
    """
    decompressor = zstandard.ZstdDecompressor()
    with path.open("rb") as file:
        for offset, length in records:
            file.seek(offset)
            yield decompressor.decompress(file.read(length))
