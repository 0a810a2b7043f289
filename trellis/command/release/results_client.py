"""The results service of a release, read from this machine."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import urllib3

from trellis.command.release.cluster import Cluster, Json
from trellis.command.release.errors import NotThere, ReleaseError, Unreachable
from trellis.command.release.forward import forwarded, read

_APPS, _CORE = "apis/apps/v1", "api/v1"
_TOKEN_HEADER = "X-Trellis-Token"
"""The header of the token: the API server keeps the usual header to itself."""


class Results:
    """Reads by the API server's proxy or, where NetworkPolicies close that, by `kubectl port-forward`."""

    def __init__(self, cluster: Cluster, release: str, selector: str) -> None:
        """`selector` selects the labels of the service and its deployment."""
        self._cluster = cluster
        self._release = release
        self._selector = selector
        self._token: str | None = None
        self._forwards = False
        """This is true if the proxy was found not to reach the service."""

    @contextmanager
    def read(self, path: str) -> Iterator[urllib3.BaseHTTPResponse]:
        """Yield what the service answers, to be read piece by piece.

        Raises Unreachable, NotThere, ReleaseError.
        """
        with ExitStack() as stack:
            yield self._open(path, stack)

    def _open(self, path: str, stack: ExitStack) -> urllib3.BaseHTTPResponse:
        place = self._cluster.namespace
        service = self._only(_CORE, "services")
        name, port = service["metadata"]["name"], service["spec"]["ports"][0]["port"]
        headers = {_TOKEN_HEADER: self._read_token()}
        proxy = f"/{_CORE}/namespaces/{place}/services/http:{name}:{port}/proxy/{path}"
        refused: Unreachable | None = None
        if not self._forwards:
            try:
                return stack.enter_context(self._cluster.stream(proxy, headers))
            except Unreachable as error:
                refused = error
            if not self._ready():
                raise refused
        try:
            address = stack.enter_context(forwarded(self._cluster.context, place, name, port))
        except NotThere as missing:
            raise Unreachable(f"{refused}; and there is no other way to it: {missing}") from None
        answer = stack.enter_context(read(address, path, headers))
        self._forwards = True
        return answer

    def _ready(self) -> bool:
        status = self._only(_APPS, "deployments").get("status") or {}
        return int(status.get("readyReplicas") or 0) > 0

    def _read_token(self) -> str:
        """Return the token that the service asks for; "" if it asks for none.

        Raises Forbidden if the user may not read it.
        """
        if self._token is None:
            # The service is given this Secret, which the user may have made.
            spec: Json = self._only(_APPS, "deployments")["spec"]
            volumes = spec.get("template", {}).get("spec", {}).get("volumes", ())
            secret = next((str(v["secret"]["secretName"]) for v in volumes if v["name"] == "trust"), "")
            token = ""
            if secret:
                path = f"/{_CORE}/namespaces/{self._cluster.namespace}/secrets/{secret}"
                token = _decoded((self._cluster.get(path).get("data") or {}).get("results", ""))
            self._token = token
        return self._token

    def _only(self, group: str, kind: str) -> Json:
        """Return the only object of a kind. Raises NotThere if there is none yet."""
        found = self._cluster.objects(group, kind, labelSelector=self._selector)
        if not found:
            raise NotThere(f"{self._release} has no results service")
        return found[0]


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode("ascii").strip()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise ReleaseError(f"the token of the results is damaged: {error}") from None
