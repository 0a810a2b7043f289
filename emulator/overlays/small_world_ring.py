"""The small world of Vitis (section III.A) alone: ring and small-world links, no friends, no topics."""

from __future__ import annotations

from typing import Final

from emulator.overlays.small_world import SmallWorld
from emulator.overlays.small_world_parameters import SmallWorldRingParameters
from emulator.protocol import Environment
from emulator.system import OverlayKind


class SmallWorldRing(SmallWorld):
    """One peer. What it tells of itself never changes while it is up."""

    def __init__(self, environment: Environment, parameters: SmallWorldRingParameters) -> None:
        super().__init__(environment, parameters, small_world_links=parameters.routing_table - 2)


SMALL_WORLD: Final = OverlayKind(
    name="small-world",
    title="The small-world ring of Vitis",
    paper="Rahimian, Girdzijauskas, Payberah, Haridi: Vitis, IPDPS 2011",
    parameters=SmallWorldRingParameters,
    create=SmallWorldRing,
)
