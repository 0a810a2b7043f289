"""OTLP files: the OpenTelemetry Collector's file format (`format: proto`, `compression: zstd`).

A file is a sequence of records: a 4-byte big-endian length and one zstd frame that holds one
`TracesData` or `MetricsData` message.
"""

from __future__ import annotations

import queue
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol as Interface

import zstandard

_LENGTH = struct.Struct(">I")
_COMPRESSION_LEVEL = 3
_QUEUED_RECORDS = 64


class Sink(Interface):
    """Takes encoded messages; `spans` is how many spans one holds (0 for metrics)."""

    @property
    def lost_spans(self) -> int:
        """Spans that could not be kept."""
        ...

    def write(self, message: bytes, spans: int) -> None: ...

    def close(self) -> None:
        """Raises OSError if anything could not be written."""
        ...


class FileSink:
    """Writes each message at once. Raises OSError, for example on a full disk, and then each time.

    A record that could not be written whole may be cut off; nothing follows it.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("xb", buffering=0)
        self._compressor = zstandard.ZstdCompressor(level=_COMPRESSION_LEVEL, write_content_size=True)
        self.lost_spans = 0
        self._error: OSError | None = None

    def write(self, message: bytes, spans: int) -> None:
        if self._error is not None:
            raise self._error
        frame = self._compressor.compress(message)
        record = memoryview(_LENGTH.pack(len(frame)) + frame)
        try:
            while record:
                record = record[self._file.write(record) :]
        except OSError as error:
            self._error = error
            raise

    def close(self) -> None:
        self._file.close()


class BackgroundSink:
    """Hands messages to a `FileSink` in a thread, through a bounded queue.

    What finds the queue full, or the disk, is counted in `lost_spans`; the first error is kept
    in `error` and raised by `close`.
    """

    def __init__(self, path: Path) -> None:
        self._sink = FileSink(path)
        self._queue: queue.Queue[tuple[bytes, int] | None] = queue.Queue(_QUEUED_RECORDS)
        self.lost_spans = 0
        self.error: OSError | None = None
        self._thread = threading.Thread(target=self._drain, name=f"otlp {path.name}", daemon=True)
        self._thread.start()

    def write(self, message: bytes, spans: int) -> None:
        try:
            self._queue.put_nowait((message, spans))
        except queue.Full:
            self.lost_spans += spans

    def close(self) -> None:
        self._queue.put(None)
        self._thread.join()
        self._sink.close()
        if self.error is not None:
            raise self.error

    def _drain(self) -> None:
        while (item := self._queue.get()) is not None:
            message, spans = item
            if self.error is None:
                try:
                    self._sink.write(message, spans)
                    continue
                except OSError as error:
                    self.error = error
            self.lost_spans += spans


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a file ends mid-record."""

    path: Path
    offset: int
    """Bytes that are whole records."""
    lost_bytes: int


def scan_records(path: Path) -> tuple[list[tuple[int, int]], Cut | None]:
    """(offset, length) of the frame of every whole record, and what is cut off at the end."""
    size = path.stat().st_size
    records: list[tuple[int, int]] = []
    offset = 0
    with path.open("rb") as file:
        while offset + _LENGTH.size <= size:
            file.seek(offset)
            (length,) = _LENGTH.unpack(file.read(_LENGTH.size))
            if offset + _LENGTH.size + length > size:
                break
            records.append((offset + _LENGTH.size, length))
            offset += _LENGTH.size + length
    return records, Cut(path, offset, size - offset) if offset < size else None


def read_records(path: Path) -> Iterator[bytes]:
    """The messages of all whole records. Raises zstandard.ZstdError on a damaged frame."""
    decompressor = zstandard.ZstdDecompressor()
    records, _ = scan_records(path)
    with path.open("rb") as file:
        for offset, length in records:
            file.seek(offset)
            yield decompressor.decompress(file.read(length))
