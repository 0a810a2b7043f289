"""The JVM that Spark's driver runs in: a child of this process, which ends with it.

It is started without Spark's scripts, which start another JVM just to learn the command line, and with an
archive of loaded classes if there is one.
"""

from __future__ import annotations

import atexit
import os
import pwd
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from analysis.engine import ipv6_gateway
from analysis.engine.class_archive import archive_options
from analysis.engine.java import JAVA, LOG, OPTIONS, spark_home
from emulator.files.child_programs import surroundings
from emulator.network.loopback import is_six

HEAP = "2g"
_ROOM = ("-Xms1g", "-Xmn400m", "-XX:MetaspaceSize=256m", "-XX:ReservedCodeCacheSize=256m")
"""The memory for objects, new objects, classes and compiled code: with less, Java collects garbage again and
again."""
_START_LIMIT = 120.0
"""The seconds within which the JVM has to listen; a busy machine takes long."""
_END_LIMIT = 10.0
_TURN = 0.02
_OF_OURS = ("SPARK_LOCAL_DIRS", "PYSPARK_PYTHON")
"""The variables that count for our Spark too: its scratch folder, and the Python of a cluster's workers."""


NOBODY = "trellis"
"""The name that a user without an entry has for Java and Hadoop."""


class JavaError(Exception):
    """The JVM did not start."""


def has_entry() -> bool:
    """Return whether this user has an entry in the system's list, where Java looks for name and home."""
    try:
        pwd.getpwuid(os.getuid())
    except KeyError:
        return False
    return True


def forget_other_sparks() -> None:
    """Take variables about another Spark out of this process, because pyspark would go by them."""
    for name in list(os.environ):
        if name.startswith(("SPARK_", "PYSPARK_")) and name not in _OF_OURS:
            del os.environ[name]


class Java:
    """A JVM with Spark that waits for commands."""

    def __init__(self, settings: Mapping[str, str], address: str, flags: Sequence[str]) -> None:
        """Start the JVM and return at once. `settings` are Spark's, `address` is where executors find it."""
        forget_other_sparks()
        self._folder = tempfile.TemporaryDirectory(prefix="trellis-java-")
        folder = Path(self._folder.name)
        self._told = folder / "connection"
        log = folder / "log4j2.properties"
        log.write_text(LOG)
        home = spark_home()
        environment = {
            "LC_ALL": "C.UTF-8",  # else Java cannot open files whose names are not ASCII
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": address,
            "_PYSPARK_DRIVER_CONN_INFO_PATH": str(self._told),
        }
        if is_six():
            environment |= ipv6_gateway.ENVIRONMENT
            os.environ.update(ipv6_gateway.ENVIRONMENT)
            flags = (*flags, *ipv6_gateway.JAVA_OPTIONS)
        self._process = subprocess.Popen(
            [
                *(JAVA, f"-Xmx{HEAP}", "-XX:+UseSerialGC", *_ROOM, *flags, *OPTIONS),
                f"-Dlog4j2.configurationFile={log}",
                *(() if has_entry() else (f"-Duser.home={folder}", f"-Duser.name={NOBODY}")),
                *archive_options(home),
                "org.apache.spark.deploy.SparkSubmit",
                *(part for name, value in settings.items() for part in ("--conf", f"{name}={value}")),
                "pyspark-shell",
            ],
            # The JVM ends when this pipe is closed, so with this process, however that ends.
            stdin=subprocess.PIPE,
            env=surroundings() | environment,
            preexec_fn=_ignore_interrupts,
        )
        atexit.register(self._end_unheard)

    @contextmanager
    def connection(self) -> Iterator[None]:
        """Have pyspark take this JVM instead of starting one inside the `with` statement. Raises
        JavaError."""
        port, secret = self._await()
        ours = {
            "PYSPARK_GATEWAY_PORT": str(port),
            "PYSPARK_GATEWAY_SECRET": secret,
            "PYSPARK_PYTHON": sys.executable,
        }
        before = dict(os.environ)
        os.environ.update(ours)
        try:
            yield
        finally:
            for name in ours:
                if name in before:
                    os.environ[name] = before[name]
                else:
                    del os.environ[name]

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def close(self, limit: float = _END_LIMIT) -> None:
        """Let the JVM end by itself within `limit` seconds, then kill it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(limit)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()

    def _end_unheard(self) -> None:
        """Kill a JVM that has not begun to listen when this process ends: it would not see that the pipe is
        closed, and run for ever."""
        if self.running and not self._told.exists():
            self.close(limit=0.0)

    def _await(self) -> tuple[int, str]:
        deadline = time.monotonic() + _START_LIMIT
        while not self._told.exists():
            if not self.running:
                raise JavaError(f"Java ended with exit status {self._process.returncode} before Spark began")
            if time.monotonic() > deadline:
                raise JavaError(f"Java has not started Spark in {_START_LIMIT:g} s")
            time.sleep(_TURN)
        with self._told.open("rb") as file:
            (port,) = struct.unpack(">i", file.read(4))
            (length,) = struct.unpack(">i", file.read(4))
            return port, file.read(length).decode()


def _ignore_interrupts() -> None:
    """Ignore Ctrl-C, which is for Python; Python ends the JVM."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
