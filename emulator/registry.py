"""The systems that can be run. Adding one is adding its file and its line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel

from emulator.protocol import Application, Environment
from emulator.pubsub.rvr import RVR, RVRParameters
from emulator.pubsub.vitis import Vitis, VitisParameters

_VITIS_PAPER = "Rahimian, Girdzijauskas, Payberah, Haridi: Vitis, IPDPS 2011"


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


SYSTEMS = {
    system.name: system
    for system in (
        System(
            "vitis", "Vitis, gossip clusters with rendezvous routing", _VITIS_PAPER, VitisParameters, Vitis
        ),
        System("rvr", "RVR, rendezvous routing (baseline of Vitis)", _VITIS_PAPER, RVRParameters, RVR),
    )
}
