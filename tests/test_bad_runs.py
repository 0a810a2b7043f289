"""Run directories of which a file is damaged, folders that cannot be made, disks that are full."""

from __future__ import annotations

import errno
import functools
import json
import os
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from emulator.experiment.file.load import load
from emulator.experiment.file.variants import trials
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.plan.tables import Plan, check_plan
from emulator.experiment.run.directory import RunDirectory, TrialDirectory, write_whole
from emulator.experiment.run.runs import make_run, new_folder
from emulator.files.damage import DamagedFile
from emulator.files.disk import full_disk, told
from emulator.trials.child import start_program
from emulator.trials.trial import REASON, _Pipe, run_trial
from emulator.trials.worker import Worker
from trellis.command import steps
from trellis.command.cli import app
from trellis.command.exits import UserError, last_resort, readable

pytestmark = pytest.mark.timeout(60)

EXPERIMENT = """\
name: small
system: {name: vitis}
peers: 5
workload:
  subscriptions: {kind: random, topics: 20, per_peer: 2, buckets: 1}
"""
DAMAGE = {
    "nothing": b"",
    "half": b'{"state": ',
    "a list": b"[1, 2]",
    "a number": b"7",
    "null": b"null",
    "binary": bytes(range(256)),
    "100,000 brackets": b"[" * 100_000,
    "5,000 digits": b'{"state": ' + b"9" * 5000 + b"}",
    "another state": b'{"state": "asleep"}',
    "reasons that are none": b'{"state": "valid", "reasons": "none"}',
    "progress that is none": b'{"state": "running", "progress": 7}',
}


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    """A run whose only trial is valid and was analyzed, as far as its files tell."""
    file = tmp_path / "small.yaml"
    file.write_text(EXPERIMENT)
    spec = load(file)
    run = make_run(spec, tmp_path / "run")
    (trial,) = trials(spec)
    directory = run.trial(trial.name)
    directory.path.mkdir(parents=True)
    directory.write_status(state="valid", reasons=[], trial=trial.name)
    directory.fidelity.write_text('{"checks": [], "hosts": [], "valid": true, "reasons": []}')
    draw_plan(trial.spec).write(directory.plan)
    run.summary.write_text('{"valid": true, "reasons": [], "trials": [], "variants": [], "measures": {}}')
    return run


def refused(*arguments: object) -> str:
    began = time.process_time()
    result = CliRunner().invoke(app, [str(part) for part in arguments], catch_exceptions=False)
    assert result.exit_code == 2, result.output
    assert time.process_time() - began < 3
    return result.stdout + result.stderr


