"""The schedule of kills in a trial: which pod to delete when, at a bounded rate, without any I/O.

A session that ends with its pod ends in two steps: Kubernetes is asked to delete the pod, and later the pod
is gone. All times are unix seconds on this program's clock, given by the caller.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

_RESOLUTION = 1.0
"""The resolution in seconds, rounded down, with which Kubernetes tells when a pod was created."""


@dataclass(frozen=True, slots=True)
class Kill:
    """The planned end of a session."""

    peer: int
    session: int
    host: str
    pod: str
    due: float
    graceful: bool


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod as it was last seen. Another pod of the same name has another `uid`."""

    uid: str
    created: int
    """The unix time of the pod's creation, rounded down to a second."""
    running: bool


@dataclass(frozen=True, slots=True)
class Deletion:
    """A deletion to ask Kubernetes for: of this very pod, not of a later one with the same name."""

    kill: Kill
    uid: str
    asked: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a kill."""

    kill: Kill
    asked: float
    """The time when Kubernetes was asked, or when it was found that there is nothing to ask for."""
    gone: float | None
    """The time when the pod was seen to be gone; None if it was not seen."""
    error: str


@dataclass(frozen=True)
class Pace:
    """The rate of deletions, and how long to wait for each."""

    rate: float = 20.0
    """The most deletions a second."""
    calls: int = 16
    """The most deletions that may wait for an answer of Kubernetes at the same time."""
    patience: float = 120.0
    """The seconds after asking within which a pod must be gone, longer than the pods' grace period."""

    def __post_init__(self) -> None:
        """Raises ValueError if this pace would never delete anything."""
        if not (self.rate > 0 and self.calls > 0 and self.patience > 0):
            raise ValueError(f"rate, calls and patience must be above 0: {self}")


class PodChurn:
    """The kills of one trial and the pods that they are for."""

    def __init__(self, kills: Iterable[Kill], pace: Pace) -> None:
        self._pace = pace
        self._waiting = deque(sorted(kills, key=lambda kill: kill.due))
        self._pods: dict[str, Pod] = {}
        self._asked: dict[str, Deletion] = {}
        """The deletions that were asked for by the pods' uids, the earliest first."""
        self._unanswered: set[str] = set()
        self._next_call = float("-inf")
        self._outcomes: list[Outcome] = []

    @property
    def over(self) -> bool:
        """This is true if every kill has an outcome, and all outcomes were taken."""
        return not (self._waiting or self._asked or self._outcomes)

    def see(self, name: str, pod: Pod | None, now: float) -> None:
        """Note the state of the pod of this name, None if there is none."""
        before = self._pods.get(name)
        if pod is None:
            self._pods.pop(name, None)
        else:
            self._pods[name] = pod
        if before is not None and (pod is None or pod.uid != before.uid):
            self._settle(before.uid, now, "")

    def take(self, now: float) -> Deletion | None:
        """Return the deletion to ask for now, if one is due and neither rate nor calls are used up.

        The caller follows each deletion by `answer` or `refuse`.
        """
        while self._waiting and self._waiting[0].due <= now:
            if now < self._next_call or len(self._unanswered) >= self._pace.calls:
                return None
            kill = self._waiting.popleft()
            pod = self._pods.get(kill.pod)
            if error := self._hindrance(kill, pod):
                self._outcomes.append(Outcome(kill, now, None, error))
                continue
            assert pod is not None
            deletion = Deletion(kill, pod.uid, now)
            self._asked[pod.uid] = deletion
            self._unanswered.add(pod.uid)
            self._next_call = now + 1 / self._pace.rate
            return deletion
        return None

    def answer(self, deletion: Deletion) -> None:
        """Note that Kubernetes has taken the deletion, or no longer knows the pod."""
        self._unanswered.discard(deletion.uid)

    def refuse(self, deletion: Deletion, error: str) -> None:
        """Note that Kubernetes will not delete the pod."""
        self._unanswered.discard(deletion.uid)
        self._settle(deletion.uid, None, error)

    def outcomes(self, now: float) -> list[Outcome]:
        """Return the outcomes since the last call, among them the pods that are not gone in time."""
        for deletion in list(self._asked.values()):
            if deletion.asked + self._pace.patience > now:
                break
            self._settle(deletion.uid, None, f"the pod was not gone after {self._pace.patience:g} s")
        found, self._outcomes = self._outcomes, []
        return found

    def wake_at(self) -> float | None:
        """Return when to call `take` and `outcomes` again if nothing else happens before; None for never."""
        moments = []
        if self._waiting and len(self._unanswered) < self._pace.calls:
            moments.append(max(self._waiting[0].due, self._next_call))
        if self._asked:
            moments.append(next(iter(self._asked.values())).asked + self._pace.patience)
        return min(moments, default=None)

    def _hindrance(self, kill: Kill, pod: Pod | None) -> str:
        """Return why there is nothing to delete, or ""."""
        if pod is None:
            return "there was no pod: it had not come back"
        if pod.uid in self._asked:
            return "the pod was still ending with the session before"
        if pod.created + _RESOLUTION > kill.due:
            return "the pod had ended and come back before it was to be deleted"
        if not pod.running:
            return "the pod was not running: it had not come back"
        return ""

    def _settle(self, uid: str, gone: float | None, error: str) -> None:
        deletion = self._asked.pop(uid, None)
        if deletion is not None:
            self._outcomes.append(Outcome(deletion.kill, deletion.asked, gone, error))
