"""The contract of systems whose peers know who of them is up."""

from __future__ import annotations

from typing import Final

from mypy_extensions import mypyc_attr

from emulator.contract.protocol import Application, Environment

JOINED: Final = "member_joined"
"""The observation that a member, the subject, is in the view from now on."""
ALIVE: Final = "member_alive"
"""The observation that a member which was suspected or declared failed is alive."""
SUSPECTED: Final = "member_suspected"
"""The observation that a member is suspected of having failed. It is still in the view."""
FAILED: Final = "member_failed"
"""The observation that a member was declared failed, so it is in the view no longer."""
LEFT: Final = "member_left"
"""The observation that a member has left by its own word, so it is in the view no longer."""
PERIOD: Final = "period_s"
"""The gauge with the length of a protocol period, in seconds."""


@mypyc_attr(allow_interpreted_subclasses=True)
class MembershipService(Application):
    """A view, at one peer, of who is up.

    The peer tells of each change of its view by `tell`. A peer that was asked to tell little tells only what
    it found out itself, by its own probes or time-outs, and not what others told it.
    """

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        self.tells_all = True
        """This is true if the peer tells of changes that it heard of from others."""

    def tell(self, name: str, member: int, life: int, heard: bool) -> None:
        """Record a change of the view about a member in its session `life`, by one of the names above."""
        if self.tells_all or not heard:
            self.environment.record(name, float(life), subject=member)
