"""The declarations that the systems share which route by content between servers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from emulator.contract.invariants import Invariant
from emulator.contract.protocol import Application, Environment
from emulator.contract.system import System
from emulator.protocols.pubsub.content.parameters import ContentParameters


def content_system(
    name: str,
    title: str,
    paper: str,
    parameters: type[ContentParameters],
    create: Callable[[Environment, Any], Application],
    layout: str,
    misfits: str = "",
    invariants: Sequence[Invariant] = (),
) -> System:
    """Return the `System` of servers that know the attributes in its parameters."""
    return System(
        *(name, title, paper, parameters, create, "content", _attributes, layout, misfits),
        invariants=invariants,
    )


def _attributes(parameters: ContentParameters) -> dict[str, tuple[float, float]]:
    return parameters.attributes
