"""The problems that keep pods from starting, read from the cluster's pods, workloads and claims."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Json = Mapping[str, Any]

_IMAGE = ("ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError")
_CREATE = ("CreateContainerConfigError", "CreateContainerError", "RunContainerError")
_NO_TROUBLE = ("WaitForFirstConsumer", "ExternalProvisioning", "Provisioning", "ProvisioningSucceeded")
"""The reasons of a claim's events that only say what comes next."""
_SHOWN = 3

ADVICE = {
    "image": "Build and load the image, or name the right one (--image-prefix, --image-tag, --values)",
    "schedule": "Ask for less (fewer hosts, resource requests in --values) or give the cluster more nodes",
    "quota": "Ask for a larger quota, or for less (fewer hosts, resource requests in --values)",
    "refused": "Change what the cluster refuses with --values, or ask its administrator",
    "create": "Check the values of the chart that it speaks of",
    "volume": "Name a storage class that the cluster has (--values), or make a volume for the claim",
    "crash": "See what it said: trellis logs {release}",
    "slow": "See what the node says: kubectl get events",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """One kind of trouble and the objects that have it; `text` is the cluster's word for one of them."""

    kind: str
    """The kind, a key of `ADVICE`."""
    subjects: tuple[str, ...]
    text: str

    def told(self, release: str) -> str:
        """Return the problem in words, with what to do."""
        shown = ", ".join(self.subjects[:_SHOWN])
        more = len(self.subjects) - _SHOWN
        who = f"{shown} and {more} more" if more > 0 else shown
        return f"{who}: {self.text}. {ADVICE[self.kind].format(release=release)}"


def kind_of(status: str) -> str | None:
    """Return what a pod's status in `kubectl get pods` may be a sign of; None if nothing is wrong."""
    reason = status.removeprefix("Init:")
    if reason in _IMAGE:
        return "image"
    if reason in _CREATE:
        return "create"
    if reason == "CrashLoopBackOff":
        return "crash"
    return {"Pending": "schedule", "ContainerCreating": "slow", "PodInitializing": "slow"}.get(reason)


def explain_pod(pod: Json, kind: str) -> str | None:
    """Return why a pod that shows a sign of `kind` does not run; None if it is not in trouble after all."""
    status = pod.get("status") or {}
    if kind == "schedule":
        unscheduled = next(
            (
                c
                for c in status.get("conditions") or ()
                if (c["type"], c["status"]) == ("PodScheduled", "False")
            ),
            None,
        )
        return f"cannot be scheduled: {_clean(unscheduled.get('message'))}" if unscheduled else None
    for container in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
        waiting = (container.get("state") or {}).get("waiting") or {}
        reason, message = waiting.get("reason", ""), _clean(waiting.get("message"))
        if kind_of(reason) != kind or kind == "slow":
            continue
        if kind == "image":
            said = message if reason != "ImagePullBackOff" else _clean(message.partition(": ")[2]) or message
            return f"the image {container['image']} cannot be pulled ({reason}): {said}"
        if kind == "create":
            return f"its container cannot be started ({reason}): {message}"
        return f"its program ends again and again: {ending(container)}"
    return None


def ending(container: Json) -> str:
    """Return how the program of a container ended last, with its last words if it left any."""
    ended = _ended(container)
    if not ended:
        return "nothing is known of its end"
    words = " / ".join(_lines(ended))
    return f"{_how(ended)}: {words}" if words else _how(ended)


def failed_pods(pods: Iterable[Json]) -> list[str]:
    """Return the pods that failed instead of ending well, each followed by its last words line by line."""
    told = []
    for pod in pods:
        for container in (pod.get("status") or {}).get("containerStatuses") or ():
            ended = _ended(container)
            if ended.get("exitCode"):
                told += [f"{pod['metadata']['name']}: {_how(ended)}", *_lines(ended)]
    return told


def _ended(container: Json) -> Json:
    before: Json = (container.get("lastState") or {}).get("terminated") or {}
    return (container.get("state") or {}).get("terminated") or before


def _how(ended: Json) -> str:
    reason = ended.get("reason")
    return f"exit status {ended.get('exitCode')}" + (
        "" if reason in (None, "Error", "Completed") else f" ({reason})"
    )


def _lines(ended: Json) -> list[str]:
    return [line.strip() for line in str(ended.get("message") or "").splitlines() if line.strip()]


def refusal(owner: Json, events: Iterable[Json]) -> Problem | None:
    """Return why a workload that lacks pods cannot make them, by its events or those of its ReplicaSet."""
    name = str(owner["metadata"]["name"])
    about = [
        event
        for event in events
        if event.get("reason") == "FailedCreate" and _belongs(event["involvedObject"], owner)
    ]
    if not about:
        return None
    text = _clean(max(about, key=_when).get("message"))
    kind = "quota" if "exceeded quota" in text else "refused"
    what = text.partition(" is forbidden: ")[2] or text
    return Problem(kind, (name,), f"its pods cannot be made: {what}")


def _belongs(about: Json, owner: Json) -> bool:
    name, uid = owner["metadata"]["name"], owner["metadata"]["uid"]
    made_by_deployment = about.get("kind") == "ReplicaSet" and str(about["name"]).rpartition("-")[0] == name
    return about.get("uid") == uid or made_by_deployment


def unbound(claim: Json, events: Iterable[Json]) -> Problem | None:
    """Return why a claim has no volume; None if it has one, or will have when a pod asks for it."""
    name = str(claim["metadata"]["name"])
    phase = (claim.get("status") or {}).get("phase")
    if phase == "Lost":
        return Problem("volume", (name,), "its volume is lost")
    if phase != "Pending":
        return None
    about = [event for event in events if event["involvedObject"].get("uid") == claim["metadata"]["uid"]]
    if not about:
        return None
    newest = max(about, key=_when)
    if newest.get("reason") in _NO_TROUBLE:
        return None
    return Problem("volume", (name,), f"the claim has no volume: {_clean(newest.get('message'))}")


def trouble(name: str, events: Iterable[Json]) -> str | None:
    """Return the newest warning about an object, None if there is none."""
    about = [e for e in events if e["involvedObject"].get("name") == name and e.get("type") == "Warning"]
    return _clean(max(about, key=_when).get("message")) if about else None


def _when(event: Json) -> str:
    return str(event.get("lastTimestamp") or event.get("eventTime") or "")


def _clean(message: Any) -> str:
    """Return a message in one line, without the dot at its end."""
    return " ".join(str(message or "nothing is told").split()).rstrip(".")
