"""The archive of a run directory: whole, or told not to be."""

import io
import resource
import tarfile
import threading

import pytest
import zstandard

from emulator.experiment.run import archive
from emulator.experiment.run.archive import ArchiveBomb, ArchiveError, pack, unpack


@pytest.fixture
def run(tmp_path):
    """A folder such as a run directory, with drafts of all kinds in it."""
    folder = tmp_path / "run"
    (folder / "trials/a-1/telemetry").mkdir(parents=True)
    (folder / "trials/a-1/plan.new").mkdir()
    (folder / "tables/losses").mkdir(parents=True)
    (folder / "tables/hops/_temporary/0").mkdir(parents=True)
    (folder / "experiment.yaml").write_text("name: small\n")
    (folder / "trials/a-1/telemetry/host-0-traces-0.otlp").write_bytes(bytes(range(256)) * 5000)
    (folder / "trials/a-1/plan.new/peers.parquet").write_text("half")
    (folder / "trials/a-1/status.json.new").write_text("half")
    (folder / "tables/hops/_temporary/0/part").write_text("half")
    (folder / "tables/hops/.part.crc").write_text("half")
    (folder / "outside").symlink_to("/etc/hostname")
    return folder


def packed(folder) -> bytes:
    sink = io.BytesIO()
    pack(folder, sink)
    return sink.getvalue()


def names(folder) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def test_what_is_packed_is_unpacked_without_drafts_and_links(run, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    came = []
    data = packed(run)
    unpack(io.BytesIO(data), home, came.append)
    telemetry = "trials/a-1/telemetry/host-0-traces-0.otlp"
    folders = {"trials", "trials/a-1", "trials/a-1/telemetry", "tables", "tables/losses", "tables/hops"}
    assert names(home) == folders | {"experiment.yaml", telemetry}
    assert (home / telemetry).read_bytes() == (run / telemetry).read_bytes()
    assert (home / telemetry).stat().st_mtime == int((run / telemetry).stat().st_mtime)
    assert came[-1] == len(data)


def test_an_archive_that_is_cut_off_anywhere_is_refused(run, tmp_path):
    data = packed(run)
    for length in {0, 3, len(data) // 2, *range(len(data) - 40, len(data))}:
        home = tmp_path / f"home-{length}"
        home.mkdir()
        with pytest.raises(ArchiveError):
            unpack(io.BytesIO(data[:length]), home)


def contents(folder) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def test_a_changed_byte_is_noticed_unless_it_changes_nothing(run, tmp_path):
    """Compressed data have bits that mean nothing."""
    (tmp_path / "whole").mkdir()
    unpack(io.BytesIO(packed(run)), tmp_path / "whole")
    data = bytearray(packed(run))
    noticed = 0
    for place in range(20, len(data), max(1, len(data) // 30)):
        changed = data.copy()
        changed[place] ^= 0x10
        home = tmp_path / f"home-{place}"
        home.mkdir()
        try:
            unpack(io.BytesIO(changed), home)
        except ArchiveError:
            noticed += 1
        else:
            assert contents(home) == contents(tmp_path / "whole")
    assert noticed > 20


def archive_of(*members: tarfile.TarInfo) -> io.BytesIO:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w") as tar:
        for member in members:
            tar.addfile(member, io.BytesIO(b"x" * member.size))
    return io.BytesIO(zstandard.compress(sink.getvalue()))


@pytest.mark.parametrize("name", ["../outside", "/tmp/outside", "trials/../../outside"])
def test_an_archive_that_names_a_file_outside_is_refused(name, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    with pytest.raises(ArchiveError, match="outside the run directory"):
        unpack(archive_of(tarfile.TarInfo(name)), home)
    assert names(tmp_path) == {"home"}


def bomb(size: int, **fields) -> io.BytesIO:
    """Return an archive of one file of zeros, in as few bytes as zstd can say it."""
    member = tarfile.TarInfo("zeros")
    member.size = size
    for name, value in fields.items():
        setattr(member, name, value)
    sink = io.BytesIO()
    with zstandard.ZstdCompressor(level=1).stream_writer(sink, closefd=False) as frame:
        frame.write(member.tobuf(tarfile.PAX_FORMAT))
        for _ in range(min(size, 1 << 28) >> 20):
            frame.write(bytes(1 << 20))
    return io.BytesIO(sink.getvalue())


def test_an_archive_that_grows_without_end_is_refused_before_it_has(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "_FREE_GROWTH", 1 << 24)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ArchiveBomb, match="grows more than 200 times"):
        unpack(bomb(1 << 28), tmp_path)
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < archive._FREE_GROWTH + (1 << 26)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150_000, "KiB"


def test_an_archive_that_does_not_fit_is_refused_before_it_is_written(tmp_path):
    with pytest.raises(ArchiveBomb, match="GB are free"):
        unpack(bomb(1 << 39), tmp_path)
    with pytest.raises(ArchiveBomb, match="more than 1,100 GB"):
        unpack(bomb(1 << 41), tmp_path)
    assert not names(tmp_path)


def test_an_archive_of_more_members_than_a_run_has_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "_MAX_MEMBERS", 20)
    with pytest.raises(ArchiveBomb, match="more than 20 members"):
        unpack(archive_of(*(tarfile.TarInfo(f"file-{number}") for number in range(21))), tmp_path)
    assert len(names(tmp_path)) == 20


def test_a_header_that_is_a_bomb_is_refused(tmp_path):
    with pytest.raises(ArchiveBomb, match="between two files"):
        unpack(bomb(1 << 26, type=tarfile.XHDTYPE), tmp_path)


def test_files_with_holes_are_refused(tmp_path):
    with pytest.raises(ArchiveError):
        unpack(bomb(0, type=tarfile.GNUTYPE_SPARSE), tmp_path)


def test_links_and_archives_of_others_are_refused(tmp_path):
    link = tarfile.TarInfo("link")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    with pytest.raises(ArchiveError, match="neither file nor folder"):
        unpack(archive_of(link), tmp_path)
    with pytest.raises(ArchiveError, match="ends early"):
        unpack(archive_of(tarfile.TarInfo("file")), tmp_path)


def test_files_may_grow_come_and_go_while_they_are_packed(run, tmp_path):
    growing = run / "trials/a-1/telemetry/growing.otlp"
    ended = threading.Event()

    def write() -> None:
        with growing.open("ab", buffering=0) as file:
            while not ended.is_set():
                file.write(b"0123456789")
                passing = run / "trials/a-1/passing"
                passing.write_text("here")
                passing.unlink()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for number in range(20):
            home = tmp_path / f"home-{number}"
            home.mkdir()
            unpack(io.BytesIO(packed(run)), home)
            copy = home / growing.relative_to(run)
            assert not copy.exists() or growing.read_bytes().startswith(copy.read_bytes())
    finally:
        ended.set()
        thread.join()


def test_a_file_that_shrinks_is_an_error(run, monkeypatch):
    file = run / "trials/a-1/telemetry/host-0-traces-0.otlp"
    add = tarfile.TarFile.addfile

    def shrink_first(tar, info, data=None):
        if info.name.endswith(".otlp"):
            with file.open("r+b") as other:
                other.truncate(10)
        add(tar, info, data)

    monkeypatch.setattr(tarfile.TarFile, "addfile", shrink_first)
    with pytest.raises(OSError):
        packed(run)
