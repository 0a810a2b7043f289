"""Run directories in an object store: sent, sent on, listed and brought home whole, by a real server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from object_store import BUCKET, SECRET, needs_object_store, object_store, variables

from emulator.experiment.run import kept_runs as module
from emulator.experiment.run.directory import RunDirectory
from emulator.experiment.run.kept_runs import MANIFEST, download, kept_run, kept_runs, upload
from emulator.experiment.run.object_store import BadPlace, Place, open_place


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with object_store() as address:
        yield address


@pytest.fixture
def place(server: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Place:
    for name, value in variables(server).items():
        monkeypatch.setenv(name, value)
    return open_place(f"s3://{BUCKET}/{abs(hash(request.node.name))}")


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    path = tmp_path / "quickstart-20260131-120000"
    for name, text in {
        "experiment.yaml": "name: quickstart",
        "summary.json": "{}",
        "trials/vitis-1/telemetry/host-0.otlp": "x" * 100_000,
        "tables/trial=vitis-1/part-0.parquet": "table",
        "tables/part.new": "a draft",
    }.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    return RunDirectory(path)


def send(run: RunDirectory, place: Place) -> module.KeptRun:
    return upload(run, place, run.path.name, {"experiment": "quickstart"}, lambda count: None)


def texts(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()
    }


pytestmark = needs_object_store


def test_a_run_comes_home_as_it_was_sent(run: RunDirectory, place: Place, tmp_path: Path) -> None:
    counts: list[int] = []
    upload(run, place, run.path.name, {"experiment": "quickstart"}, counts.append)
    assert counts[-1] > 100_000
    (found,) = kept_runs(place)
    assert (found.name, found.about["experiment"]) == (run.path.name, "quickstart")
    home = download(found, tmp_path / "home", lambda count: None)
    assert home.path == tmp_path / "home" / run.path.name
    expected = texts(run.path)
    del expected["tables/part.new"]
    assert texts(home.path) == expected
    assert [path.name for path in (tmp_path / "home").iterdir()] == [run.path.name], "no draft is left"


def test_an_upload_that_was_broken_off_sends_only_the_rest(
    run: RunDirectory, place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sent: list[str] = []
    plain = module._send

    def breaks_off(source: Path, there: Place, path: str) -> None:
        if path == "summary.json":
            raise OSError("the line is down")
        sent.append(path)
        plain(source, there, path)

    monkeypatch.setattr(module, "_send", breaks_off)
    with pytest.raises(BadPlace, match=r"summary.json: the line is down"):
        send(run, place)
    (half,) = kept_runs(place)
    assert not half.files
    with pytest.raises(BadPlace, match="its upload has not come to its end"):
        download(half, tmp_path / "home", lambda count: None)
    first = set(sent)
    assert first
    monkeypatch.setattr(module, "_send", lambda s, t, p: (sent.append(p), plain(s, t, p)))
    sent.clear()
    send(run, place)
    assert not first & set(sent) and "summary.json" in sent
    sent.clear()
    (run.path / "summary.json").write_text("[]")
    send(run, place)
    assert sent == ["summary.json"], "a file of the same size that has changed is sent again"


def test_an_object_that_is_not_what_was_sent_is_an_error(
    run: RunDirectory, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def loses(source: Path, there: Place, path: str) -> None:
        with there.files.open_output_stream(f"{there.path}/{path}") as stream:
            stream.write(b"-" * source.stat().st_size)

    monkeypatch.setattr(module, "_send", loses)
    with pytest.raises(BadPlace, match="is not what was sent"):
        send(run, place)


def test_a_run_that_was_changed_in_the_store_is_not_brought_home(
    run: RunDirectory, place: Place, tmp_path: Path
) -> None:
    kept = send(run, place)
    with kept.place.files.open_output_stream(f"{kept.place.path}/summary.json") as stream:
        stream.write(b"{]")
    with pytest.raises(BadPlace, match=r"summary.json is not what was uploaded"):
        download(kept_run(kept.place), tmp_path / "home", lambda count: None)
    assert not list((tmp_path / "home").iterdir())


@pytest.mark.parametrize("path", ["../outside", "/etc/outside", "a/../../outside", ""])
def test_a_manifest_cannot_name_files_outside_of_the_run(
    run: RunDirectory, place: Place, tmp_path: Path, path: str
) -> None:
    kept = send(run, place)
    manifest = {"version": 1, "run": {}, "files": {path: [1, "0"]}}
    with kept.place.files.open_output_stream(f"{kept.place.path}/{MANIFEST}") as stream:
        stream.write(json.dumps(manifest).encode())
    with pytest.raises(BadPlace, match="names a file outside of the run"):
        download(kept_run(kept.place), tmp_path / "home", lambda count: None)


def test_a_damaged_manifest_is_told(run: RunDirectory, place: Place) -> None:
    kept = send(run, place)
    for text in ("{", "[]", '{"version": 2, "run": {}, "files": {}}', '{"version": 1, "files": {"a": 1}}'):
        with kept.place.files.open_output_stream(f"{kept.place.path}/{MANIFEST}") as stream:
            stream.write(text.encode())
        with pytest.raises(BadPlace, match=f"{MANIFEST} is damaged"):
            kept_run(kept.place)


def test_nothing_at_home_is_overwritten(run: RunDirectory, place: Place) -> None:
    kept = send(run, place)
    with pytest.raises(BadPlace, match="is there already"):
        download(kept, run.path.parent, lambda count: None)


def test_a_bucket_that_is_not_there_is_told_without_the_secret(
    run: RunDirectory, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BadPlace, match="s3://nowhere/prefix") as told:
        send(run, open_place("s3://nowhere/prefix"))
    assert SECRET not in str(told.value)
    monkeypatch.setattr(
        module, "_send", lambda *_: (_ for _ in ()).throw(OSError(f"signature of {SECRET} refused"))
    )
    with pytest.raises(BadPlace, match="signature of <AWS_SECRET_ACCESS_KEY> refused") as told:
        send(run, place)
    assert SECRET not in str(told.value)


@pytest.mark.parametrize(
    "text", ["s3://", "s3://a", "s3://bucket/../x", "s3://Bucket/x", "s3://b?c/x", "s3://bucket//x"]
)
def test_an_address_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(BadPlace, match="Write one such as"):
        open_place(text)


@pytest.mark.parametrize(
    "endpoint", ["minio:9000", "ftp://minio", "http://user:word@minio", "http://minio/path"]
)
def test_an_endpoint_that_is_none_is_refused(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    with pytest.raises(BadPlace, match="AWS_ENDPOINT_URL") as told:
        open_place("s3://bucket/prefix")
    assert "word" not in str(told.value)
