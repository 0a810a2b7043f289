"""A place in an object store that speaks S3, such as s3://bucket/prefix, by the variables of its usual tools.

These are AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION, AWS_CA_BUNDLE and, for a
store that is not Amazon's, AWS_ENDPOINT_URL, such as https://minio.lab:9000.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from pyarrow.fs import S3FileSystem

SCHEME = "s3://"
_URL = re.compile(r"s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:/[A-Za-z0-9._=+-]+)*)/?")
_SECRETS = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
_ANSWER_LIMIT, _CONNECT_LIMIT = 30.0, 10.0
"""The seconds that the store has to answer, and to take a connection."""
_ATTEMPTS = 5


class BadPlace(Exception):
    """An address is none of an object store, or the store does not give or take what it is asked for."""


@dataclass(frozen=True, slots=True)
class Place:
    """A prefix of a bucket."""

    files: S3FileSystem
    path: str
    """The bucket and the prefix, without a slash at the end."""

    @property
    def address(self) -> str:
        return SCHEME + self.path

    def below(self, name: str) -> Place:
        """Return a place in this one."""
        return Place(self.files, f"{self.path}/{name}")


def is_place(text: str) -> bool:
    """Return whether a text names a place in an object store."""
    return text.startswith(SCHEME)


def open_place(address: str) -> Place:
    """Open a place; the store is not asked yet. Raises BadPlace."""
    from pyarrow import fs

    match = _URL.fullmatch(address)
    if match is None or ".." in match[2].split("/"):
        raise BadPlace(f"{address} is no place in an object store. Write one such as s3://bucket/prefix")
    options: dict[str, Any] = {
        "region": os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"),
        "tls_ca_file_path": os.environ.get("AWS_CA_BUNDLE"),
        "request_timeout": _ANSWER_LIMIT,
        "connect_timeout": _CONNECT_LIMIT,
        "retry_strategy": fs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
    }
    if endpoint := os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL"):
        parts = urlsplit(endpoint)
        if (
            parts.scheme not in ("http", "https")
            or not parts.netloc
            or parts.path.strip("/")
            or "@" in endpoint
        ):
            raise BadPlace(
                "AWS_ENDPOINT_URL is no address of a store. Set one such as https://minio.lab:9000"
            )
        options |= {"scheme": parts.scheme, "endpoint_override": parts.netloc}
        options["region"] = options["region"] or "us-east-1"
    given = {name: value for name, value in options.items() if value is not None}
    with told(address):
        return Place(fs.S3FileSystem(**given), f"{match[1]}{match[2]}")


@contextmanager
def told(address: str) -> Iterator[None]:
    """Tell the errors of a store with the place and without secrets. Raises BadPlace."""
    try:
        yield
    except OSError as error:
        text = str(error)
        for name in _SECRETS:
            if secret := os.environ.get(name):
                text = text.replace(secret, f"<{name}>")
        raise BadPlace(
            f"{address}: {text}. Check the bucket, and the variables AWS_ACCESS_KEY_ID, "
            "AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL"
        ) from None
