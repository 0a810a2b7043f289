"""The measures before, during and after each fault, from tables made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from small_trial import trial_spec
from tables_page import columns_of

from analysis.contract.measures import Measure
from analysis.contract.trials import TrialRecord
from analysis.measures.phases import phases_of, write_phases
from emulator.experiment.run.directory import RunDirectory

PHASES = {"join": "10 s", "settle": "30 s", "measure": "60 s", "drain": "10 s"}
SPLIT = {"name": "split", "at": "50 s", "for": "10 s", "partition": {"share": 0.5}}
GONE = {"name": "gone", "at": "70 s", "crash": {"share": 0.3}}
EARLY = {"name": "early", "at": "5 s", "for": "10 s", "partition": {"share": 0.5}}
REGIONS = {
    "latency": {
        "kind": "regions",
        "regions": [{"name": "eu", "share": 0.5}, {"name": "us", "share": 0.5}],
        "rtt": {"eu": {"eu": "10 ms", "us": "90 ms"}, "us": {"us": "30 ms"}},
    }
}


def record(*faults: dict[str, Any], **more: Any) -> TrialRecord:
    spec = trial_spec("vitis", 10, 60.0, faults=list(faults), phases=PHASES, **more)
    return TrialRecord("t", "v", {}, spec, None, {}, {})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (SPLIT, [("before", (40, 50)), ("during", (50, 60)), ("after", (60, 100))]),
        (GONE, [("before", (40, 70)), ("during", (70, 100))]),
        (EARLY, [("after", (40, 100))]),
    ],
    ids=["in the measure phase", "to the end", "over before the measure phase"],
)
def test_a_fault_has_the_phases_of_which_the_measure_phase_has_anything(
    fault: dict[str, Any], expected: list[Any]
) -> None:
    found = list(phases_of(record(fault)))
    assert [(side, part.window) for _, side, part in found] == expected
    assert {name for name, _, _ in found} == {fault["name"]}


def test_each_phase_is_told_of_all_peers_and_of_each_region() -> None:
    found = list(phases_of(record(SPLIT, network=REGIONS)))
    assert [(side, part.region) for _, side, part in found] == [
        (side, region) for side in ("before", "during", "after") for region in ("", "eu", "us")
    ]


def test_the_table_has_what_expectations_of_the_same_parts_are_compared_with(
    spark: SparkSession, tmp_path: Path
) -> None:
    columns = (
        "trial string, published_s double, peer int, expected boolean, delivered boolean, hops int, "
        "fewest_hops int, delay_ms double, copies bigint, duplicates bigint, repeated bigint"
    )
    rows = [("t", at, 1, True, not 50 <= at < 60, 1, 1, at, 1, 0, 0) for at in (45.0, 50.0, 59.0, 60.0)]
    tables = {
        "deliveries": spark.createDataFrame(rows, columns),
        "trials": spark.createDataFrame(
            [("t", "topics", "vitis", True)],
            "trial string, serves string, system string, has_faults boolean",
        ),
        "series": spark.createDataFrame(
            [],
            "trial string, start_s double, end_s double, peers_up double, maintenance_messages double, "
            "maintenance_bytes double",
        ),
    }
    about = {"hit_ratio": Measure("Hit ratio", "share", "higher", "")}
    written = write_phases(RunDirectory(tmp_path), tables, [record(SPLIT)], about, [])
    assert written is not None
    assert sorted(written.dtypes) == sorted(columns_of("phases"))
    found = [row for row in written.collect() if row.measure == "hit_ratio"]
    assert {(row.fault, row.phase, row.begins_s, row.ends_s, row.unit, row.value) for row in found} == {
        ("split", "before", 40.0, 50.0, "share", 1.0),
        ("split", "during", 50.0, 60.0, "share", 0.0),
        ("split", "after", 60.0, 100.0, "share", 1.0),
    }
    assert not written.where("measure like 'maintenance%'").count(), "nothing was measured of it"
    assert write_phases(RunDirectory(tmp_path), tables, [record()], about, []) is None
