"""The measures before, during and after each fault of a trial and its attack, at all peers and by region.

The table `phases` has one row for each phase, region and measure that can be had of a part of a trial: fault
(its name, or "attack"), phase ("before", "during" or "after"), begins_s, ends_s, region? (null for all
peers), measure, unit, value?.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame

from analysis.contract.measures import Measure, Tables
from analysis.contract.trials import TrialRecord
from analysis.contract.trouble import Trouble
from analysis.measures.measure_run import Values
from analysis.measures.parts import Part, measure_parts
from analysis.tables.regions import have_regions, homes
from analysis.tables.table_files import TableFiles
from emulator.experiment.file.trial_part import TrialPart
from emulator.experiment.run.directory import RunDirectory

_SIDES = ("before", "during", "after")
_PHASES = pa.schema(
    [
        ("trial", pa.string()),
        ("fault", pa.string()),
        ("phase", pa.string()),
        ("begins_s", pa.float64()),
        ("ends_s", pa.float64()),
        ("region", pa.string()),
        ("measure", pa.string()),
        ("unit", pa.string()),
        ("value", pa.float64()),
    ]
)
_KEYS = ("fault", "begins_s", "phase", "region", "measure")
Phase = tuple[str, str, Part]
"""A fault or the attack, the side of it, and the part of the trial that this is."""


def write_phases(
    run: RunDirectory,
    tables: Tables,
    records: Sequence[TrialRecord],
    about: Mapping[str, Measure],
    troubles: list[Trouble],
) -> DataFrame | None:
    """Write the table, if any trial has faults or an attack for a time, and return it.

    `about` has what is known of each measure. `troubles` gets reports of queries of packages that fail.
    """
    phases = [phase for record in records for phase in phases_of(record)]
    if not phases:
        return None
    spark = tables["trials"].sparkSession
    home = homes(spark, records) if have_regions(records) else None
    values = measure_parts(tables, [part for _, _, part in phases], troubles, homes=home)
    rows = pa.Table.from_pylist(list(_rows(phases, values, about)), _PHASES)
    files = TableFiles(run.tables)
    if not rows.num_rows:
        return files.write_nothing(spark.createDataFrame(rows), "phases")
    return files.write(spark.createDataFrame(rows), "phases", *_KEYS)


def phases_of(record: TrialRecord) -> Iterator[Phase]:
    """Yield the phases of each fault of a trial, and of its attack, within its measure phase, of all peers
    and in each region.

    A phase that would be empty, such as the time after a fault that lasts to the end, is left out. So is an
    attack that lasts as long as the measure phase.
    """
    spec = record.spec
    regions = ("", *spec.network.peers_by_region(spec.peers))
    for name in spec.episodes:
        for side in _SIDES:
            try:
                part = TrialPart(f"{side} {name}", side, name, 0.0, None)
                window = part.window(spec.phases.measured, spec.windows)
            except ValueError:
                continue
            for region in regions:
                yield name, side, Part(record.name, window, region)


def _rows(
    phases: Sequence[Phase], values: Sequence[Values], about: Mapping[str, Measure]
) -> Iterator[dict[str, object]]:
    """Yield the rows; a measure that has no value in any phase of a trial has none there."""
    both = list(zip(phases, values, strict=True))
    measured = {
        (part.trial, part.region, name)
        for (_, _, part), of_part in both
        for name, value in of_part.items()
        if value is not None
    }
    for (fault, side, part), of_part in both:
        for name, value in of_part.items():
            if (part.trial, part.region, name) in measured:
                unit = about[name].unit if name in about else ""
                row = (part.trial, fault, side, *part.window, part.region or None, name, unit, value)
                yield dict(zip(_PHASES.names, row, strict=True))
