"""Tables of the plan of a finished run, as Arrow reads them."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from analysis.charts.results import ResultsError
from emulator.experiment.run.directory import RunDirectory


def plan_table(run: RunDirectory, trial: str, table: str) -> pa.Table | None:
    """Return a table of a trial's plan, None if the plan has none of this name. Raises ResultsError if it
    cannot be read."""
    file = run.trial(trial).plan / f"{table}.parquet"
    try:
        return pq.read_table(file, partitioning=None) if file.exists() else None
    except pa.ArrowException as error:
        raise ResultsError(f"the plan {file} cannot be read: {error}") from None
