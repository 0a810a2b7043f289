"""Waits for the turn of a release in the queue of its namespace, and starts, pauses and ends its pods:

`python -m services.admission --entry demo-queue --queue default --job demo-analysis`

The exit status is 0 when the run has ended or the release is removed.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from urllib.error import HTTPError

from emulator.fleet.pods.admission import Admission, Workloads
from emulator.fleet.pods.queue_leases import QueueLeases
from services.endings import in_words

_PERIOD = 5.0


@in_words
def main() -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description="Waits for the turn of a release in a queue")
    parser.add_argument("--entry", required=True, help="the Lease that is the release's entry")
    parser.add_argument("--queue", required=True, help="the queue's name")
    parser.add_argument("--job", required=True, help="the Job of the analysis")
    for name, what in (("trials", "that only trials need"), ("lasting", "that stays when the run has ended")):
        text = f"a workload {what}, such as statefulsets/demo-peers-0=20; repeatable"
        parser.add_argument(f"--{name}", type=_workload, action="append", default=[], help=text)
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    admission = Admission(
        QueueLeases(arguments.queue, arguments.job),
        arguments.entry,
        arguments.queue,
        Workloads(dict(arguments.trials), dict(arguments.lasting)),
        conducted=bool(arguments.trials),
        say=_say,
    )
    told = ""
    while True:
        try:
            if admission.step():
                return 0
            told = ""
        except (OSError, ValueError) as error:
            if (now := _words(error)) != told:
                _say(told := now)
        time.sleep(_PERIOD)


def _workload(text: str) -> tuple[str, int]:
    name, _, replicas = text.partition("=")
    return name, int(replicas)


def _say(text: str) -> None:
    print(text, flush=True)


def _words(error: Exception) -> str:
    if isinstance(error, HTTPError):
        return f"the API server refuses {error.url}: {error.code} {error.read(500).decode(errors='replace')}"
    return f"the API server does not answer: {error}"


if __name__ == "__main__":
    sys.exit(main())
