"""The files that say how to reach a cluster, checked before the library for Kubernetes reads them.

The library would wait for pipes, read files of any size and fail at values of other types than it expects.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from emulator.files.disk import told
from emulator.files.reading import open_regular, read_regular
from emulator.files.yaml_text import BadYaml, read_yaml

_DEFAULT = "~/.kube/config"
_MOST_BYTES = 2_000_000
_MOST_VALUES = 20_000
_LISTS = {"clusters": "cluster", "contexts": "context", "users": "user"}
"""The lists of a file, and the key of each entry under which its rest is."""
_TEXTS = {
    "cluster": (
        "server",
        "certificate-authority",
        "certificate-authority-data",
        "tls-server-name",
        "proxy-url",
    ),
    "context": ("cluster", "user", "namespace"),
    "user": (
        *("client-certificate", "client-certificate-data", "client-key", "client-key-data"),
        *("token", "tokenFile", "username", "password"),
    ),
}
_FIELDS = {"cluster": (), "context": (), "user": ("exec", "auth-provider")}
"""The keys whose values have keys themselves."""
_NAMED_FILES = ("certificate-authority", "client-certificate", "client-key", "tokenFile")
_LINES = ("\n", "\r", "\0")


class BadKubeconfig(Exception):
    """A file cannot be used; the text names it and says why."""


def check_kubeconfig(paths: str | None) -> None:
    """Check the files that `KUBECONFIG` names, and those that the current context names in them.

    Missing files are left to the library, which asks for at least one. Raises BadKubeconfig.
    """
    found: dict[str, dict[str, tuple[Path, Mapping[str, Any]]]] = {kind: {} for kind in _LISTS}
    current = ""
    for path in _paths(paths or _DEFAULT):
        document = _read(path)
        current = _text(path, document, "current-context") or current
        for kind, key in _LISTS.items():
            for name, entry in _entries(path, document, kind, key):
                found[kind].setdefault(name, (path, entry))
    _, context = found["contexts"].get(current, (None, {}))
    for kind, key in (("clusters", "cluster"), ("users", "user")):
        path_of, entry = found[kind].get(str(context.get(key)), (None, {}))
        if path_of is not None:
            _check_files(path_of, entry)


def check_certificates(authority: str | None, certificate: str | None, key: str | None) -> None:
    """Check that these files hold what they should. Raises BadKubeconfig."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        if authority:
            context.load_verify_locations(authority)
        if certificate:
            context.load_cert_chain(certificate, key or None, password="")
    except (OSError, ValueError) as error:
        raise BadKubeconfig(f"its certificates cannot be used: {error}") from None


def _paths(paths: str) -> Iterator[Path]:
    for name in paths.split(os.pathsep):
        path = Path(os.path.expanduser(name))  # noqa: PTH111 - a home that nobody has is kept as it is written
        try:
            if name and path.exists():
                yield path
        except OSError as error:
            raise BadKubeconfig(told(error)) from None


def _read(path: Path) -> Mapping[str, Any]:
    try:
        _, values = read_yaml(read_regular(path, _MOST_BYTES).decode(), _MOST_VALUES)
    except OSError as error:
        raise BadKubeconfig(told(error)) from None
    except UnicodeDecodeError:
        raise BadKubeconfig(f"{path} is not UTF-8 text") from None
    except BadYaml as error:
        raise BadKubeconfig(f"{path}:{error.line}: {error}") from None
    if values is None:
        raise BadKubeconfig(f"{path} is empty")
    if not isinstance(values, dict):
        raise BadKubeconfig(f"{path} does not hold keys and values")
    return values


def _entries(
    path: Path, document: Mapping[str, Any], kind: str, key: str
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    listed = document.get(kind)
    if not isinstance(listed, list | None):
        raise BadKubeconfig(f"{path}: {kind} is no list")
    for number, entry in enumerate(listed or ()):
        where = f"{kind}[{number}]"
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            raise BadKubeconfig(f"{path}: {where} has no name")
        inner = entry.get(key)
        if not isinstance(inner, dict | None):
            raise BadKubeconfig(f"{path}: {where}.{key} does not hold keys and values")
        for name in _TEXTS[key]:
            _text(path, inner or {}, name, f"{where}.{key}.")
        for name in _FIELDS[key]:
            if not isinstance((inner or {}).get(name), dict | None):
                raise BadKubeconfig(f"{path}: {where}.{key}.{name} does not hold keys and values")
        yield entry["name"], inner or {}


def _text(path: Path, fields: Mapping[str, Any], key: str, where: str = "") -> str:
    value = fields.get(key)
    if not isinstance(value, str | None):
        raise BadKubeconfig(f"{path}: {where}{key} is no text")
    if value and not key.endswith("-data") and any(end in value for end in _LINES):
        raise BadKubeconfig(f"{path}: {where}{key} has more than one line")
    return value or ""


def _check_files(path: Path, entry: Mapping[str, Any]) -> None:
    for key in _NAMED_FILES:
        if entry.get(key):
            try:
                open_regular(path.parent / str(entry[key]), _MOST_BYTES).close()
            except OSError as error:
                raise BadKubeconfig(f"{path} names a {key} that cannot be read: {told(error)}") from None
