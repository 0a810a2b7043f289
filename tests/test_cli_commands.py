"""The command: exit statuses, first lines, messages for users, interrupts."""

import contextlib
import functools
import json
import os
import signal
import subprocess
import sys
import time
import types
import uuid
from importlib.metadata import version
from pathlib import Path

import pytest
from typer.testing import CliRunner

from analysis.engine.jvm import JavaError
from analysis.engine.stages import Standing
from emulator.contract.registry import SYSTEMS
from emulator.experiment.run.analyzed import ANALYZED, analyzed, is_analyzed
from emulator.experiment.run.directory import RunDirectory
from emulator.experiment.run.summary_file import write_summary
from emulator.trials import sweep
from emulator.trials.child import start_program
from trellis.command.cli import app

FAKE = functools.partial(
    start_program, (sys.executable, str(Path(__file__).parent / "experiment_fake_trial.py"))
)
TRELLIS = (sys.executable, "-c", "from trellis.command.cli import main; main()")

EXPERIMENT = """\
name: small
system: {name: vitis}
peers: 10
repeat: 2
workload:
  subscriptions: {kind: random, topics: 20, per_peer: 2, buckets: 1}
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(EXPERIMENT)
    return path


@pytest.fixture
def trellis(tmp_path, monkeypatch):
    """Calls the command in an empty folder, with fake trials and a fake analysis."""

    def analyze(run, tell, spark=None):
        tell(Standing("counting", 0.5, None))
        statuses = [trial.read_status() for trial in run.trials()]
        reasons = [f"{s['trial']}: {why}" for s in statuses for why in s["reasons"]]
        table = run.tables / "hops" / "trial=vitis-1" / "part-00000.parquet"
        table.parent.mkdir(parents=True, exist_ok=True)
        table.touch()
        valid = all(s["state"] == "valid" for s in statuses)
        return write_summary(run, {"valid": valid, "reasons": reasons, ANALYZED: analyzed(run)})

    def write_report(run, events, traces_at):
        run.report.parent.mkdir(exist_ok=True)
        run.report.write_text("report")
        return run.report

    def compare(a, b, out):
        (out or Path("compare.html")).write_text("page")
        return "compared"

    def comparison_tables(comparison, everything=False):
        return [f"these are {comparison}"]

    for name, function in (
        ("pipeline", analyze),
        ("report.report", write_report),
        ("report.compare", compare),
        ("report.compare_table", comparison_tables),
    ):
        module = types.ModuleType(f"analysis.{name}")
        setattr(module, function.__name__, function)
        monkeypatch.setitem(sys.modules, f"analysis.{name}", module)
    monkeypatch.setattr(sweep, "run_sweep", functools.partial(sweep.run_sweep, start=FAKE))
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)


def behave(monkeypatch, **behaviours: str) -> None:
    monkeypatch.setenv("TRELLIS_FAKE_TRIAL", json.dumps({f"vitis-{k[1:]}": v for k, v in behaviours.items()}))


def the_run() -> Path:
    (path,) = Path("runs").iterdir()
    return path


def test_a_valid_run_says_so_first_and_then_where_the_report_is(trellis, file):
    result = trellis("run", file)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == ["valid", f"report: {the_run()}/report/index.html"]
    assert "vitis-1: valid" in result.stderr
    assert f"watch it: trellis open {the_run()}\n" in result.stderr
    assert "counting" in result.stderr
    assert "gateway_hops: 5" in (the_run() / "experiment.yaml").read_text()


def test_an_invalid_trial_is_the_first_line_and_the_exit_status(trellis, file, monkeypatch):
    behave(monkeypatch, t2="invalid")
    result = trellis("run", file)
    assert result.exit_code == 1
    assert result.stdout.splitlines()[0] == "INVALID: vitis-2: lateness: 200 ms, limit 100 ms"
    assert result.stdout.splitlines()[1].startswith("report: ")


def test_a_failed_trial_is_resumed_by_naming_the_run(trellis, file, monkeypatch):
    behave(monkeypatch, t1="crash")
    assert trellis("run", file).exit_code == 1
    behave(monkeypatch)
    result = trellis("run", the_run())
    assert result.exit_code == 0
    assert "vitis-2: valid (kept)" in result.stderr


def test_a_run_is_resumed_with_its_file_only_if_it_is_the_same(trellis, file):
    trellis("plan", file)
    assert trellis("run", file, "--resume", the_run()).exit_code == 0
    result = trellis("run", file, "--resume", the_run(), "--set", "peers=20")
    assert result.exit_code == 2
    assert "was made from another experiment than" in result.stderr
    assert "peers was 10, is 20" in result.stderr


def test_a_plan_is_drawn_and_then_run(trellis, file):
    result = trellis("plan", file, "--set", "peers=12")
    assert result.exit_code == 0
    run = RunDirectory(the_run())
    assert result.stdout.strip() == f"run it with: trellis run {run.path}"
    assert [trial.read_status()["state"] for trial in run.trials()] == ["planned", "planned"]
    assert (run.trial("vitis-1").plan / "publications.parquet").exists()
    assert trellis("run", run.path).exit_code == 0
    assert trellis("plan", run.path).exit_code == 0
    made = run.summary.read_bytes()
    again = trellis("run", run.path)
    assert again.exit_code == 0 and "the analysis is kept" in again.stderr and "valid" in again.stdout
    assert run.summary.read_bytes() == made and is_analyzed(run)
    trial = run.trials()[0]
    for path in (trial.status, run.experiment, next(trial.plan.iterdir())):
        kept, stands = path.read_bytes(), path.stat()
        path.write_bytes(kept + b"\n")
        assert not is_analyzed(run), f"{path} was changed"
        path.write_bytes(kept)
        os.utime(path, ns=(stands.st_atime_ns, stands.st_mtime_ns))
        assert is_analyzed(run)
    next(run.tables.glob("*/*/*.parquet")).unlink()
    assert not is_analyzed(run), "a table is gone"


def test_bad_input_is_told_with_lines_and_nothing_is_started(trellis, file):
    file.write_text(EXPERIMENT.replace("peers: 10", "peers: ten\nperes: 3"))
    for command in ("run", "plan", "validate"):
        result = trellis(command, file)
        assert result.exit_code == 2
        assert f"{file}:3: peers: is " in result.stderr
        assert f"{file}:4: peres: is not a known key" in result.stderr
        assert "2 problems" in result.stderr
    assert not Path("runs").exists()


def test_validate_says_what_would_run(trellis, file):
    result = trellis("validate", file, "--set", "vary.peers=[10, 20, 30]")
    assert result.exit_code == 0
    valid, variants, sizes, *expected = result.stdout.splitlines()
    assert valid == "valid: 6 trials (3 variants, 2 seeds)"
    assert variants == "variants: peers 10; peers 20; peers 30"
    assert sizes.startswith("a trial: 10 to 30 peers, ") and sizes.endswith(" s of trial time")
    assert expected[0].startswith("RTTs between two peers: the median is ")
    one = trellis("validate", file, "--set", "vary={}", "--set", "repeat=1")
    assert one.stdout.startswith("valid: 1 trial (1 variant, 1 seed)\n")
    given = "faults=[{name: stopped, at: 30 s, for: 5 s, pause: {share: 0.5}}]"
    with_fault = trellis("validate", file, "--set", given, "--set", "vary={}")
    assert "10 peers, 10 sessions, 1 fault, " in with_fault.stdout, with_fault.output


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("run",), "name an experiment file or a run directory"),
        (("run", "."), "is not a run directory"),
        (("run", "nothing.yaml"), "no such file"),
        (("analyze", "nothing"), "there is no such folder"),
        (("compare", "nothing", "nothing"), "there is no such folder"),
    ],
)
def test_what_is_not_there_is_bad_input(trellis, arguments, told):
    result = trellis(*arguments)
    assert result.exit_code == 2
    assert told in result.stderr


def test_options_do_not_change_a_run(trellis, file):
    trellis("plan", file)
    result = trellis("run", the_run(), "--set", "peers=3")
    assert result.exit_code == 2
    assert "Start a new run" in result.stderr


def test_analysis_and_report_can_be_repeated(trellis, file, monkeypatch):
    behave(monkeypatch, t1="invalid")
    trellis("plan", file)
    assert trellis("report", the_run()).exit_code == 2
    trellis("run", the_run())
    for command in ("analyze", "report"):
        result = trellis(command, the_run())
        assert result.exit_code == 1
        assert result.stdout.startswith("INVALID: vitis-1: ")


@pytest.mark.parametrize("address", ["http://localhost:16686", "file:///{trace}", "javascript:{trace}"])
def test_an_address_at_which_no_trace_can_be_is_refused(trellis, file, address):
    trellis("run", file)
    result = trellis("report", the_run(), "--traces-at", address)
    assert result.exit_code == 2
    assert "http://localhost:16686/trace/{trace}" in result.stderr
    assert trellis("report", the_run(), "--traces-at", "http://localhost/{trace}").exit_code == 0


def test_a_report_that_lacks_its_tables_says_what_to_do(trellis, file, monkeypatch):
    from analysis.charts.results import ResultsError

    def incomplete(run, events, traces_at):
        raise ResultsError("the table x is missing; write it with: trellis analyze RUN")

    trellis("run", file)
    monkeypatch.setattr(sys.modules["analysis.report.report"], "write_report", incomplete)
    result = trellis("report", the_run())
    assert result.exit_code == 2
    assert "trellis analyze RUN" in result.stderr


def test_two_runs_are_compared(trellis, file):
    trellis("run", file)
    result = trellis("compare", the_run(), the_run(), "--out", "page.html")
    assert result.exit_code == 0, result.output
    assert "these are compared" in result.output
    assert Path("page.html").exists()


def test_systems_are_listed_by_a_line_each_and_shown_by_name_with_parameters_and_paper(trellis):
    result = trellis("systems")
    assert result.exit_code == 0
    assert "vitis: Vitis" in result.stdout and "serves lookups" in result.stdout
    assert "gateway_hops" not in result.stdout
    assert len(result.stdout.splitlines()) == len(list(SYSTEMS)) + 1
    result = trellis("systems", "vitis", "rvr")
    for word in ("vitis: ", "rvr: ", "gateway_hops", "duration", "IPDPS 2011"):
        assert word in result.stdout
    result = trellis("systems", "vitiss")
    assert result.exit_code == 2
    assert 'no system is called "vitiss". Did you mean "vitis"?' in result.stderr


def test_the_version_and_the_help_are_told(trellis):
    assert trellis("--version").stdout.startswith(f"trellis {version('trellis')} (protocols ")
    for asked in ("-h", "--help"):
        assert "Plan, run, analyze and report an experiment." in trellis(asked).stdout
    assert "Write the outcome as JUnit XML" in " ".join(trellis("run", "-h").stdout.split())


def test_traces_asks_which_trial_and_refuses_what_is_no_endpoint(trellis, file):
    trellis("plan", file)
    assert "this run has none" in trellis("traces", the_run(), "--to", "http://localhost").stderr
    for trial in RunDirectory(the_run()).trials():
        trial.telemetry.mkdir()
        (trial.telemetry / "virtual-traces-0.otlp").touch()
    result = trellis("traces", the_run(), "--to", "http://localhost")
    assert result.exit_code == 2
    assert "choose one with --trial: vitis-1, vitis-2" in result.stderr
    result = trellis("traces", the_run(), "--to", "localhost:4317", "--trial", "vitis-1")
    assert result.exit_code == 2
    assert "is not an endpoint" in result.stderr
    result = trellis("traces", the_run(), "--to", "localhost:4317", "--sample", "2")
    assert result.exit_code == 2
    assert '--sample is "2"' in result.stderr


def test_a_full_disk_is_a_message(trellis, file, monkeypatch):
    from emulator.experiment.run import runs

    def full(*_):
        raise OSError(28, "No space left on device", "runs/x")

    monkeypatch.setattr(runs, "create_run", full)
    result = trellis("run", file)
    assert result.exit_code == 1
    assert "the disk is full: runs/x" in result.stderr


@pytest.mark.parametrize("command", ["run", "campaign", "report", "history"])
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("none/out.xml", "there is no such folder. Make it: mkdir -p none"),
        ("folder", "it is a folder. Name a file in it, such as folder/junit.xml"),
        ("/proc/out.xml", "name a file in another folder"),
    ],
)
def test_a_file_for_the_outcome_that_cannot_be_written_is_refused_first(trellis, file, command, name, told):
    Path("folder").mkdir()
    result = trellis(command, file, "--junit", name)
    assert result.exit_code == 2
    assert f"--junit {name} cannot be written" in result.stderr and told in result.stderr
    assert ".new" not in result.stderr
    assert not Path("runs").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_or_a_request_to_end_ends_a_real_run_with_130_and_no_process(number, file, tmp_path):
    mark = uuid.uuid4().hex
    options = ["--set", "peers=50", "--set", "phases.measure=20 h", "--jobs", "2"]
    process = subprocess.Popen(
        [*TRELLIS, "run", str(file), "--out", str(tmp_path / "runs"), *options],
        env=os.environ | {"TRELLIS_TEST_MARK": mark},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + 60
        while len(list(tmp_path.glob("runs/*/trials/*/telemetry"))) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    (run,) = (tmp_path / "runs").iterdir()
    assert f"Go on with: trellis run {run}" in said
    assert "Traceback" not in said
    assert [trial.read_status()["state"] for trial in RunDirectory(run).trials()] == ["planned", "planned"]
    assert not _marked(mark)


def _marked(mark: str) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            alive = entry.name.isdigit() and "\nState:\tZ" not in (entry / "status").read_text()
            if alive and mark.encode() in (entry / "environ").read_bytes():
                found.append((entry / "cmdline").read_text())
    return found


def test_help_and_validate_start_without_spark_or_grpc(file):
    code = f"""
