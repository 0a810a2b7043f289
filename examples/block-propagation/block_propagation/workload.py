"""The workload `blocks`: blocks of different sizes are made at random peers at random times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from block_propagation.parameters import Blocks
from block_propagation.system import BlockGossip
from emulator.contract.workload import Asked, Drawing, PlanTable, Row, WorkloadKind
from emulator.workload.event_operations import Publish, publications


class BlocksKind(WorkloadKind):
    """A block is an event for everybody, so who makes which is in Trellis' own table of publications."""

    name = "blocks"
    title = "blocks for everybody"
    parameters = Blocks
    protocol = BlockGossip
    operations = (Publish,)
    words = "made", "received"
    analysis = "block_propagation.analysis:BLOCKS_ANALYSIS"

    def tables(self) -> Mapping[str, PlanTable]:
        from emulator.workload.table_schemas import PUBLICATIONS

        return {"publications": PlanTable(PUBLICATIONS, peer="publisher")}

    def draw(self, parameters: Blocks, trial: Drawing) -> Mapping[str, Mapping[str, Any]]:
        """Draw the blocks by a Poisson process, with uniform sizes."""
        random, phases = trial.random("blocks"), trial.phases
        count = random.poisson(phases.measure / parameters.interval)
        at = sorted(random.uniform(phases.measure_start, phases.measure_end, count))
        makers = [trial.somebody_up(time, random, "a block") for time in at]
        sizes = random.integers(1_000, parameters.largest, count, endpoint=True)
        none = dict.fromkeys(("topic", "attributes", "client"), [None] * count)
        made = {"event": range(count), "at_s": at, "publisher": makers, "payload_bytes": sizes}
        return {"publications": made | none}

    def asked(self, tables: Mapping[str, Sequence[Row]]) -> Iterable[Asked]:
        return publications(tables["publications"])


BLOCKS = BlocksKind()
