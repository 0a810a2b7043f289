"""Kubernetes Events of trials: `kubectl get events` shows when one begins, its phases and its verdict."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from queue import Full, Queue
from typing import Any

from emulator.fleet.coordinator.host_words import printable
from emulator.fleet.pods.pod_reading import ask, in_cluster, own_namespace, read_pod
from emulator.runtime.progress import Progress

_WAITING = 100
"""The most events that wait for the API server; further ones are left out."""
_MESSAGE = 1000
"""The most characters of a message; the API server takes 1,024."""
_LAST_WORDS = 5.0
"""The seconds in which events that wait can be sent at the end."""

Create = Callable[[dict[str, Any]], object]


class TrialEvents:
    """Tells the cluster of trials, from a thread of its own, since a slow API server must hold up no trial.

    The events are about the coordinator's pod. An event that the API server does not take is left out, which
    the log says once.
    """

    def __init__(self, release: str, pod: str, create: Create | None = None) -> None:
        """`create` makes an event. By default the API server is asked to, or nobody outside of a cluster."""
        self._release = release
        self._pod = pod
        self._create = create if create is not None else _create if in_cluster() else None
        self._phase = ""
        self._failed = False
        self._queue: Queue[dict[str, Any] | None] = Queue(_WAITING)
        self._thread = threading.Thread(target=self._send, name="events", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Send what waits, for a few seconds at most."""
        self._put(None)
        self._thread.join(_LAST_WORDS)

    def begin(self, trial: str) -> None:
        """Tell that a trial begins, or goes on after the coordinator was started again."""
        self._phase = ""
        self._tell("TrialBegun", f"{trial} begins")

    def watch(self, trial: str, progress: Progress) -> None:
        """Tell of the phase of a trial that has started, if it is another one than before."""
        if progress.trial_time > 0 and progress.phase != self._phase:
            self._phase = progress.phase
            self._tell("PhaseBegun", f"{trial}: {progress.told()}")

    def end(self, trial: str, reasons: Sequence[str]) -> None:
        """Tell that a trial is over, and why it is invalid if there are reasons."""
        if reasons:
            self._tell("TrialInvalid", f"{trial} is invalid: {'; '.join(reasons)}", "Warning")
        else:
            self._tell("TrialValid", f"{trial} is valid")

    def fail(self, trial: str, why: str) -> None:
        """Tell that a trial failed."""
        self._tell("TrialFailed", f"{trial} failed: {why}", "Warning")

    def _tell(self, reason: str, message: str, kind: str = "Normal") -> None:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self._put(
            {
                "metadata": {"generateName": f"{self._release}-trial-"},
                "type": kind,
                "reason": reason,
                "message": printable(message)[:_MESSAGE],
                "involvedObject": {"apiVersion": "v1", "kind": "Pod", "name": self._pod},
                "source": {"component": "trellis-coordinator"},
                "firstTimestamp": now,
                "lastTimestamp": now,
                "count": 1,
            }
        )

    def _put(self, event: dict[str, Any] | None) -> None:
        try:
            if self._create is not None or event is None:
                self._queue.put_nowait(event)
        except Full:
            self._complain("too many wait for the API server")

    def _send(self) -> None:
        while (event := self._queue.get()) is not None:
            assert self._create is not None
            try:
                self._create(event)
            except (OSError, ValueError, KeyError) as error:
                self._complain(error)

    def _complain(self, why: object) -> None:
        if not self._failed:
            self._failed = True
            print(f"events of trials are left out of the cluster: {why}", file=sys.stderr, flush=True)


def own_events(release: str) -> TrialEvents:
    """Return events about the pod that this program runs in, which nobody is told of outside of a cluster."""
    return TrialEvents(release, os.environ.get("TRELLIS_POD", ""))


def _create(event: dict[str, Any]) -> None:
    """Make an event in this pod's namespace. Raises OSError, ValueError and KeyError, as `ask` does."""
    about = event["involvedObject"]
    about["namespace"] = namespace = own_namespace()
    about["uid"] = read_pod(about["name"])["metadata"]["uid"]
    ask("POST", f"api/v1/namespaces/{namespace}/events", event, "application/json")
