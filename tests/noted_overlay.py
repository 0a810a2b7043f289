"""An overlay of one peer for tests of applications."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.contract.identifiers import RING
from emulator.contract.protocol import Environment, Message, Overlay
from trellis.v1.overlay import Contact


class NotedOverlay(Overlay):
    """Takes note of what it is asked."""

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment, RING, 5)
        self.calls: list[tuple[object, ...]] = []

    @property
    def ready(self) -> bool:
        return True

    def route(self, key: int, message: Message) -> None:
        self.calls.append(("route", key, message))

    def next_hop(self, key: int) -> Contact | None:
        return None

    def neighbour_set(self, count: int) -> Sequence[Contact]:
        return []

    def sample(self, count: int) -> Sequence[int]:
        return []

    def start(self, contacts: Sequence[int]) -> None:
        self.calls.append(("start", *contacts))

    def stop(self, graceful: bool) -> None:
        self.calls.append(("stop", graceful))
