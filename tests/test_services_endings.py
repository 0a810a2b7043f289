"""What the system refuses the programs of a release: each ends with a sentence that names it."""

from __future__ import annotations

import errno
import importlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from emulator.experiment.file.load import load
from emulator.experiment.run.runs import make_run
from services import coordinator
from services.endings import in_words

pytestmark = pytest.mark.timeout(60)

Ends = Callable[..., tuple[int, str]]
EXPERIMENT = """\
name: small
system: {name: vitis}
peers: 2
runtime: {kind: kubernetes, hosts: 2}
workload:
  subscriptions: {kind: random, topics: 20, per_peer: 2, buckets: 1}
"""
VIRTUAL = EXPERIMENT.replace("runtime: {kind: kubernetes, hosts: 2}\n", "")
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGCONT)


@pytest.fixture
def ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Ends]:
    """Runs a program of services in this process; gives its status and what it says."""
    for name in [name for name in os.environ if name.startswith("TRELLIS_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "experiment.yaml").write_text(EXPERIMENT)
    (tmp_path / "virtual.yaml").write_text(VIRTUAL)
    (tmp_path / "token").write_text("a token\n")
    (tmp_path / "a-file").write_text("in the way")
    handlers = {number: signal.getsignal(number) for number in SIGNALS}

    def call(program: str, *arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", [f"services.{program}", *arguments])
        try:
            status = importlib.import_module(f"services.{program}").main()
        except SystemExit as ended:  # argparse's
            assert isinstance(ended.code, int)
            status = ended.code
        return status, capsys.readouterr().err

    yield call
    for number, handler in handlers.items():
        signal.signal(number, handler)


COORDINATOR = ("--experiment", "experiment.yaml", "--token", "token")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--run", "a-file/run"), "a-file/run: Not a directory"),
        (("--run", "a-file"), "a-file: File exists"),
        (("--run", "/proc/run"), "/proc/run: No such file"),
        (("--run", "x" * 300), "File name too long"),
        (("--run", "run", "--listen", "192.0.2.1:7000"), "192.0.2.1:7000: cannot be listened on"),
        (("--run", "run", "--listen", "nothing"), "nothing: cannot be listened on"),
        (("--run", "run", "--metrics", "nothing"), "'nothing' is not an address"),
        (("--run", "run", "--metrics", "127.0.0.1:99999999"), "is not an address"),
        (("--run", "run", "--metrics", "127.0.0.1:70000"), "is not an address"),
        (("--run", "run", "--metrics", "192.0.2.1:9100"), "192.0.2.1:9100: "),
        (("--run", "run", "--experiment", "missing.yaml"), "there is no such file"),
        (("--run", "run", "--token", "missing"), "missing"),
        (("--run", "run", "--token", "."), "Is a directory"),
    ],
)
def test_a_coordinator_that_cannot_have_a_file_or_an_address_says_which(
    ends: Ends, arguments: tuple[str, ...], told: str
) -> None:
    status, said = ends("coordinator", *COORDINATOR, *arguments)
    assert status == 2
    assert told in said


@pytest.mark.parametrize(
    "content", ["\xff\n", "[1]\n", "{}\n", '{"host": "host-0", "digest": 7}\n', "[" * 9000 + "\n"]
)
def test_a_coordinator_whose_knowledge_of_hosts_is_damaged_names_the_file(ends: Ends, content: str) -> None:
    Path("run").mkdir()
    Path("run/.speakers").write_text(content, encoding="latin-1")
    status, said = ends("coordinator", *COORDINATOR, "--run", "run")
    assert status == 2
    assert ".speakers is damaged" in said


def test_a_coordinator_whose_trials_have_damaged_files_names_them(ends: Ends) -> None:
    run = make_run(load(Path("experiment.yaml")), Path("run"))
    status_file = run.trial("vitis-1").status
    status_file.parent.mkdir(parents=True)
    status_file.write_text("7")
    status, said = ends("coordinator", *COORDINATOR, "--run", "run")
    assert status == 2
    assert f"{status_file} is damaged" in said


def test_a_full_disk_is_told_by_a_coordinator(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    def fill(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "run/trials/vitis-1/status.json.new")

    monkeypatch.setattr(coordinator, "prepare", fill)
    status, said = ends("coordinator", *COORDINATOR, "--run", "run")
    assert status == 1
    assert "the disk is full: run/trials/vitis-1/status.json.new could not be written" in said


def test_a_coordinator_that_may_not_write_its_volume_says_so_without_a_traceback(tmp_path: Path) -> None:
    """The coordinator runs as a program, because that is what a pod runs."""
    (tmp_path / "experiment.yaml").write_text(EXPERIMENT)
    (tmp_path / "token").write_text("a token\n")
    (tmp_path / "volume").mkdir()
    files = [str(tmp_path / name) for name in ("experiment.yaml", "token", "volume/run")]
    line = "import os, sys; from services.coordinator import main; os.geteuid() or os.seteuid(65534)"
    line += "; sys.exit(main())"
    options = ["--experiment", files[0], "--token", files[1], "--run", files[2]]
    (tmp_path / "volume").chmod(0o555)
    for folder in (tmp_path, *tmp_path.parents):
        if "pytest-" in str(folder):
            folder.chmod(folder.stat().st_mode | 0o055)
    ended = subprocess.run([sys.executable, "-c", line, *options], capture_output=True, text=True)
    assert ended.stderr.splitlines() == [f"{files[2]}: Permission denied"]
    assert ended.returncode == 2


@pytest.mark.parametrize("run", ["a-file/run", "a-file", "/proc/run"])
def test_a_sweep_that_cannot_make_its_run_says_so(ends: Ends, run: str) -> None:
    status, said = ends("spark_driver", "--experiment", "virtual.yaml", "--run", run)
    assert status == 2
    assert run in said


def test_an_analysis_whose_run_is_not_readable_says_so(ends: Ends) -> None:
    status, said = ends("analysis", "--run", "a-file/run", "--wait-limit", "0")
    assert status == 1
    assert "a-file/run" in said


def test_a_host_says_what_it_could_not_have(ends: Ends) -> None:
    host = ("peer", "--name", "host-0", "--coordinator", "127.0.0.1:9")
    assert ends(*host)[0] == 1
    assert ends(*host, "--token", "missing")[0] == 1
    status, said = ends(*host, "--token", "token", "--listen", "192.0.2.1:7001")
    assert (status, "192.0.2.1:7001: cannot be listened on" in said) == (2, True)


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("TRELLIS_HOST_OFFSET", "x", "--name and --coordinator are needed"),
        ("TRELLIS_HOST_OFFSET", "9" * 5000, "--name and --coordinator are needed"),
        ("TRELLIS_POD", "demo-" + "9" * 5000, "--name and --coordinator are needed"),
        ("TRELLIS_COLLECTOR", "nothing", '"nothing" is not an endpoint'),
        ("TRELLIS_TOKEN_FILE", "missing", "missing"),
        ("TRELLIS_CERTIFICATES", "missing", "the certificates cannot be read"),
        ("TRELLIS_LISTEN", "nothing", "nothing: cannot be listened on"),
    ],
)
def test_what_the_environment_says_is_checked_too(
    ends: Ends, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, told: str
) -> None:
    given = {"TRELLIS_POD": "demo-0", "TRELLIS_COORDINATOR": "127.0.0.1:9", "TRELLIS_TOKEN_FILE": "token"}
    for name, text in (given | {variable: value}).items():
        monkeypatch.setenv(name, text)
    status, said = ends("peer")
    assert status in (1, 2)
    assert told in said