@pytest.mark.parametrize("command", ["run", "plan", "analyze", "report", "export"])
def test_a_run_that_can_only_be_read_is_refused_at_once(
    run: RunDirectory, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(steps, "TemporaryFile", refuse)
    before = {path: path.stat().st_mtime_ns for path in run.path.rglob("*")}
    text = " ".join(refused(command, run.path).split())
    assert f"{run.path} cannot be written (Read-only file system), and nothing was done" in text
    assert "cp -R" in text
    assert {path: path.stat().st_mtime_ns for path in run.path.rglob("*")} == before


def test_a_status_whose_times_are_texts_is_damaged(run: RunDirectory) -> None:
    trial = run.trials()[0]
    status = trial.read_status()
    trial.status.write_text(json.dumps(status | {"progress": {"trial_time": 1.0, "trial_end": "soon"}}))
    assert f"{trial.status} is damaged" in refused("analyze", run.path)


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_status_is_named_when_a_run_is_resumed(run: RunDirectory, damage: str) -> None:
    status = run.trials()[0].status
    status.write_bytes(DAMAGE[damage])
    text = refused("run", run.path)
    assert f"{status} is damaged" in text
    assert "resume the run" in text


@pytest.mark.parametrize(
    "content",
    [
        *(content for name, content in DAMAGE.items() if "state" not in name and "that" not in name),
        b'{"checks": 7}',
        b'{"checks": [{"measured": "much"}]}',
        b'{"hosts": [7]}',
        b'{"reasons": {}}',
    ],
)
def test_a_damaged_fidelity_is_named(run: RunDirectory, content: bytes) -> None:
    directory = run.trials()[0]
    directory.fidelity.write_bytes(content)
    with pytest.raises(DamagedFile, match=r"fidelity\.json is damaged"):
        directory.read_fidelity()


@pytest.mark.parametrize(
    "content", [b"", b"{", b"7", b"{}", b'{"valid": "yes"}', b'{"valid": true}', b"[" * 9000]
)
@pytest.mark.parametrize("command", ["report", "compare"])
def test_a_damaged_summary_is_told_with_the_command_that_makes_it(
    run: RunDirectory, content: bytes, command: str
) -> None:
    run.summary.write_bytes(content)
    assert "trellis analyze" in refused(command, run.path, *([run.path] if command == "compare" else []))


@pytest.mark.parametrize("command", ["run", "report"])
def test_a_summary_that_lacks_what_a_report_tells_is_named(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr("trellis.command.cli.analyze_run", lambda *_: None)
    trial = {"trial": "vitis-1", "state": "valid", "measures": {}}
    summary = {"valid": True, "reasons": [], "trials": [trial], "variants": [{}], "measures": {}}
    run.summary.write_text(json.dumps(summary))
    assert "trellis analyze" in refused(command, run.path)


@pytest.mark.parametrize("damage", ["nothing", "binary", "5,000 digits"])
@pytest.mark.parametrize("table", ["peers", "sessions", "subscriptions", "publications", "lookups"])
def test_a_damaged_plan_is_named(run: RunDirectory, table: str, damage: str) -> None:
    directory = run.trials()[0]
    check_plan(directory.plan)
    (directory.plan / f"{table}.parquet").write_bytes(DAMAGE[damage])
    for read in (check_plan, Plan.read):
        with pytest.raises(DamagedFile, match=rf"{table}\.parquet is damaged"):
            read(directory.plan)


@pytest.mark.parametrize("table", ["peers", "lookups"])
def test_a_table_of_a_plan_that_is_a_pipe_is_never_waited_for(run: RunDirectory, table: str) -> None:
    path = run.trials()[0].plan / f"{table}.parquet"
    path.unlink()
    os.mkfifo(path)
    for read in (check_plan, Plan.read):
        with pytest.raises(DamagedFile, match=rf"{table}\.parquet is damaged: .*it is a pipe"):
            read(path.parent)


@pytest.mark.parametrize(
    "content",
    [
        *(content for name, content in DAMAGE.items() if "state" not in name and "that" not in name),
        b"{}",
        b'{"digest": "x"}',
        b'{"digest": "x", "spec": null}',
        b'{"digest": NaN, "spec": {"peers": NaN}}',
        None,
    ],
)
@pytest.mark.parametrize("command", ["run", "analyze", "report"])
def test_a_damaged_spec_of_a_plan_is_named(run: RunDirectory, command: str, content: bytes | None) -> None:
    path = run.trials()[0].plan / "spec.json"
    path.unlink(missing_ok=True)
    if content is None:
        os.mkfifo(path)
    else:
        path.write_bytes(content)
    assert f"{path} " in refused(command, run.path)


@pytest.mark.parametrize(
    ("out", "why"),
    [
        ("a-file", "File exists"),
        ("a-file/x", "Not a directory"),
        ("/dev/null", "File exists"),
        ("/dev/null/x", "Not a directory"),
        ("/proc/x", "No such file"),
        ("x" * 300, "File name too long"),
        ("~nobody/x", "~ is the shell's word"),
    ],
)
@pytest.mark.parametrize("command", ["plan", "run"])
def test_a_folder_that_cannot_be_made_is_told(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch, command: str, out: str, why: str
) -> None:
    folder = run.path.parent
    monkeypatch.chdir(folder)
    (folder / "a-file").write_text("in the way")
    text = refused(command, "small.yaml", "--out", out)
    assert why in text
    assert out[:50] in text


@pytest.mark.parametrize("page", ["/dev/null", ".", "a-file/x"])
def test_a_page_never_takes_the_place_of_what_is_no_file(tmp_path: Path, page: str) -> None:
    (tmp_path / "a-file").write_text("in the way")
    with pytest.raises(OSError, match=r"no file, so it is not replaced|Not a directory"):
        write_whole(tmp_path / page, "text")
    assert Path("/dev/null").is_char_device()


def test_a_full_disk_is_named_and_the_old_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "status.json"
    path.write_text("old")
    (tmp_path / "status.json.new").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left") as caught:
        write_whole(path, "new")
    assert full_disk(caught.value).startswith(f"the disk is full: {path}.new could not be written")
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["status.json"]


def test_a_trial_on_a_full_disk_says_so_though_its_status_cannot(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill(spec: object, plan: object, directory: TrialDirectory, report: object) -> None:
        (directory.path / "status.json.new").symlink_to("/dev/full")
        raise OSError(errno.ENOSPC, "No space left on device", str(directory.telemetry / "x.otlp"))

    (trial,) = trials(load(run.experiment))
    with pytest.raises(OSError, match=r"x\.otlp") as caught:
        run_trial(trial.spec, run.trial(trial.name), lambda progress: None, {}, fill)
    assert "x.otlp could not be written" in full_disk(caught.value)


def test_the_last_words_of_a_child_come_by_its_pipe(run: RunDirectory) -> None:
    (trial,) = trials(load(run.experiment))
    worker = Worker(trial, run.trial(trial.name), {}, functools.partial(start_program, ("sleep", "0")))
    read, write = os.pipe()
    os.set_blocking(read, False)
    worker.pipe, ours = read, worker.pipe
    os.close(ours)
    _Pipe(write).tell("the disk is full")
    os.close(write)
    while not worker.exited:
        time.sleep(0.01)
    worker.interrupt()  # it has ended, and its number may be another's
    worker.close()
    assert worker.reason == "the disk is full"
    assert REASON not in worker.last_words()


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "a"), "the disk is full: a could not be written"),
        (OSError(errno.EDQUOT, "Disk quota exceeded", "a"), "the disk is full: a could not be written"),
        (OSError(errno.EROFS, "Read-only file system", "a"), "a: Read-only file system"),
        (OSError(errno.EMFILE, "Too many open files"), "Too many open files"),
        (OSError("no number"), "no number"),
    ],
)
def test_an_error_of_the_system_is_a_sentence(error: OSError, sentence: str) -> None:
    assert told(error).startswith(sentence)


def test_java_on_a_full_disk_is_understood() -> None:
    assert full_disk(RuntimeError("Caused by: java.io.IOException: No space left on device")) != ""
    assert full_disk(RuntimeError("something else")) == ""


def test_what_nobody_foresaw_goes_to_a_log_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: RunDirectory
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    try:
        raise KeyError("x")
    except KeyError as error:
        line = last_resort(error)
    (log,) = tmp_path.glob("trellis-*.log")
    assert str(log) in line
    assert "Traceback" in log.read_text()
    with pytest.raises(UserError, match="trellis analyze"), readable(run):
        json.loads("{")


def test_a_folder_of_runs_is_found_again(tmp_path: Path) -> None:
    first, second = (new_folder("small", tmp_path / "runs") for _ in range(2))
    assert first != second
    assert first.parent == second.parent == tmp_path / "runs"
