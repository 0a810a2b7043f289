"""RVR: rendezvous routing without regard to interests, the first baseline of Vitis (section IV).

It is equivalent to Scribe or Bayeux with a fixed node degree: every link serves routing, and each subscriber
joins the tree of each of its topics on the path to the topic's rendezvous node. To be comparable it uses the
same peer sampling, the same T-Man and the same dissemination.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from emulator.contract.protocol import Environment
from emulator.contract.system import System
from emulator.messages.message import Part
from emulator.protocols.overlays.small_world.ring import SMALL_WORLD
from emulator.protocols.pubsub.vitis.parameters import RVRParameters
from emulator.protocols.pubsub.vitis.rendezvous import RendezvousPubSub


class RVR(RendezvousPubSub):
    """One peer of RVR."""

    def __init__(self, environment: Environment, parameters: RVRParameters) -> None:
        super().__init__(environment, parameters, parameters.routing_table - 2)

    def gauges(self) -> dict[str, float]:
        return super().gauges() | {"gateway_topics": float(len(self._rates))}

    def begin_round(self) -> None:
        self._relays.refresh(self._overlay.topics())

    def rider(self) -> Part | None:
        return None

    def _targets(self, topic: int) -> Iterable[int]:
        return self._relays.links(topic)


RVR_SYSTEM: Final = System(
    name="rvr",
    title="RVR, rendezvous routing (baseline of Vitis)",
    paper="Rahimian, Girdzijauskas, Payberah, Haridi: Vitis, IPDPS 2011",
    parameters=RVRParameters,
    create=RVR,
    takes_identifiers=True,
    invariants=SMALL_WORLD.invariants,
)