@pytest.mark.parametrize(
    ("content", "told"),
    [(b"", "cannot be listened on"), (b"garbage", "the certificates are damaged"), (None, "cannot be read")],
)
def test_damaged_certificates_are_told(ends: Ends, content: bytes | None, told: str) -> None:
    Path("tls").mkdir()
    for name in ("ca.crt", "tls.crt", "tls.key"):
        if content is not None:
            Path("tls", name).write_bytes(content)
    shown = ("--certificates", "tls", "--certificate-name", "demo")
    for program in (
        ("coordinator", *COORDINATOR, "--run", "run"),
        ("peer", "--name", "host-0", "--coordinator", "127.0.0.1:9", "--token", "token"),
        ("telemetry_gate", "--collector", "127.0.0.1:9", "--ticket-key", "token", "--listen", "127.0.0.1:0"),
    ):
        status, said = ends(*program, *shown)
        assert status in (1, 2)
        assert told in said, program


def test_an_address_as_kubernetes_writes_it_is_one_to_listen_on(ends: Ends) -> None:
    run = ("--experiment", "experiment.yaml", "--run", "run", "--token", "token")
    status, said = ends("coordinator", *run, "--listen", "2001:db8::1:7000")
    assert (status, "[2001:db8::1]:7000: cannot be listened on" in said) == (2, True)


def test_a_results_service_or_a_gate_whose_address_is_taken_says_so(ends: Ends) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        status, said = ends("results", "--run", "run", "--listen", address)
        assert (status, address in said) == (1, True)
        status, said = ends(
            "telemetry_gate", "--listen", address, "--collector", "127.0.0.1:9", "--ticket-key", "token"
        )
        assert (status, address in said) == (2, True)
    for listen in (
        "127.0.0.1:99999",
        "127.0.0.1:" + "9" * 5000,
        "127.0.0.1:\N{SUPERSCRIPT TWO}",
        "nowhere:80",
    ):
        status, said = ends("results", "--run", "run", "--listen", listen)
        assert status in (1, 2)
        assert "isten" in said


@pytest.mark.parametrize(
    "address", ["http://x:99999/", "http://x:port/", "http://[::1/", "tcp://:80", "x", "http://x/"]
)
def test_what_is_no_address_is_not_probed(ends: Ends, address: str) -> None:
    status, said = ends("reach", address)
    assert status == 2
    assert "has to be http://host:port/path" in said


def test_an_executor_without_a_folder_for_its_files_says_so(
    ends: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "a-file")
    status, said = ends("executor")
    assert status == 2
    assert "a-file" in said


def test_a_signal_or_a_reader_that_has_gone_ends_a_program_quietly() -> None:
    def interrupted() -> int:
        raise KeyboardInterrupt

    assert in_words(interrupted)() == 130
    line = "from services.endings import in_words; in_words(lambda: print('x' * 99999, flush=True) or 0)()"
    read, write = os.pipe()
    os.close(read)
    ended = subprocess.run([sys.executable, "-c", line], stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_what_nobody_foresaw_keeps_its_traceback_for_the_log_of_the_pod() -> None:
    def broken() -> int:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        in_words(broken)()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    "moment", ["emulator", "trellis.command.cli", "typer", "emulator.experiment.plan.provenance"]
)
def test_a_signal_before_a_command_has_begun_says_so_and_leaves_no_traceback(
    moment: str, number: int
) -> None:
    hook = f"""
import os, sys
class Interruption:
    def find_spec(self, name, path=None, target=None):
        if name == "{moment}":
            os.kill(os.getpid(), {int(number)})
sys.meta_path.insert(0, Interruption())
from services.command import main
main()
"""
    ended = subprocess.run([sys.executable, "-c", hook, "systems"], capture_output=True, text=True)
    told = (130, "", "interrupted; nothing was started\n")
    assert (ended.returncode, ended.stdout, ended.stderr) == told
