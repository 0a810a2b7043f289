"""Files of a Collector that was killed: records that were cut off, and messages that were sent again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from analysis_golden import Host
from hypothesis import given, settings
from hypothesis import strategies as st
from test_analysis_source import ends, read, record

from emulator.telemetry.otlp_files import Cut
from emulator.telemetry.repeated_messages import scan_once

RECOGNIZED = 256
LARGE = range(100, 150)
NAME = "collector-traces-0.otlp"


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """One span each, of peers 0, 1, ..."""
    whole = record(tmp_path_factory.mktemp("trial") / "telemetry").read_bytes()
    starts = [offset - 4 for offset in ends(whole)]
    return [whole[start:end] for start, end in zip(starts, [*starts[1:], len(whole)], strict=True)]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """One record of the spans of many peers."""
    host = Host(tmp_path_factory.mktemp("large"), "large")
    for peer in LARGE:
        host.join(peer, float(peer))
    host.recorder.close()
    return next(tmp_path_factory.getbasetemp().glob("large*/large-traces-0.otlp")).read_bytes()


def put(folder: Path, *parts: bytes, name: str = NAME) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(b"".join(parts))
    return folder / name


def offsets(parts: Sequence[bytes]) -> list[int]:
    return [sum(map(len, parts[:index])) for index in range(len(parts))]


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_records_behind_one_that_was_cut_off_anywhere_are_read(
    records: list[bytes], tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    torn = data.draw(st.integers(0, 10))
    size = data.draw(st.integers(1, len(records[torn]) - 1))
    path = put(tmp_path_factory.mktemp("torn"), *records[:torn], records[torn][:size], *records[torn + 1 :])
    peers, losses = read(path.parent)
    assert peers == [peer for peer in range(len(records)) if peer != torn]
    assert [(loss["file"], loss["offset"], loss["lost_bytes"]) for loss in losses] == [
        (NAME, sum(map(len, records[:torn])), size)
    ]


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_a_record_that_was_cut_off_and_sent_again_is_not_lost(
    records: list[bytes], large: bytes, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    size = data.draw(st.integers(RECOGNIZED, len(large) - 1))
    later = data.draw(st.integers(1, len(records)))
    path = put(tmp_path_factory.mktemp("torn"), large[:size], *records[:later], large, *records[later:])
    peers, losses = read(path.parent)
    assert sorted(peers) == sorted([*range(len(records)), *LARGE])
    assert losses == []


def test_a_record_that_was_cut_off_where_its_length_leads_to_another_record_hides_none(
    records: list[bytes], large: bytes, tmp_path: Path
) -> None:
    """The length of the first one reaches from its torn frame over two whole records exactly."""
    size = len(large) - len(records[0]) - len(records[1])
    path = put(tmp_path, large[:size], *records[:2], large, *records[2:])
    peers, losses = read(path.parent)
    assert sorted(peers) == sorted([*range(len(records)), *LARGE])
    assert losses == []


def test_two_records_that_were_cut_off_are_two_losses(records: list[bytes], tmp_path: Path) -> None:
    parts = [records[0], records[1][:50], records[2], records[3][:60], records[4], records[5][:20]]
    put(tmp_path, *parts)
    peers, losses = read(tmp_path)
    assert peers == [0, 2, 4]
    expected = [(at, len(part)) for at, part in zip(offsets(parts), parts, strict=True)][1::2]
    assert [(loss["offset"], loss["lost_bytes"]) for loss in losses] == expected


def test_a_message_that_was_written_twice_is_read_once(records: list[bytes], tmp_path: Path) -> None:
    put(tmp_path, records[0], records[1], records[0], records[2])
    put(tmp_path, records[1], records[3], name="collector-traces-0-20260101T000000-size.otlp")
    assert sorted(read(tmp_path)[0]) == [0, 1, 2, 3]


def test_records_of_one_length_and_other_content_are_all_read(records: list[bytes], tmp_path: Path) -> None:
    lengths = {len(record) for record in records}
    assert len(lengths) < len(records)
    put(tmp_path, *records)
    assert read(tmp_path)[0] == list(range(len(records)))


def test_what_is_too_short_to_be_recognized_stays_a_loss(records: list[bytes], tmp_path: Path) -> None:
    path = put(tmp_path, records[0][:100], records[0])
    assert scan_once([path])[0].cuts == [Cut(path, 0, 100)]
