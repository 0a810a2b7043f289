"""The results service: the report or how far the run is, and the run directory as one file."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from served_run import EXPERIMENT, PROGRESS, begin, serving

from emulator.experiment.run.archive import pack, unpack
from emulator.experiment.run.directory import RunDirectory
from emulator.network.http_server import MAX_REQUESTS
from emulator.trials.run_progress import Standing
from services import results


@pytest.fixture
def run(tmp_path):
    return RunDirectory(tmp_path / "run")


@pytest.fixture
def server(run):
    with serving(run) as server:
        yield server


@pytest.fixture
def ask(server):
    """Asks with the very path that is given."""

    def ask(path, method="GET", source="127.0.0.1"):
        connection = http.client.HTTPConnection(
            *server.server_address, timeout=20, source_address=(source, 0)
        )
        try:
            connection.request(method, path)
            answer = connection.getresponse()
            return answer.status, answer.headers["Content-Type"], answer.read()
        finally:
            connection.close()

    return ask


def finish(run):
    for number in (2, 3):
        trial = run.trial(f"vitis-{number}")
        trial.path.mkdir(exist_ok=True)
        trial.write_status(state="valid", reasons=[])
    run.summary.write_text("{}")


def standing(ask) -> Standing:
    return Standing.from_json(ask("/status")[2])


def test_before_the_coordinator_has_begun_it_says_so(ask):
    assert standing(ask) == Standing()
    status, kind, body = ask("/")
    assert (status, kind) == (200, "text/html; charset=utf-8")
    assert b"has not begun yet" in body
    assert b'http-equiv="refresh"' in body
    assert ask("/run.tar.zst")[0] == 404
    assert ask("/healthz")[0] == 200


def test_status_tells_of_every_trial_also_of_those_that_have_not_begun(run, ask):
    begin(run)
    told = json.loads(ask("/status")[2])
    assert told["experiment"] == "small"
    assert [trial["state"] for trial in told["trials"]] == ["invalid", "running", "planned"]
    assert told["trials"][0]["reasons"] == ["<late>"]
    assert told["trials"][1]["progress"]["trial_time"] == 12.0
    assert told["counts"] == {"invalid": 1, "running": 1, "planned": 1}
    assert not told["ended"] and not told["analyzed"] and not told["reported"]


def test_progress_of_another_version_is_not_shown(run, ask):
    begin(run)
    run.trial("vitis-2").write_status(state="running", progress=PROGRESS | {"published": 3})
    assert json.loads(ask("/status")[2])["trials"][1]["progress"] is None


def test_status_follows_the_run(run, ask):
    begin(run)
    assert standing(ask).trials[1].state == "running"
    finish(run)
    assert standing(ask).ended and standing(ask).analyzed and not standing(ask).reported
    run.report.parent.mkdir()
    run.report.write_text("report")
    assert standing(ask).reported


def test_a_summary_that_is_older_than_a_trial_is_none(run, ask):
    begin(run)
    finish(run)
    run.report.parent.mkdir()
    run.report.write_text("report")
    os.utime(run.summary, (1, 1))
    assert not standing(ask).analyzed and not standing(ask).reported


def test_the_waiting_page_shows_progress_and_escapes_what_it_shows(run, ask):
    begin(run)
    held_up = {"held_up": "host-1 is the slowest <host>"}
    run.trial("vitis-2").write_status(state="running", progress=PROGRESS | held_up)
    page = ask("/")[2].decode()
    assert "1 of 3 trials have ended" in page
    assert '<progress max="80" value="12">' in page
    assert "&lt;late&gt;" in page and "<late>" not in page
    assert " done<br>host-1 is the slowest &lt;host&gt;" in page
    finish(run)
    assert "the report is being written" in ask("/")[2].decode()


def test_variants_have_the_names_that_a_report_gives_them(run, ask):
    begin(run)
    assert {trial.label for trial in standing(ask).trials} == {""}, "there is one variant"
    run.experiment.write_text(EXPERIMENT.replace("repeat: 3", "vary: {network.loss: [0, 0.05]}"))
    assert [trial.label for trial in standing(ask).trials] == ["loss 0 %, seed 1", "loss 5 %, seed 1"]
    assert "<td>loss 5 %, seed 1</td>" in ask("/")[2].decode()


def test_the_report_takes_the_place_of_the_waiting_page(run, ask):
    begin(run)
    finish(run)
    run.report.parent.mkdir()
    run.report.write_text("<p>report")
    assert ask("/") == (200, "text/html; charset=utf-8", b"<p>report")
    assert ask("/", "HEAD") == (200, "text/html; charset=utf-8", b"")


def test_the_report_of_another_experiment_is_not_shown(run, server, ask, tmp_path):
    begin(run)
    finish(run)
    wanted = tmp_path / "wanted.yaml"
    wanted.write_text(run.experiment.read_text())
    server.expect(wanted)
    assert standing(ask).ended
    wanted.write_text(run.experiment.read_text().replace("peers: ", "peers: 1"))
    server.expect(wanted)
    found = standing(ask)
    assert (found.experiment, found.trials, found.reported, found.ended) == ("", (), False, False)
    assert "another experiment than this release's: peers was " in found.problem
    assert b"another experiment" in ask("/")[2]


def test_a_damaged_experiment_is_told_and_not_a_broken_connection(run, ask):
    begin(run)
    run.experiment.write_text("name: [")
    assert "is not YAML" in standing(ask).problem
    assert "is not YAML" in ask("/")[2].decode()


@pytest.mark.parametrize(
    "path", ["/../etc/passwd", "/%2e%2e/etc/passwd", "//etc/passwd", "/experiment.yaml", "/trials", "etc"]
)
def test_nothing_else_is_served(run, ask, path):
    begin(run)
    assert ask(path)[0] == 404


def test_the_run_directory_comes_whole(run, ask, tmp_path):
    begin(run)
    status, kind, body = ask("/run.tar.zst")
    assert (status, kind) == (200, "application/zstd")
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "archive").write_bytes(body)
    with (tmp_path / "archive").open("rb") as file:
        unpack(file, home)
    assert (home / "experiment.yaml").read_text() == EXPERIMENT
    assert (home / "trials/vitis-1/status.json").read_bytes() == run.trial("vitis-1").status.read_bytes()


def test_an_archive_that_breaks_off_is_seen_to_have_done_so(run, ask, monkeypatch):
    begin(run)

    def break_off(folder, sink):
        sink.write(b"half")
        raise OSError("the volume is gone")

    monkeypatch.setattr(results, "pack", break_off)
    with pytest.raises(http.client.IncompleteRead):
        ask("/run.tar.zst")
    monkeypatch.setattr(results, "pack", pack)
    assert ask("/run.tar.zst")[0] == 200


def test_a_third_archive_at_once_has_to_wait(run, ask, monkeypatch):
    begin(run)
    free = threading.Event()
    inside = threading.Semaphore(0)

    def hang(folder, sink):
        inside.release()
        assert free.wait(20)

    monkeypatch.setattr(results, "pack", hang)
    threads = [threading.Thread(target=ask, args=("/run.tar.zst",)) for _ in range(2)]
    try:
        for thread in threads:
            thread.start()
        assert all(inside.acquire(timeout=20) for _ in threads)
        assert ask("/run.tar.zst")[0] == 503
    finally:
        free.set()
        for thread in threads:
            thread.join()


def test_sixty_idle_connections_leave_room_for_a_request(server, ask):
    places = [socket.create_connection(server.server_address, 5) for _ in range(60)]
    try:
        places[-1].sendall(b"GET /status HTTP/1.1\r\nX-Slow: ")  # has not asked for anything yet either
        for _ in range(5):
            began = time.monotonic()
            assert ask("/healthz")[0] == 200
            assert time.monotonic() - began < 1
        assert len(server._silent) <= MAX_REQUESTS
    finally:
        for place in places:
            place.close()
    assert server.drain(10)


def test_requests_beyond_the_limit_are_closed_and_no_request_is_ended_for_them(run, server, ask, monkeypatch):
    begin(run)
    free, inside = threading.Event(), threading.Semaphore(0)

    def hang(self):
        inside.release()
        assert free.wait(20)
        self._answer(results.HTTPStatus.OK, "text/plain", b"late")

    monkeypatch.setattr(results._Handler, "_page", hang)
    answers = []
    count = MAX_REQUESTS
    sources = [f"127.0.0.{2 + number % 2}" for number in range(count)]
    threads = [
        threading.Thread(target=lambda source=source: answers.append(ask("/", source=source)[2]))
        for source in sources
    ]
    try:
        for thread in threads:
            thread.start()
        assert all(inside.acquire(timeout=20) for _ in threads)
        with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
            ask("/healthz")
    finally:
        free.set()
        for thread in threads:
            thread.join()
    assert answers == [b"late"] * count


def test_an_answer_does_not_wait_for_the_acknowledgement_of_its_header(run, ask):
    """Nagle's algorithm holds the second of two small packets for up to 40 ms."""
    begin(run)
    times = []
    for _ in range(20):
        began = time.monotonic()
        ask("/healthz")
        times.append(time.monotonic() - began)
    assert min(times) < 0.02


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_can_be_changed(run, ask, method):
    begin(run)
    assert ask("/status", method)[0] == 501
    assert standing(ask).experiment == "small"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_on_a_signal_after_the_requests_that_it_has(run, number):
    begin(run)
    (run.path / "large").write_bytes(os.urandom(40_000_000))
    command = [sys.executable, "-m", "services.results", "--run", str(run.path), "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(
        command,
        cwd=Path(__file__).parent.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        port = int(process.stdout.readline().rpartition(":")[2])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request("GET", "/run.tar.zst")
        answer = connection.getresponse()
        assert answer.read(10)
        process.send_signal(number)
        time.sleep(0.5)
        assert len(answer.read()) > 40_000_000
        connection.close()
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_an_address_that_is_none_of_ours_is_told():
    command = [sys.executable, "-m", "services.results", "--run", "x", "--listen", "192.0.2.1:8080"]
    ended = subprocess.run(
        command, cwd=Path(__file__).parent.parent, capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == 1
    assert "cannot listen on 192.0.2.1:8080" in ended.stderr
