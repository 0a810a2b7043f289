"""This module has the interface between programs and the SDK, which makes their spans."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Protocol

Attributes = Mapping[str, str | int | float | bool | Sequence[str]]


class CannotTrace(Exception):
    """The variables ask for something that there is not."""


class Span(Protocol):
    """A span that is under way."""

    @property
    def traceparent(self) -> str:
        """The identity of the span for other programs; "" if nothing is traced."""

    def set(self, attributes: Attributes) -> None:
        """Add attributes."""

    def fail(self, why: str) -> None:
        """Give the span the status of an error, with the reason."""

    def leave(self) -> None:
        """Keep a root span from being sent, because a later program comes to its end."""


class Tracer(Protocol):
    """A tracer makes and sends spans. `emulator.tracing.sdk` has the only one."""

    def span(
        self, name: str, attributes: Attributes, parent: str, links: Sequence[str], serving: bool
    ) -> contextlib.AbstractContextManager[Span]: ...

    def root(
        self, name: str, attributes: Attributes, again: str, start_ns: int
    ) -> contextlib.AbstractContextManager[Span]: ...

    def record(
        self, name: str, start_ns: int, end_ns: int, attributes: Attributes, parent: str, error: str
    ) -> None: ...

    def current(self) -> str: ...

    def close(self) -> None: ...
