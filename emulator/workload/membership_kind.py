"""The kind of workload in which peers know who of them is up."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from emulator.contract.membership_service import MembershipService
from emulator.contract.workload import Drawing, Held, Holding, PlanTable, Problems, Row, Trial, WorkloadKind
from emulator.workload.membership_spec import Members


@dataclass(frozen=True, slots=True)
class Reticence(Holding):
    """What a member holds that does not tell what it heard from others, from its join on."""

    TAKEN: ClassVar[str] = "tell little"
    GIVEN_UP: ClassVar[str] = "tell all"

    number: int

    def take_up(self, protocol: MembershipService) -> None:
        """Tell only of what the member finds out itself."""
        protocol.tells_all = False

    def give_up(self, protocol: MembershipService) -> None:
        """Tell of each change."""
        protocol.tells_all = True


class MembershipKind(WorkloadKind):
    """The kind of workload in which members know who is up.

    The sessions of peers are the truth that their views are held against."""

    name = "membership"
    title = "a membership"
    analysis = "analysis.workloads.membership:MEMBERSHIP"
    text = "Peers are asked for nothing; each keeps a view of who of them is up."
    parameters = Members
    protocol = MembershipService
    holding = Reticence

    def tables(self) -> Mapping[str, PlanTable]:
        from emulator.workload.table_schemas import RETICENT

        return {"reticent": PlanTable(RETICENT, asks=False)}

    def draw(self, parameters: Members, trial: Drawing) -> Mapping[str, Mapping[str, Any]]:
        """Draw the peers that tell little: all but `observers` random ones."""
        told = trial.peers if parameters.observers is None else min(parameters.observers, trial.peers)
        order = trial.random("observers").permutation(trial.peers)
        reticent = sorted(order[told:].tolist())
        return {"reticent": {"reticence": range(len(reticent)), "peer": reticent}}

    def held(self, tables: Mapping[str, Sequence[Row]]) -> Iterable[Held]:
        for row in tables["reticent"]:
            yield Held(row["peer"], 0.0, math.inf, Reticence(row["reticence"]))

    def problems(self, parameters: Members, trial: Trial) -> Problems:
        if parameters.observers is not None and parameters.observers > trial.peers:
            text = (
                f"is {parameters.observers:,}, but there are {trial.peers:,} peers. Lower it, or leave it out"
            )
            return [("membership.observers", text)]
        return []


MEMBERSHIP_KIND = MembershipKind()
