"""Ctrl-C while Spark works is told in a word, without the tracebacks of Spark's gateway."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from contextlib import ExitStack

import pytest

from analysis.engine.interruptions import is_interruption, own_interruptions

PROGRAM = """
import sys
from pathlib import Path
from analysis.engine.failures import spark_in_words
from analysis.engine.spark_session import spark_session
from emulator.experiment.run.directory import RunDirectory

try:
    with spark_in_words(RunDirectory(Path("run"))), spark_session(1) as spark:
        print("asks", flush=True)
        spark.range(10**13).selectExpr("sum(id)").collect()
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_query_that_is_interrupted_says_nothing_of_its_own(number: signal.Signals) -> None:
    handler = "import signal; signal.signal(signal.SIGTERM, signal.default_int_handler)"
    command = [sys.executable, "-c", f"{handler}\n{PROGRAM}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "asks\n"
        with pytest.raises(subprocess.TimeoutExpired):
            program.wait(2)
        program.send_signal(number)
        said, told = program.communicate(timeout=60)
    assert said == "interrupted\n"
    assert "Traceback" not in told and "ERROR" not in told


STARTING = """
import analysis.engine.spark_session as spark
spark.start_java(1)
print(spark._java._process.pid)
"""


def test_java_that_has_just_been_started_ends_with_the_program_and_says_nothing() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", STARTING], capture_output=True, text=True, timeout=60, check=True
    )
    with pytest.raises(ProcessLookupError):
        os.kill(int(ended.stdout), 0)
    assert ended.stderr == ""


KILLED = f"""
import os, signal, threading
import analysis.engine.spark_session as sessions
threading.Timer(8, lambda: os.kill(sessions._java._process.pid, signal.SIGKILL)).start()
{PROGRAM.replace("except KeyboardInterrupt", "except Exception")}
"""


def test_java_that_is_killed_is_told_without_tracebacks() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", KILLED], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.stdout == "asks\ninterrupted\n"
    assert "Traceback" not in ended.stderr


def test_an_error_that_an_interruption_caused_is_one_and_is_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with own_interruptions():
        pass
    log = logging.getLogger("py4j.clientserver")
    for cause, count in ((KeyboardInterrupt(), 0), (ValueError(), 1)):
        try:
            with ExitStack() as stack:
                stack.callback(os.close, -1)  # raises an OSError while the cause is handled
                raise cause
        except OSError as error:
            assert is_interruption(error) is (count == 0)
            log.exception("Exception occurred")
        assert len(caplog.records) == count
