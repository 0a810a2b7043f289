"""The entry of SWIM in the registry."""

from __future__ import annotations

from typing import Any, Final

from emulator.contract.invariants import Invariant
from emulator.contract.protocol import Application, Environment
from emulator.contract.system import System
from emulator.protocols.membership.parameters import SwimParameters
from emulator.protocols.membership.swim import Swim


def _create(environment: Environment, parameters: Any) -> Application:
    return Swim(environment, parameters)


_FORGETS: Final = Invariant(
    "views_forget_the_dead",
    "No member takes another one for up that has been down for twice the time in which each member probes "
    "each other one (two periods for each member, less one: Das, Gupta, Motivala, DSN 2002, section 4.3) and "
    "its suspicion ends.",
    "emulator.protocols.membership.view_invariant:broken",
)
SWIM: Final = System(
    "swim",
    "SWIM",
    "Das, Gupta, Motivala, DSN 2002; Dadgar, Phillips, Currey, DSN workshops 2018 (Lifeguard)",
    SwimParameters,
    _create,
    serves="membership",
    layout="emulator.layouts.starting_list:lay_out_starting_list",
    misfits="emulator.layouts.starting_list:misfits",
    invariants=(_FORGETS,),
)
