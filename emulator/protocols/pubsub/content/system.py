"""What all systems that route by content between servers tell of themselves alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
) -> System:
    """A system for servers that know the attributes of its parameters, as `System`."""
    return System(name, title, paper, parameters, create, "content", _attributes, layout, misfits)


def _attributes(parameters: ContentParameters) -> dict[str, tuple[float, float]]:
    return parameters.attributes
