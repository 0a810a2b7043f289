"""One namespace of a cluster as plain JSON, so that large releases are listed in little time and memory."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import urllib3
from kubernetes import client, config

from trellis.command.release.errors import Forbidden, NotThere, ReleaseError, Unreachable
from trellis.command.release.kubeconfig import BadKubeconfig, check_certificates, check_kubeconfig

Json = dict[str, Any]
_CONNECT_LIMIT, _ANSWER_LIMIT = 5.0, 30.0
"""The seconds to a connection, and between two bytes of an answer."""
_ADDRESS = re.compile(r"https?://(\[[0-9a-fA-F:.]+\]|[^\s/\[\]:@]+)(:[0-9]{1,5})?(/\S*)?")
_NAME, _LONGEST_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"), 63
"""The pattern and the most characters of a namespace's name."""
_CONTENT = re.compile(r"/\{.*\}")
"""Matches what the library quotes of a file's content, which may hold a secret."""
_TRIPPED = (AttributeError, LookupError, TypeError, ValueError)
"""The errors that the library raises at content that it does not expect."""
_MERGE = "application/merge-patch+json"
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


class Cluster:
    """The API server of the current context of `KUBECONFIG`, seen from one namespace."""

    def __init__(self, namespace: str | None = None) -> None:
        """Without `namespace`, the context's is taken. Nothing is asked yet.

        Raises ReleaseError if no cluster is configured.
        """
        file = os.environ.get("KUBECONFIG")  # the library reads it only once
        settings = client.Configuration()
        settings.retries = urllib3.Retry(0)
        try:
            check_kubeconfig(file)
            _, context = config.list_kube_config_contexts(file)  # type: ignore[no-untyped-call]
            self._api = config.new_client_from_config(  # type: ignore[no-untyped-call]
                file, client_configuration=settings
            )
            check_certificates(settings.ssl_ca_cert, settings.cert_file, settings.key_file)
            if not _ADDRESS.fullmatch(settings.host or ""):
                raise BadKubeconfig(
                    f"{settings.host or 'nothing'} is no address of a cluster, such as https://h:6443"
                )
        except (BadKubeconfig, config.ConfigException, OSError, *_TRIPPED) as error:
            why = _CONTENT.sub("", str(error)).rstrip(".")
            raise ReleaseError(
                f"no cluster is configured: {why}. Set KUBECONFIG to the file that your cluster's "
                f"administrator gave you, or start a local cluster (kind create cluster)"
            ) from None
        self.context: str = context["name"]
        self.namespace: str = namespace or context["context"].get("namespace") or "default"
        self.server: str = settings.host
        if len(self.namespace) > _LONGEST_NAME or not _NAME.fullmatch(self.namespace):
            raise ReleaseError(
                f"{self.namespace[:80]!r} is no name of a namespace: small letters, digits and -, at most 63"
            )

    def close(self) -> None:
        """End the connections to the cluster."""
        self._api.rest_client.pool_manager.clear()

    def check(self) -> None:
        """Raises ReleaseError if the cluster cannot be reached or has no such namespace."""
        self.get("/version")
        try:
            self.get(f"/api/v1/namespaces/{self.namespace}")
        except NotThere:
            raise ReleaseError(
                f"there is no namespace {self.namespace} in the cluster of the context {self.context}. "
                f"Create it: kubectl create namespace {self.namespace}"
            ) from None
        except Forbidden:
            pass  # the namespace may still be used

    def get(self, path: str, **query: Any) -> Json:
        """Return what the API server answers. Raises Unreachable, NotThere, ReleaseError."""
        with self._request("GET", path, query, {"Accept": "application/json"}) as answer:
            return dict(json.loads(answer.data))

    def objects(self, group: str, kind: str, **query: Any) -> list[Json]:
        """Return objects of the namespace, such as `objects("apis/apps/v1", "statefulsets")`."""
        return list(self.get(f"/{group}/namespaces/{self.namespace}/{kind}", **query)["items"])

    def table(self, group: str, kind: str, **query: Any) -> list[dict[str, Any]]:
        """Return the columns that `kubectl get` shows, by name, which is a small answer."""
        path = f"/{group}/namespaces/{self.namespace}/{kind}"
        query["includeObject"] = "None"
        with self._request("GET", path, query, {"Accept": _TABLE}) as answer:
            told = json.loads(answer.data)
        names = [column["name"] for column in told["columnDefinitions"]]
        return [dict(zip(names, row["cells"], strict=True)) for row in told.get("rows") or ()]

    def patch(self, group: str, kind: str, name: str, change: Json) -> None:
        """Change fields of an object of the namespace; None removes one. Raises NotThere."""
        path = f"/{group}/namespaces/{self.namespace}/{kind}/{name}"
        with self._request("PATCH", path, {}, {"Content-Type": _MERGE}, change):
            pass

    def delete(self, group: str, kind: str, name: str) -> None:
        """Delete an object of the namespace and what it owns. Raises NotThere."""
        path = f"/{group}/namespaces/{self.namespace}/{kind}/{name}"
        with self._request("DELETE", path, {"propagationPolicy": "Background"}, {}):
            pass

    @contextmanager
    def stream(
        self, path: str, headers: dict[str, str] | None = None, **query: Any
    ) -> Iterator[urllib3.BaseHTTPResponse]:
        """Return an answer to be read piece by piece. Raises Unreachable if it breaks off."""
        with self._request("GET", path, query, {"Accept": "*/*"} | (headers or {})) as answer:
            yield answer

    @contextmanager
    def _request(
        self, method: str, path: str, query: Json, headers: dict[str, str], body: Json | None = None
    ) -> Iterator[urllib3.BaseHTTPResponse]:
        request = self._api.param_serialize(
            method,
            path,
            query_params=list(query.items()),
            header_params=headers,
            body=body,
            auth_settings=["BearerToken"],
        )
        try:
            response = self._api.call_api(*request, _request_timeout=(_CONNECT_LIMIT, _ANSWER_LIMIT))
            answer: urllib3.BaseHTTPResponse = response.response
            try:
                if answer.status >= 400:
                    raise _refusal(answer, f"{method} {path}")
                yield answer
            finally:
                answer.close()  # one that was read to its end has given its connection back before
        except (urllib3.exceptions.HTTPError, client.ApiException) as error:
            raise Unreachable(
                f"the cluster of the context {self.context} at {self.server} does not answer: "
                f"{_cause(error)}. Check that it runs (kubectl version) and that KUBECONFIG is the right one"
            ) from None


def _refusal(answer: urllib3.BaseHTTPResponse, request: str) -> ReleaseError:
    text = answer.data.decode(errors="replace")
    try:
        message = str(json.loads(text)["message"])
    except (ValueError, KeyError, TypeError):
        message = text.strip() or f"status {answer.status}"
    if answer.status == 404:
        return NotThere(message)
    if answer.status in (401, 403):
        return Forbidden(
            f"the cluster does not allow it: {message}. Ask its administrator for a role that does"
        )
    if answer.status in (429, 500, 502, 503, 504):
        return Unreachable(f"{request}: {message}")
    return ReleaseError(f"{request}: {message}")


def _cause(error: Exception) -> str:
    """Return the last cause in a chain of errors, which says the most."""
    reason = getattr(error, "reason", None)
    while isinstance(reason, Exception):
        error, reason = reason, getattr(reason, "reason", None)
    text = str(error).rpartition(": ")[2] or type(error).__name__
    return text.rstrip(". ")