import sys
from typer.testing import CliRunner
from trellis.command.cli import app
assert CliRunner().invoke(app, ["--help"]).exit_code == 0
assert not set(sys.modules) & {{"pydantic", "numpy", "pyarrow", "grpc", "pyspark"}}
assert CliRunner().invoke(app, ["validate", {str(file)!r}]).exit_code == 0
assert not set(sys.modules) & {{"grpc", "pyspark"}}
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_java_that_does_not_start_ends_in_a_message_and_keeps_the_run(trellis, file, monkeypatch):
    def analyze(run, tell, spark=None):
        raise JavaError("Java ended with exit status 1 before Spark began")

    assert trellis("run", file).exit_code == 0
    monkeypatch.setattr(sys.modules["analysis.pipeline"], "analyze", analyze)
    run = the_run()
    result = trellis("analyze", run)
    assert result.exit_code == 2
    assert "Java ended with exit status 1" in result.stderr
    assert f"trellis analyze {run}" in result.stderr


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("trellis exp", {"experiments", "export"}),
        ("trellis run --jun", {"--junit"}),
        ("trellis systems magnet-pas", {"magnet-pastry"}),
    ],
)
def test_a_shell_completes_commands_options_and_systems(words: str, found: set[str]) -> None:
    place = str(len(words.split()) - 1)
    asked = {"_TRELLIS_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": place}
    told = CliRunner().invoke(app, [], prog_name="trellis", env=asked)
    assert set(told.output.split()) == found
