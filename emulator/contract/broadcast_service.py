"""The contract of a system that brings messages to all peers."""

from __future__ import annotations

from abc import abstractmethod

from mypy_extensions import mypyc_attr

from emulator.contract.protocol import Application, Event


@mypyc_attr(allow_interpreted_subclasses=True)
class BroadcastService(Application):
    """A broadcast protocol at one peer. Each other peer delivers the event once."""

    @abstractmethod
    def publish(self, event: Event) -> None:
        """Send `event` to all peers that are up."""
