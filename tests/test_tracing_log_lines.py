"""Logs as lines of JSON."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from emulator.tracing.log_lines import LogLines, words_of

ROOT = Path(__file__).parent.parent
PROGRAM = """
import logging, os, sys
from emulator.tracing import log_lines
log_lines.begin("trellis-host", os.environ, "host-3")
print("waiting for", "demo:7000")
log_lines.of_trial("vitis-1", "00-" + "ab" * 16 + "-" + "cd" * 8 + "-01")
print("a\\n\\nb", file=sys.stderr)
log_lines.of_trial("", "")
logging.getLogger("grpc").warning("slow %s", "call")
raise ValueError("no such peer")
"""


def ran(form: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"TRELLIS_LOG_FORMAT": form}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, cwd=ROOT, env=environment
    )


def test_each_line_is_an_object_that_says_when_what_and_where() -> None:
    done = ran("json")
    (waiting,) = map(json.loads, done.stdout.splitlines())
    first, second, logged, raised = map(json.loads, done.stderr.splitlines())
    at = waiting.pop("time")
    assert at.endswith("Z") and "T" in at
    about = {"service": "trellis-host", "host": "host-3"}
    assert waiting == {"level": "INFO", "message": "waiting for demo:7000"} | about
    assert (first["message"], second["message"]) == ("a", "b")
    assert first["level"] == "ERROR"
    assert (first["trial"], first["trace_id"]) == ("vitis-1", "ab" * 16)
    assert (logged["level"], logged["message"], logged["logger"]) == ("WARNING", "slow call", "grpc")
    assert not {"trial", "trace_id"} & set(logged)
    assert raised["message"] == "ValueError: no such peer"
    assert "Traceback" in raised["exception"] and done.returncode == 1


@pytest.mark.parametrize("form", ["", "text"])
def test_text_stays_text_unless_json_is_asked_for(form: str) -> None:
    assert ran(form).stdout == "waiting for demo:7000\n"


def test_lines_of_threads_do_not_mix() -> None:
    sink = io.StringIO()
    lines = LogLines(sink, "INFO", {})

    def say(word: str) -> None:
        for _ in range(200):
            lines.write(word)
            lines.write(word + "\n")

    threads = [threading.Thread(target=say, args=(word,)) for word in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {json.loads(line)["message"] for line in sink.getvalue().splitlines()} == {"aa", "bb"}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"level": "ERROR", "message": "no token"}', "no token"),
        ("no token", "no token"),
        ("{half", "{half"),
        ('{"a": 1}', '{"a": 1}'),
    ],
)
def test_the_words_of_a_line_are_found_in_text_and_in_json(line: str, words: str) -> None:
    assert words_of(line) == words
