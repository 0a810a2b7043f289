"""A watch of a release's pods by the Kubernetes API, and the deletion of pods."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from http import HTTPStatus
from typing import Any

import aiohttp
from kubernetes.aio import client, config
from kubernetes.aio.client.exceptions import ApiException

from emulator.fleet.pods.kill_schedule import Pod

_PAGE = 500
"""The most pods in one answer."""
_CALL_LIMIT = 10.0
_WATCH_LIMIT = 30
"""The seconds until a watch is begun anew from where it was, by which a dead watch is noticed."""
_DELETE_LIMIT = 30.0
"""The wall seconds until a deletion that is not answered, or is put off, is given up."""
_BACK_OFF = (0.2, 5.0)
"""The wall seconds before the first and between the last attempts."""

_PASSING = (aiohttp.ClientError, OSError, TimeoutError, ValueError)
"""The errors that a new attempt may mend; ValueError comes from an answer that was cut off."""
_DENIED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
_LASTING = (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED)


class PodsDenied(Exception):
    """The Kubernetes API does not let this program do its work."""


Note = Callable[[str, Pod | None], None]
"""A listener to changes: it gets the name of a pod, and its state now or None if it is gone."""


@asynccontextmanager
async def open_pods(namespace: str, prefix: str) -> AsyncIterator[Pods]:
    """Open the pods `<prefix>-...` of a namespace.

    The credentials are the pod's own in a cluster, and those of KUBECONFIG elsewhere. Raises PodsDenied if
    there are none.
    """
    configuration = client.Configuration()
    try:
        config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
    except config.ConfigException:
        try:
            await config.load_kube_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
        except config.ConfigException as error:
            text = f"no credentials for Kubernetes, neither a pod's own nor those of KUBECONFIG: {error}"
            raise PodsDenied(text) from error
    async with client.ApiClient(configuration) as connection:
        yield Pods(client.CoreV1Api(connection), namespace, prefix)


class Pods:
    """Follows the pods whose names begin with a prefix and a dash, and deletes them."""

    def __init__(self, api: Any, namespace: str, prefix: str) -> None:
        """`api` is a `kubernetes.aio.client.CoreV1Api`, or one like it."""
        self._api = api
        self._namespace = namespace
        self._prefix = f"{prefix}-"
        self._names: set[str] = set()

    async def follow(self, note: Note, listed: asyncio.Event) -> None:
        """Tell of all pods and then of every change, until cancelled; set `listed` once all were told.

        Raises PodsDenied.
        """
        pause = _BACK_OFF[0]
        while True:
            try:
                version = await self._list(note)
                listed.set()
                while version:
                    version = await self._watch(version, note)
                    pause = _BACK_OFF[0]
            except ApiException as error:
                self._raise_if_denied(error, "list and watch")
                if error.status in _LASTING:
                    raise PodsDenied(
                        f"cannot list the pods of {self._namespace}: {_reason(error)}"
                    ) from error
            except _PASSING:
                pass
            await asyncio.sleep(pause)
            pause = min(pause * 2, _BACK_OFF[1])

    async def delete(self, name: str, uid: str, *, graceful: bool) -> str:
        """Ask for the deletion of this pod, and no other of its name. Returns the error, or "".

        A graceful deletion has the pod's own grace period, another one has none. Deleting a pod that is gone
        already is no error. Raises PodsDenied.
        """
        options = client.V1DeleteOptions(
            grace_period_seconds=None if graceful else 0, preconditions=client.V1Preconditions(uid=uid)
        )
        give_up = time.monotonic() + _DELETE_LIMIT
        pause = _BACK_OFF[0]
        while True:
            wait = pause
            try:
                await self._api.delete_namespaced_pod(
                    name, self._namespace, body=options, _request_timeout=_CALL_LIMIT
                )
                return ""
            except ApiException as error:
                self._raise_if_denied(error, "delete")
                if error.status == HTTPStatus.NOT_FOUND:
                    return ""
                reason = _reason(error)
                if error.status == HTTPStatus.CONFLICT:
                    if await self._is_gone(name, uid):
                        return ""
                elif error.status == HTTPStatus.TOO_MANY_REQUESTS or error.status >= 500:
                    wait = _retry_after(error, pause)
                else:
                    return f"Kubernetes refused the deletion: {reason}"
            except _PASSING as error:
                reason = str(error) or type(error).__name__
            if time.monotonic() + wait > give_up:
                return f"Kubernetes did not take the deletion within {_DELETE_LIMIT:g} s: {reason}"
            await asyncio.sleep(wait)
            pause = min(pause * 2, _BACK_OFF[1])

    async def _list(self, note: Note) -> str:
        """Tell of all pods. Returns the version to watch from."""
        seen: set[str] = set()
        proceed = ""
        while True:
            answer = await self._ask(limit=_PAGE, **({"_continue": proceed} if proceed else {}))
            page = json.loads(await answer.read())
            for item in page["items"]:
                name = item["metadata"]["name"]
                if name.startswith(self._prefix):
                    seen.add(name)
                    note(name, _pod(item))
            version: str = page["metadata"]["resourceVersion"]
            proceed = page["metadata"].get("continue", "")
            if not proceed:
                break
        for name in self._names - seen:
            note(name, None)
        self._names = seen
        return version

    async def _watch(self, version: str, note: Note) -> str:
        """Tell of changes after this version for a while. Returns the version reached, "" to list again."""
        answer = await self._ask(
            watch=True, resource_version=version, allow_watch_bookmarks=True, timeout_seconds=_WATCH_LIMIT
        )
        try:
            while line := await answer.content.readline():
                event = json.loads(line)
                if event["type"] == "ERROR":
                    return ""
                item = event["object"]
                version = item["metadata"]["resourceVersion"]
                name = item["metadata"].get("name", "")
                if event["type"] == "BOOKMARK" or not name.startswith(self._prefix):
                    continue
                if event["type"] == "DELETED":
                    self._names.discard(name)
                    note(name, None)
                else:
                    self._names.add(name)
                    note(name, _pod(item))
            return version
        finally:
            answer.close()

    async def _ask(self, **options: Any) -> aiohttp.ClientResponse:
        limit = _CALL_LIMIT + options.get("timeout_seconds", 0)
        answer: aiohttp.ClientResponse = await self._api.list_namespaced_pod_without_preload_content(
            self._namespace, _request_timeout=limit, **options
        )
        if answer.status != HTTPStatus.OK:
            text = await answer.text()
            raise ApiException(status=answer.status, reason=answer.reason, body=text)
        return answer

    async def _is_gone(self, name: str, uid: str) -> bool:
        try:
            pod = await self._api.read_namespaced_pod(name, self._namespace, _request_timeout=_CALL_LIMIT)
        except ApiException as error:
            self._raise_if_denied(error, "get")
            return bool(error.status == HTTPStatus.NOT_FOUND)
        return bool(pod.metadata.uid != uid)

    def _raise_if_denied(self, error: ApiException, verb: str) -> None:
        if error.status in _DENIED:
            raise PodsDenied(
                f"may not {verb} pods in the namespace {self._namespace}: {_reason(error)}. Give the "
                "ServiceAccount a Role with the verbs delete, get, list and watch on pods"
            ) from error


def _pod(item: dict[str, Any]) -> Pod:
    metadata = item["metadata"]
    created = datetime.fromisoformat(metadata["creationTimestamp"])
    return Pod(metadata["uid"], int(created.timestamp()), item["status"].get("phase") == "Running")


def _reason(error: ApiException) -> str:
    """Return the status of an error and the API's own message."""
    try:
        message = json.loads(error.body or "")["message"]
    except (TypeError, ValueError, KeyError):
        message = error.reason
    return f"{error.status}, {message}"


def _retry_after(error: ApiException, otherwise: float) -> float:
    """Return the seconds that the API asks to wait. It never sends the dates that HTTP allows here."""
    try:
        return max(float((error.headers or {})["Retry-After"]), otherwise)
    except (TypeError, ValueError, KeyError):
        return otherwise
