"""The systems that can be run. Adding one is adding its file and its line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel

from emulator.overlays.lookups import Lookups
from emulator.overlays.pastry import Pastry, PastryParameters
from emulator.overlays.small_world_ring import SmallWorldRing, SmallWorldRingParameters
from emulator.protocol import Application, Environment, Overlay
from emulator.pubsub.li import parameters as li_parameters
from emulator.pubsub.li.system import Li
from emulator.pubsub.rvr import RVR, RVRParameters
from emulator.pubsub.scribe.parameters import over
from emulator.pubsub.scribe.scribe import Scribe
from emulator.pubsub.vitis import Vitis, VitisParameters

_VITIS_PAPER = "Rahimian, Girdzijauskas, Payberah, Haridi: Vitis, IPDPS 2011"
_PASTRY_PAPER = "Rowstron, Druschel: Pastry, Middleware 2001; Castro, Costa, Rowstron: MSPastry, DSN 2004"
_SCRIBE_PAPER = "Castro, Druschel, Kermarrec, Rowstron: Scribe, IEEE JSAC 20(8), 2002"
_LI_PAPER = "W. Li: A content-based publish/subscribe framework over structured P2P networks, UBC, 2008"


Workload = Literal["topics", "content", "lookups"]


@dataclass(frozen=True, slots=True)
class System:
    """A system under test."""

    name: str
    title: str
    paper: str
    parameters: type[BaseModel]
    create: Callable[[Environment, Any], Application]
    """Makes one peer from its environment and an instance of `parameters`."""
    serves: Workload = "topics"
    """What it can be asked for: events by topic or by content (a `PubSub`), lookups (a `LookupService`)."""
    schema: Callable[[Any], Mapping[str, tuple[float, float]]] | None = None
    """The attributes that all peers must know, with their domains, from the parameters; None: any will do."""


def _looked_up(create: Callable[[Environment, Any], Overlay]) -> Callable[[Environment, Any], Application]:
    """An overlay alone, as a system that looks keys up."""
    return lambda environment, parameters: Lookups(environment, lambda here: create(here, parameters))


def _scribe(
    name: str, title: str, create: Callable[[Environment, Any], Overlay], parameters: type[BaseModel]
) -> System:
    """Scribe over an overlay that is made from these parameters."""

    def make(environment: Environment, given: Any) -> Application:
        return Scribe(environment, given, lambda here: create(here, given.overlay))

    return System(name, title, _SCRIBE_PAPER, over(parameters), make)


def _li(environment: Environment, parameters: Any) -> Application:
    overlay = Pastry(environment, parameters.overlay)
    digit_bits = parameters.overlay.digit_bits
    return Li(environment, parameters, overlay, digit_bits=digit_bits, is_ready=lambda: overlay.ready)


SYSTEMS = {
    system.name: system
    for system in (
        System(
            "vitis", "Vitis, gossip clusters with rendezvous routing", _VITIS_PAPER, VitisParameters, Vitis
        ),
        System("rvr", "RVR, rendezvous routing (baseline of Vitis)", _VITIS_PAPER, RVRParameters, RVR),
        System(
            "pastry",
            "Pastry, with MSPastry's care for churn",
            _PASTRY_PAPER,
            PastryParameters,
            _looked_up(Pastry),
            serves="lookups",
        ),
        System(
            "small-world",
            "The small-world ring of Vitis",
            _VITIS_PAPER,
            SmallWorldRingParameters,
            _looked_up(SmallWorldRing),
            serves="lookups",
        ),
        _scribe("scribe-pastry", "Scribe over Pastry", Pastry, PastryParameters),
        _scribe(
            "scribe-small-world",
            "Scribe over the small-world ring of Vitis",
            SmallWorldRing,
            SmallWorldRingParameters,
        ),
        System(
            "li",
            "Li's distributed 2d-tree over Pastry",
            _LI_PAPER,
            li_parameters.over(PastryParameters),
            _li,
            serves="content",
            schema=lambda parameters: parameters.attributes,
        ),
    )
}
