"""The small world of Vitis (section III.A) alone: ring and small-world links, no friends, no topics."""

from __future__ import annotations

from typing import Final

from emulator.contract.protocol import Environment
from emulator.contract.system import OverlayKind
from emulator.protocols.gossip.view_invariant import VIEWS
from emulator.protocols.overlays.small_world.overlay import SmallWorld
from emulator.protocols.overlays.small_world.parameters import SmallWorldRingParameters
from emulator.protocols.overlays.small_world.ring_invariant import SMALL_WORLD_RING


class SmallWorldRing(SmallWorld):
    """One peer. Its profile never changes while it is up."""

    def __init__(self, environment: Environment, parameters: SmallWorldRingParameters) -> None:
        super().__init__(environment, parameters, small_world_links=parameters.routing_table - 2)


SMALL_WORLD: Final = OverlayKind(
    name="small-world",
    title="The small-world ring of Vitis",
    paper="Rahimian, Girdzijauskas, Payberah, Haridi: Vitis, IPDPS 2011",
    parameters=SmallWorldRingParameters,
    create=SmallWorldRing,
    short_title="the small-world ring of Vitis",
    invariants=(VIEWS, SMALL_WORLD_RING),
)
