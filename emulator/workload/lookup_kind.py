"""The kind of workload in which peers look keys up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from emulator.contract import identifiers
from emulator.contract.protocol import LookupService
from emulator.contract.workload import (
    Asked,
    Drawing,
    Operation,
    PlanTable,
    Problems,
    Row,
    Trial,
    WorkloadKind,
)
from emulator.workload.size import MOST_ROWS, more
from emulator.workload.spec import Lookups


@dataclass(frozen=True, slots=True)
class LookUp(Operation):
    """The operation in which a peer looks a key up."""

    NAME: ClassVar[str] = "lookup"

    number: int
    key: int

    def attributes(self) -> Mapping[str, int | bool]:
        """Return the lookup's number."""
        return {"lookup": self.number}

    def perform(self, protocol: LookupService) -> None:
        """Look the key up."""
        protocol.lookup(self.number, self.key)


class LookupsKind(WorkloadKind):
    """The kind of workload in which peers ask who is the closest to a key."""

    name = "lookups"
    title = "lookups"
    analysis = "analysis.workloads.lookups:LOOKUPS"
    text = "Peers look up keys of the identifier space."
    parameters = Lookups
    protocol = LookupService
    operations = (LookUp,)
    words = "lookups", "arrived"

    def tables(self) -> Mapping[str, PlanTable]:
        from emulator.workload.table_schemas import LOOKUPS

        return {"lookups": PlanTable(LOOKUPS, since_ever=False, in_every_plan=True)}

    def draw(self, parameters: Lookups, trial: Drawing) -> Mapping[str, Mapping[str, Any]]:
        """Draw lookups as a Poisson process in the measure phase."""
        from emulator.workload.lookups import draw_lookups

        phases = trial.phases
        window = phases.measure_start, phases.measure_end
        random, among = trial.random("lookups"), trial.among(parameters.region)
        drawn = draw_lookups(parameters, window, trial.peers, trial.sessions, random, among)
        columns = {"lookup": range(len(drawn.at)), "at_s": drawn.at, "peer": drawn.peer, "key": drawn.key}
        return {"lookups": columns}

    def asked(self, tables: Mapping[str, Sequence[Row]]) -> Iterable[Asked]:
        for row in tables["lookups"]:
            yield Asked(row["at_s"], row["peer"], LookUp(row["lookup"], identifiers.decode(row["key"])))

    def problems(self, parameters: Lookups, trial: Trial) -> Problems:
        number = parameters.rate * trial.phases.measure
        if number > MOST_ROWS:
            text = more("lookups in the measure phase", number, MOST_ROWS, "Lower it")
            return [("lookups.rate", text)]
        return []


LOOKUPS_KIND = LookupsKind()
