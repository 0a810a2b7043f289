"""The data source reads what is whole and tells what is not."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
from analysis_golden import Host
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.otlp import source as otlp_source
from analysis.otlp.source import OtlpSource
from emulator.telemetry.otlp_files import scan_records

SPANS = 12


def record(folder: Path) -> Path:
    """Write a file of one span a record."""
    host = Host(folder)
    for peer in range(SPANS):
        host.join(peer, float(peer))
        host.recorder.flush()
    host.recorder.close()
    return folder / "virtual-traces-0.otlp"


def read(folder: Path) -> tuple[list[int], list[dict[str, object]]]:
    """Return the peers of the spans that were read, and the losses."""
    source = OtlpSource({"signal": "traces", "directories": json.dumps([str(folder)])})
    reader = source.reader(source.schema())
    rows = [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]
    return [r["peer"] for r in rows if not (r["loss"] or r["tally"])], [r["loss"] for r in rows if r["loss"]]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return record(tmp_path_factory.mktemp("trial") / "telemetry").read_bytes()


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_file_cut_anywhere_is_read_to_its_last_whole_record(
    whole: bytes, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(whole)))
    folder = tmp_path_factory.mktemp("cut")
    (folder / "virtual-traces-0.otlp").write_bytes(whole[:cut])
    peers, losses = read(folder)
    assert peers == list(range(len(peers)))
    kept = sum(4 + struct.unpack(">I", whole[at - 4 : at])[0] for at in ends(whole)[: len(peers)])
    assert kept + sum(int(str(loss["lost_bytes"])) for loss in losses) == cut
    assert len(losses) == (kept < cut)


def ends(whole: bytes) -> list[int]:
    """Return the offsets at which the frames end."""
    offsets, at = [], 0
    while at < len(whole):
        offsets.append(at + 4)
        at += 4 + struct.unpack(">I", whole[at : at + 4])[0]
    return offsets


def test_damaged_frame_is_told_and_skipped(whole: bytes, tmp_path: Path) -> None:
    offset = ends(whole)[5]
    path = tmp_path / "virtual-traces-0.otlp"
    path.write_bytes(whole[:offset] + b"\0\0\0\0" + whole[offset + 4 :])
    peers, losses = read(tmp_path)
    assert peers == [p for p in range(SPANS) if p != 5]
    assert [(loss["offset"], str(loss["reason"])[:13]) for loss in losses] == [(offset, "damaged frame")]


def test_frame_that_is_no_message_is_told_and_skipped(whole: bytes, tmp_path: Path) -> None:
    import zstandard

    frame = zstandard.ZstdCompressor().compress(b"no protobuf")
    (tmp_path / "virtual-traces-0.otlp").write_bytes(struct.pack(">I", len(frame)) + frame + whole)
    peers, losses = read(tmp_path)
    assert peers == list(range(SPANS))
    assert [str(loss["reason"])[:23] for loss in losses] == ["not a message of traces"]


def test_large_file_is_read_in_parts_that_make_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = record(tmp_path)
    monkeypatch.setattr(otlp_source, "_PART_BYTES", path.stat().st_size // 4)
    source = OtlpSource({"directories": json.dumps([str(tmp_path)])})
    assert len(source.reader(source.schema()).partitions()) >= 3
    assert read(tmp_path) == (list(range(SPANS)), [])
    assert len(scan_records(path)[0]) == SPANS


def test_unknown_signal_is_refused() -> None:
    with pytest.raises(ValueError, match="none of traces, metrics"):
        OtlpSource({"signal": "logs", "directories": "[]"})


def test_folder_without_files_gives_no_rows(tmp_path: Path) -> None:
    source = OtlpSource({"directories": json.dumps([str(tmp_path)])})
    reader = source.reader(source.schema())
    assert list(reader.partitions()) == []
    assert list(reader.read(None)) == []  # type: ignore[arg-type]  # what Spark does then
