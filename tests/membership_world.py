"""One member of SWIM that a test drives by hand."""

from __future__ import annotations

from typing import Any

from emulator.protocols.membership.parameters import SwimParameters
from emulator.protocols.membership.swim import Swim
from emulator.protocols.membership.words import ALIVE, FAILED, LEFT, SUSPECTED
from emulator.testing.fake_environment import FakeEnvironment
from trellis.v1.swim import MemberUpdate, SwimGossip, SwimPing

__all__ = ["ALIVE", "FAILED", "LEFT", "SUSPECTED", "Member"]


class Member:
    """Member 0, which knows members 1 to `others`."""

    def __init__(self, others: int = 4, seed: int = 0, **parameters: Any) -> None:
        self.world = FakeEnvironment(0, seed)
        self.swim = Swim(self.world, SwimParameters.model_validate(parameters))
        self.swim.start([])
        self.hear(*(MemberUpdate(peer) for peer in range(1, others + 1)))
        self.world.recorded.clear()

    def hear(self, *updates: MemberUpdate, sender: int = 1) -> None:
        """Hand over these updates alone."""
        self.world.hand_over(sender, SwimGossip([*updates]))

    def say(self, member: int, state: int, incarnation: int = 0, life: int = 0, accuser: int = 1) -> None:
        """Hand over one update."""
        self.hear(MemberUpdate(member, life, incarnation, state, accuser if state == SUSPECTED else 0))

    def pinged(self) -> list[tuple[int, SwimPing]]:
        """Return the pings that were sent, and empty the outbox."""
        return self.world.take(SwimPing)

    def told(self) -> list[tuple[str, int | None]]:
        """Return what was recorded: names without their prefix, and subjects."""
        return [(each.name.removeprefix("member_"), each.subject) for each in self.world.recorded]
