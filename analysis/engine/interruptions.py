"""Ctrl-C while Spark works: the command says in a word what Spark tells by tracebacks."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

_LOGGERS = ("", "py4j.clientserver", "py4j.java_gateway")


def is_interruption(error: BaseException | None) -> bool:
    """Return whether an error is an interruption, or one was its cause."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


@contextmanager
def own_interruptions() -> Iterator[None]:
    """Start Spark in this block: it leaves the handler of SIGINT as it is, and logs no interruptions.

    Spark's own handler asks Java to end its jobs, in the middle of what the program asks Java for.
    """
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_is_no_interruption)
    before = signal.getsignal(signal.SIGINT)
    yield
    if before is not None and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, before)


def without_tracebacks(session: SparkSession) -> None:
    """Have the server to which Spark tells its counts say nothing where Java has ended in the middle of a
    message: whoever waits for Spark then gets an error."""
    server = session.sparkContext._accumulatorServer
    server.handle_error = lambda request, client_address: None  # type: ignore[method-assign]


def _is_no_interruption(record: logging.LogRecord) -> bool:
    return not (record.exc_info and is_interruption(record.exc_info[1]))
