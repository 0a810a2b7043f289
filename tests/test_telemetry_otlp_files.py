"""OTLP files: records, files that were cut, and disks that are full."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulator.telemetry.otlp_files import BackgroundSink, Cut, FileSink, read_records, scan_records

MESSAGES = [b"one", b"", b"three" * 100]


def write(path: Path, messages: list[bytes]) -> bytes:
    sink = FileSink(path)
    for message in messages:
        sink.write(message, 1)
    sink.close()
    return path.read_bytes()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(messages=st.lists(st.binary(max_size=2000), max_size=10))
def test_what_is_written_is_read(tmp_path: Path, messages: list[bytes]) -> None:
    path = tmp_path / "f.otlp"
    path.unlink(missing_ok=True)
    write(path, messages)
    assert list(read_records(path)) == messages
    records, cuts = scan_records(path)
    assert (len(records), cuts) == (len(messages), [])


def test_a_record_is_a_length_and_a_zstd_frame(tmp_path: Path) -> None:
    content = write(tmp_path / "f.otlp", [b"one"])
    assert int.from_bytes(content[:4], "big") == len(content) - 4
    assert zstandard.ZstdDecompressor().decompress(content[4:]) == b"one"


def test_a_file_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "f.otlp").write_text("precious")
    with pytest.raises(FileExistsError):
        FileSink(tmp_path / "f.otlp")
    assert (tmp_path / "f.otlp").read_text() == "precious"


def test_a_file_cut_anywhere_is_read_to_its_last_whole_record(tmp_path: Path) -> None:
    content = write(tmp_path / "whole.otlp", MESSAGES)
    ends = [0]
    while ends[-1] < len(content):
        ends.append(ends[-1] + 4 + int.from_bytes(content[ends[-1] : ends[-1] + 4], "big"))
    path = tmp_path / "cut.otlp"
    for size in range(len(content) + 1):
        path.write_bytes(content[:size])
        whole = [end for end in ends if end <= size]
        assert list(read_records(path)) == MESSAGES[: len(whole) - 1]
        records, cuts = scan_records(path)
        assert len(records) == len(whole) - 1
        assert cuts == ([Cut(path, whole[-1], size - whole[-1])] if size > whole[-1] else [])


def test_a_damaged_frame_is_told(tmp_path: Path) -> None:
    content = bytearray(write(tmp_path / "f.otlp", [b"three" * 100]))
    content[4] ^= 0xFF
    (tmp_path / "f.otlp").write_bytes(content)
    with pytest.raises(zstandard.ZstdError):
        list(read_records(tmp_path / "f.otlp"))


def test_the_background_sink_writes_the_same_file(tmp_path: Path) -> None:
    content = write(tmp_path / "f.otlp", MESSAGES)
    sink = BackgroundSink(tmp_path / "b.otlp")
    for message in MESSAGES:
        sink.write(message, 1)
    sink.close()
    assert (tmp_path / "b.otlp").read_bytes() == content
    assert sink.lost == 0


@pytest.fixture
def full_disk() -> Iterator[int]:
    """No file of this process may grow beyond this many bytes: more than its standard output has."""
    limit = 32 * 2**20
    previous = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, previous[1]))
    yield limit
    resource.setrlimit(resource.RLIMIT_FSIZE, previous)
    signal.signal(signal.SIGXFSZ, handler)


def incompressible(number: int) -> bytes:
    return Random(number).randbytes(2 * 2**20)


def test_a_full_disk_is_an_error_and_what_was_whole_is_readable(tmp_path: Path, full_disk: int) -> None:
    messages = [incompressible(number) for number in range(20)]
    sink = FileSink(tmp_path / "f.otlp")
    with pytest.raises(OSError, match="too large"):
        for message in messages:
            sink.write(message, 1)
    sink.close()
    kept = list(read_records(tmp_path / "f.otlp"))
    assert 0 < len(kept) < 20
    assert kept == messages[: len(kept)]


def test_in_the_background_a_full_disk_is_kept_and_counted(tmp_path: Path, full_disk: int) -> None:
    messages = [incompressible(number) for number in range(20)]
    sink = BackgroundSink(tmp_path / "f.otlp")
    for message in messages:
        sink.write(message, 10)
    with pytest.raises(OSError, match="too large"):
        sink.close()
    assert sink.error is not None
    kept = list(read_records(tmp_path / "f.otlp"))
    assert kept == messages[: len(kept)]
    assert sink.lost == 10 * (20 - len(kept)) > 0
    _, cuts = scan_records(tmp_path / "f.otlp")
    assert all(cut.lost_bytes > 0 for cut in cuts)


def test_in_the_background_nothing_is_written_after_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What follows a record that was written in part could not be read."""
    whole_write = FileSink.write

    def write_but_fail_at_second(sink: FileSink, message: bytes, spans: int) -> None:
        if message == b"2":
            raise OSError("no space left")
        whole_write(sink, message, spans)

    monkeypatch.setattr(FileSink, "write", write_but_fail_at_second)
    sink = BackgroundSink(tmp_path / "f.otlp")
    for message in (b"1", b"2", b"3"):
        sink.write(message, 10)
    with pytest.raises(OSError, match="no space left"):
        sink.close()
    assert list(read_records(tmp_path / "f.otlp")) == [b"1"]
    assert sink.lost == 20


def test_after_a_full_disk_nothing_is_written_even_if_there_is_room_again(
    tmp_path: Path, full_disk: int
) -> None:
    path = tmp_path / "f.otlp"
    sink = FileSink(path)
    with pytest.raises(OSError, match="too large") as first:
        for number in range(20):
            sink.write(incompressible(number), 1)
    assert first.value.filename == str(path)
    size = path.stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (2 * full_disk, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    with pytest.raises(OSError, match="too large"):
        sink.write(b"small", 1)
    sink.close()
    assert path.stat().st_size == size
