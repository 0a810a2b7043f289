"""The kind of workload in which peers put and get values by key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from emulator.contract import identifiers
from emulator.contract.value_service import GET, PUT, ValueService
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
from emulator.workload.value_spec import Values

MOST_BYTES = 16 * 2**30
"""The most bytes of all puts together, before any copies."""


@dataclass(frozen=True, slots=True)
class Put(Operation):
    """The operation in which a peer stores a version of a value."""

    NAME: ClassVar[str] = PUT

    number: int
    key: int
    version: int
    bytes: int

    def perform(self, protocol: ValueService) -> None:
        """Put a payload of zeros."""
        protocol.put(self.number, self.key, self.version, bytes(self.bytes))


@dataclass(frozen=True, slots=True)
class Get(Operation):
    """The operation in which a peer asks for a value."""

    NAME: ClassVar[str] = GET

    number: int
    key: int

    def perform(self, protocol: ValueService) -> None:
        """Ask for the value."""
        protocol.get(self.number, self.key)


class ValuesKind(WorkloadKind):
    """The kind of workload in which peers store values, and ask for them."""

    name = "values"
    title = "values by key"
    analysis = "analysis.workloads.values:VALUES"
    text = "Peers put values under keys, and get them."
    parameters = Values
    protocol = ValueService
    operations = (Put, Get)
    words = "puts and gets", "done"

    def tables(self) -> Mapping[str, PlanTable]:
        from emulator.workload.table_schemas import GETS, PUTS

        return {"puts": PlanTable(PUTS), "gets": PlanTable(GETS)}

    def draw(self, parameters: Values, trial: Drawing) -> Mapping[str, Mapping[str, Any]]:
        """Draw a put of each value in the second half of the settle phase; gets and updates in the measure
        phase."""
        from emulator.workload.values import draw_gets, draw_keys, draw_puts

        phases = trial.phases
        window = phases.measure_start, phases.measure_end
        before = phases.measure_start - phases.settle / 2, phases.measure_start
        keys = draw_keys(parameters.count, trial.random("keys"))
        puts = draw_puts(parameters, before, window, trial.peers, trial.sessions, trial.random("puts"))
        among = trial.among(parameters.region)
        gets = draw_gets(parameters, window, trial.peers, trial.sessions, trial.random("gets"), among)
        return {
            "puts": {
                "put": range(len(puts.at)),
                "at_s": puts.at,
                "peer": puts.peer,
                "value": puts.value,
                "key": [keys[value] for value in puts.value],
                "version": puts.version,
                "bytes": puts.bytes,
            },
            "gets": {
                "get": range(len(gets.at)),
                "at_s": gets.at,
                "peer": gets.peer,
                "value": gets.value,
                "key": [keys[value] for value in gets.value],
            },
        }

    def asked(self, tables: Mapping[str, Sequence[Row]]) -> Iterable[Asked]:
        for row in tables["puts"]:
            key = identifiers.decode(row["key"])
            yield Asked(row["at_s"], row["peer"], Put(row["put"], key, row["version"], row["bytes"]))
        for row in tables["gets"]:
            yield Asked(row["at_s"], row["peer"], Get(row["get"], identifiers.decode(row["key"])))

    def problems(self, parameters: Values, trial: Trial) -> Problems:
        found, measure = [], trial.phases.measure
        puts = parameters.count + parameters.updates * measure
        if trial.phases.settle <= 0:
            text = "values are put in the second half of the settle phase. Make phases.settle longer than 0"
            found.append(("values.count", text))
        for key, what, number in (
            ("gets", "gets in the measure phase", parameters.gets * measure),
            ("updates", "puts", puts),
        ):
            if number > MOST_ROWS:
                found.append((f"values.{key}", more(what, number, MOST_ROWS, "Lower it")))
        size = parameters.bytes
        if size.least > size.most:
            text = f"is {size.least:,}, more than most ({size.most:,}). Lower it, or raise most"
            found.append(("values.bytes.least", text))
        elif not found and puts * size.most > MOST_BYTES:
            text = more("bytes of values", puts * size.most, MOST_BYTES, "Lower it, or count")
            found.append(("values.bytes", text))
        return found


VALUES_KIND = ValuesKind()
