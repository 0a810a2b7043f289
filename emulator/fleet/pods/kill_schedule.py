"""Which pod is to be deleted when: the kills of a trial, at a bounded rate, without any I/O.

A session that ends with its pod ends in two steps: Kubernetes is asked to delete the pod, and later the pod
is gone. All times are unix seconds on this program's clock, given by the caller.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

_RESOLUTION = 1.0
"""Seconds to which Kubernetes tells when a pod was created, rounded down."""


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
    """A pod as it was last seen; another pod of the same name has another `uid`."""

    uid: str
    created: int
    """It was created within a second from this on."""
    running: bool


@dataclass(frozen=True, slots=True)
class Deletion:
    """What Kubernetes is to be asked for now: this pod, and no later one of its name."""

    kill: Kill
    uid: str
    asked: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a kill."""

    kill: Kill
    asked: float
    """When Kubernetes was asked, or when it was found that there is nothing to ask for."""
    gone: float | None
    """When the pod was seen to be gone; None if it was not."""
    error: str


@dataclass(frozen=True)
class Pace:
    """How hard Kubernetes is asked, and how long it is waited for."""

    rate: float = 20.0
    """Deletions a second."""
    calls: int = 16
    """Deletions that wait for their answer."""
    patience: float = 120.0
    """Seconds from asking until a pod must be gone. Longer than the pods' grace period."""

    def __post_init__(self) -> None:
        """Raises ValueError for what would never delete anything."""
        if not (self.rate > 0 and self.calls > 0 and self.patience > 0):
            raise ValueError(f"rate, calls and patience must be above 0: {self}")


class PodChurn:
    """The kills of one trial and the pods that they are for."""

    def __init__(self, kills: Iterable[Kill], pace: Pace) -> None:
        self._pace = pace
        self._waiting = deque(sorted(kills, key=lambda kill: kill.due))
        self._pods: dict[str, Pod] = {}
        self._asked: dict[str, Deletion] = {}
        """By the uid of the pod; first those that were asked for first."""
        self._unanswered: set[str] = set()
        self._next_call = float("-inf")
        self._outcomes: list[Outcome] = []

    @property
    def over(self) -> bool:
        """Every kill has an outcome, and all outcomes were taken."""
        return not (self._waiting or self._asked or self._outcomes)

    def see(self, name: str, pod: Pod | None, now: float) -> None:
        """The pod of this name is now so; None if there is none."""
        before = self._pods.get(name)
        if pod is None:
            self._pods.pop(name, None)
        else:
            self._pods[name] = pod
        if before is not None and (pod is None or pod.uid != before.uid):
            self._settle(before.uid, now, "")

    def take(self, now: float) -> Deletion | None:
        """The deletion to ask for now, if one is due and neither rate nor calls are used up.

        Each one taken is to be followed by `answer` or `refuse`.
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
        """Kubernetes has taken the deletion, or knows the pod no more."""
        self._unanswered.discard(deletion.uid)

    def refuse(self, deletion: Deletion, error: str) -> None:
        """Kubernetes will not delete the pod."""
        self._unanswered.discard(deletion.uid)
        self._settle(deletion.uid, None, error)

    def outcomes(self, now: float) -> list[Outcome]:
        """Those since the last call; a pod that is not gone in time is one."""
        for deletion in list(self._asked.values()):
            if deletion.asked + self._pace.patience > now:
                break
            self._settle(deletion.uid, None, f"the pod was not gone after {self._pace.patience:g} s")
        found, self._outcomes = self._outcomes, []
        return found

    def wake_at(self) -> float | None:
        """When to call `take` and `outcomes` again if nothing else happens before; None for never."""
        moments = []
        if self._waiting and len(self._unanswered) < self._pace.calls:
            moments.append(max(self._waiting[0].due, self._next_call))
        if self._asked:
            moments.append(next(iter(self._asked.values())).asked + self._pace.patience)
        return min(moments, default=None)

    def _hindrance(self, kill: Kill, pod: Pod | None) -> str:
        """Why there is nothing to delete, or ""."""
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
