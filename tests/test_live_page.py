"""`trellis open` of a run that goes on: a page that shows how far it is, and then the report."""

from __future__ import annotations

import http.client
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from served_run import begin

from emulator.experiment.run.directory import RunDirectory
from emulator.network.loopback import loopback
from emulator.trials.sweep import alone
from trellis.command.live_page import LivePage

TRELLIS = (sys.executable, "-c", "from trellis.command.cli import main; main()")


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    run = RunDirectory(tmp_path / "run")
    begin(run)
    return run


@pytest.fixture
def served(run: RunDirectory) -> Iterator[LivePage]:
    with LivePage(run) as page:
        thread = threading.Thread(target=page.serve_forever, args=(0.02,))
        thread.start()
        yield page
        page.shutdown()
        thread.join(10)


def ask(address: str, path: str = "/") -> tuple[int, str]:
    host = address.removeprefix("http://").rstrip("/")
    connection = http.client.HTTPConnection(host, timeout=20)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_the_page_tells_of_the_trials_while_they_run_and_is_the_report_at_the_end(
    run: RunDirectory, served: LivePage
) -> None:
    assert served.server_address[0] == loopback()
    with alone(run):
        status, page = ask(served.address)
        assert status == 200 and "1 of 3 trials have ended" in page
        assert "12 of 80 s, 10 peers up" in page and "&lt;late&gt;" in page
    for number in (2, 3):
        trial = run.trial(f"vitis-{number}")
        trial.path.mkdir(exist_ok=True)
        trial.write_status(state="valid", reasons=[])
    run.summary.write_text("{}")
    with alone(run):
        assert "the report is being written" in ask(served.address)[1]
    run.report.parent.mkdir()
    run.report.write_text("<h1>the report</h1>")
    assert ask(served.address) == (200, "<h1>the report</h1>")
    assert ask(served.address, "/run.tar.zst")[0] == 404


def test_a_screen_reader_has_all_in_one_region_and_no_refresh_that_it_cannot_stop(
    run: RunDirectory, served: LivePage
) -> None:
    with alone(run):
        page = ask(served.address)[1]
    body = page.partition("<body>")[2].partition("</body>")[0].strip()
    assert body.startswith("<main>") and body.endswith("</main>")
    without = re.sub("<noscript>.*?</noscript>", "", page)
    assert "http-equiv" in page and "http-equiv" not in without
    assert "location.reload()" in without
    assert '<link rel="icon" href="data:,">' in page


def test_the_page_says_when_nothing_runs_any_more(run: RunDirectory, served: LivePage) -> None:
    assert f"Nothing runs. See what it lacks: trellis status {run.path}" in ask(served.address)[1]


def test_a_run_that_is_removed_meanwhile_is_told(run: RunDirectory, served: LivePage, tmp_path: Path) -> None:
    run.path.rename(tmp_path / "elsewhere")
    status, page = ask(served.address)
    assert status == 500 and "the run cannot be read" in page


def test_the_command_serves_the_page_of_a_run_that_goes_on_until_ctrl_c(run: RunDirectory) -> None:
    command = [*TRELLIS, "open", str(run.path), "--no-browser"]
    with ExitStack() as stack:
        stack.enter_context(alone(run))
        program = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        stack.callback(program.kill)
        assert program.stdout is not None
        told = program.stdout.readline()
        address = told.split(" is at ")[1].split()[0]
        assert "1 of 3 trials have ended" in ask(address)[1]
        program.send_signal(signal.SIGINT)
        assert program.wait(20) == 0
    with pytest.raises(OSError):
        ask(address)
