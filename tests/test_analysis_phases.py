"""The measures before, during and after each fault, from tables made by hand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from small_trial import trial_spec
from tables_page import columns_of

from analysis.contract.measures import Measure
from analysis.contract.trials import TrialRecord
from analysis.measures import of_values
from analysis.measures.catalogue import own_groups
from analysis.measures.parts import PLACED, Part, _OfParts, measure_parts
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
OWN_REGIONS = {
    "latency": {"kind": "constant", "rtt": "10 ms"},
    "regions": [{"name": "eu", "share": 0.5}, {"name": "us", "share": 0.5}],
}
SERIES = (
    "trial string, start_s double, end_s double, peers_up double, maintenance_messages double, "
    "maintenance_bytes double"
)

TRIALS = "trial string, serves string, system string, has_faults boolean"
DELIVERIES = (
    "trial string, published_s double, peer int, expected boolean, delivered boolean, hops int, "
    "fewest_hops int, delay_ms double, copies bigint, duplicates bigint, repeated bigint"
)


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


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ({"at": "50 s", "for": "10 s"}, [("before", (40, 50)), ("during", (50, 60)), ("after", (60, 100))]),
        ({"at": "70 s"}, [("before", (40, 70)), ("during", (70, 100))]),
        ({"for": "60 s"}, [("during", (40, 60)), ("after", (60, 100))]),
        ({"at": "30 s"}, []),
    ],
    ids=["in the measure phase", "to the end", "from the beginning", "as long as the measure phase"],
)
def test_an_attack_has_the_phases_of_a_fault_unless_it_lasts_as_long_as_the_measure_phase(
    times: dict[str, str], expected: list[Any]
) -> None:
    attacked = record(attackers={"share": 0.2, "behaviour": "black-hole", **times})
    found = list(phases_of(attacked))
    assert [(name, side, part.window) for name, side, part in found] == [
        ("attack", *each) for each in expected
    ]


@pytest.mark.parametrize("network", [REGIONS, OWN_REGIONS], ids=["of the latency", "beside the latency"])
def test_each_phase_is_told_of_all_peers_and_of_each_region(network: dict[str, Any]) -> None:
    found = list(phases_of(record(SPLIT, network=network)))
    assert [(side, part.region) for _, side, part in found] == [
        (side, region) for side in ("before", "during", "after") for region in ("", "eu", "us")
    ]


class _Named(Exception):
    """A table that was asked for."""


class _Naming(Mapping[str, DataFrame]):
    """Tables of which the first that is asked for is named."""

    def __getitem__(self, name: str) -> DataFrame:
        raise _Named(name)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def test_queries_about_parts_read_tables_whose_rows_belong_to_a_part(spark: SparkSession) -> None:
    read = set()
    for query in (query for group in own_groups() for query in group.of_parts):
        with pytest.raises(_Named) as asked:
            query(_Naming())
        read.add(str(asked.value))
    assert {"deliveries", "gets", "puts", "lookups", "broadcasts", "series"} <= read <= set(PLACED)


def test_gets_and_false_alarms_of_a_part_are_those_that_began_in_it(spark: SparkSession) -> None:
    gets = [("v", at, True, found, 1, 1, 1.0, 1, 1) for at, found in ((10.0, 1.0), (20.0, 0.0), (25.0, 1.0))]
    columns = (
        "trial string, at_s double, counted boolean, version double, newest int, hops int, delay_ms double, "
        "messages bigint, traffic_bytes bigint"
    )
    found = of_values._gets(
        _OfParts({"gets": spark.createDataFrame(gets, columns)}, [Part("v", (15, 30))], None)
    )
    assert [(row.trial, row.gets, row.get_success) for row in found.collect()] == [("0", 2, 0.5)]


def test_tables_whose_rows_belong_to_no_part_have_all_of_them_in_each(spark: SparkSession) -> None:
    tables = {"sessions": spark.createDataFrame([("v", 1), ("w", 2)], "trial string, peer int")}
    parts = _OfParts(tables, [Part("v", (15, 30)), Part("v", (30, 40), "eu")], None)
    assert sorted(tuple(row) for row in parts["sessions"].collect()) == [("0", 1), ("1", 1)]


def test_the_page_names_the_tables_whose_rows_belong_to_a_part() -> None:
    page = (Path(__file__).parent.parent / "docs" / "measures.md").read_text()
    (told,) = re.findall(r"and the tables (.*?) have the rows that belong to it", page, re.DOTALL)
    assert re.findall(r"`(\w+)`", told) == sorted(PLACED)


def test_a_count_of_a_part_in_which_there_was_nothing_is_0(spark: SparkSession) -> None:
    alarms = (
        "trial string, at_s double, subject int, failed boolean, by_disturbed boolean, of_disturbed boolean"
    )
    tables = {
        "false_alarms": spark.createDataFrame([("m", 50.0, 1, True, False, False)], alarms),
        "view_errors": spark.createDataFrame(
            [("m", 45.0, 1.0, 4.0)], "trial string, at_s double, wrong_s double, pairs_s double"
        ),
        "series": spark.createDataFrame([], SERIES),
        "trials": spark.createDataFrame([("m", "membership", "swim", True)], TRIALS),
    }
    parts = [Part("m", (40.0, 50.0)), Part("m", (50.0, 60.0)), Part("m", (40.0, 60.0), "eu")]
    early, late, region = measure_parts(tables, parts, [])
    assert (early["false_positives"], early["view_accuracy"]) == (0.0, 0.75)
    assert (late["false_positives"], late["view_accuracy"]) == (1.0, None)
    assert region["false_positives"] is None, "these are of no single region"


def test_a_count_of_a_region_is_0_in_each_phase_that_has_none_of_it(spark: SparkSession) -> None:
    rows = [("t", 45.0, 1, False, False, 1, 1, 1.0, 0, 0, 0)]
    tables = {
        "deliveries": spark.createDataFrame(rows, DELIVERIES),
        "trials": spark.createDataFrame([("t", "topics", "vitis", True)], TRIALS),
        "series": spark.createDataFrame([], SERIES),
    }
    homes = spark.createDataFrame([("t", 1, "eu")], "trial string, peer int, region string")
    parts = [Part("t", window, "eu") for window in ((40.0, 50.0), (50.0, 60.0))]
    unwanted, nothing = measure_parts(tables, parts, [], homes=homes)
    assert (unwanted["expected"], nothing["expected"]) == (0.0, 0.0)
    assert (unwanted["hit_ratio"], nothing["hit_ratio"]) == (None, None)


def test_the_table_has_what_expectations_of_the_same_parts_are_compared_with(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = [("t", at, 1, True, not 50 <= at < 60, 1, 1, at, 1, 0, 0) for at in (45.0, 50.0, 59.0, 60.0)]
    tables = {
        "deliveries": spark.createDataFrame(rows, DELIVERIES),
        "trials": spark.createDataFrame([("t", "topics", "vitis", True)], TRIALS),
        "series": spark.createDataFrame([], SERIES),
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
