"""What faults and links did to messages in time, and what each region got, from tables made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from tables_page import columns_of

from analysis.contract.trials import TrialRecord
from analysis.tables.disruptions import disruptions, may_be_disrupted
from analysis.tables.link_load import have_bandwidth, link_load
from analysis.tables.regions import have_regions, regions
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.run.directory import RunDirectory
from emulator.network.access_links import DOWN_LINK_DROP, UP_LINK_DROP

REGIONS = {
    "kind": "regions",
    "regions": [{"name": "eu", "share": 0.5}, {"name": "us", "share": 0.5}],
    "rtt": {"eu": {"eu": "10 ms", "us": "80 ms"}, "us": {"us": "12 ms"}},
}


def record(path: Path, network: dict[str, Any], **fields: Any) -> TrialRecord:
    spec = TrialSpec.model_validate(
        {"system": {"name": "chord"}, "peers": 6, "network": network, "workload": {"lookups": {"rate": 1.0}}}
        | fields
    )
    directory = RunDirectory(path / "run").trial("t")
    if not directory.plan.exists():
        draw_plan(spec).write(directory.plan)
    return TrialRecord("t", "v", {}, spec, directory, {}, {})


def table(spark: SparkSession, rows: list[tuple[Any, ...]], columns: str) -> DataFrame:
    return spark.createDataFrame([("t", *row) for row in rows], f"trial string, {columns}")


def test_messages_that_were_hit_are_counted_by_cause_and_interval(spark: SparkSession) -> None:
    observed = [
        (1.0, "fault split", 100.0, "bytes"),
        (4.9, "fault split", 50.0, "bytes"),
        (5.0, "fault split", 7.0, "bytes"),
        (11.0, "fault split duplicates", 9.0, "bytes"),
        (12.0, "fault split delays", 11.0, "bytes"),
        (6.0, "up link drop", 20.0, "bytes"),
        (6.1, "down link drop", 30.0, "bytes"),
        (6.2, "processing drop", 40.0, "bytes"),
        (2.0, "fault stopped begins", 4.0, "s"),  # tells of a pause, not of a message
        (2.0, "lookup_found", 4.0, ""),
    ]
    tables = {
        "observations": table(spark, observed, "at_s double, name string, value double, unit string"),
        "trials": table(spark, [(5.0,)], "interval_s double"),
        "lost_messages": table(
            spark,
            [("Ping", 5.0, 10.0, 2, 20), ("Pong", 5.0, 10.0, 1, 7), ("Ping", 10.0, 15.0, 0, 0)],
            "message string, start_s double, end_s double, lost bigint, lost_bytes bigint",
        ),
    }
    found = disruptions(tables)
    assert found.dtypes == columns_of("disruptions")
    rows = {tuple(row)[1:] for row in found.collect()}
    assert rows == {
        ("loss", 5.0, 10.0, 3, 27),
        ("fault split", 0.0, 5.0, 2, 150),
        ("fault split", 5.0, 10.0, 1, 7),
        ("fault split duplicates", 10.0, 15.0, 1, 9),
        ("fault split delays", 10.0, 15.0, 1, 11),
        ("up link drop", 5.0, 10.0, 1, 20),
        ("down link drop", 5.0, 10.0, 1, 30),
        ("processing drop", 5.0, 10.0, 1, 40),
    }


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, False),
        ({"network": {"bandwidth": {"up": "1 Mbit/s"}}}, True),
        ({"faults": [{"name": "split", "at": "1 s", "partition": {"share": 0.5}}]}, True),
        ({"processing": {"message": "1 ms"}}, True),
    ],
)
def test_only_some_trials_can_have_such_messages(
    tmp_path: Path, asked: dict[str, Any], expected: bool
) -> None:
    given = {"network": {}} | asked
    assert may_be_disrupted([record(tmp_path, **given)]) is expected


@pytest.mark.parametrize("network", [{"latency": REGIONS}, {"regions": REGIONS["regions"]}])
def test_outcomes_belong_to_the_region_of_who_was_to_get_them(
    tmp_path: Path, spark: SparkSession, network: dict[str, Any]
) -> None:
    of = record(tmp_path, network)
    assert have_regions([of])
    assert not have_regions([record(tmp_path / "other", {})])
    home = {row["peer"]: row["region"] for row in draw_plan(of.spec).peers.to_pylist()}
    eu, us = ([peer for peer in home if home[peer] == name] for name in ("eu", "us"))
    assert len(eu) == len(us) == 3
    deliveries = [
        (eu[0], True, True, 10.0),
        (eu[1], True, True, 30.0),
        (eu[2], True, False, None),
        (eu[2], False, True, 99.0),
        (us[0], True, True, 50.0),
    ]
    lookups = [(eu[0], True, True, 4.0), (us[0], True, False, 900.0), (us[1], False, True, 8.0)]
    gets = [
        (us[0], True, 2.0, 1, 7.0),
        (us[1], True, 0.0, 1, 3.0),
        (us[2], True, None, 1, None),
        (us[2], True, 1.0, None, 5.0),
    ]
    tables = {
        "deliveries": table(
            spark, deliveries, "peer int, expected boolean, delivered boolean, delay_ms double"
        ),
        "lookups": table(spark, lookups, "origin int, counted boolean, right boolean, delay_ms double"),
        "gets": table(spark, gets, "peer int, counted boolean, version double, newest int, delay_ms double"),
    }
    found = regions(spark, [of], tables)
    assert found.dtypes == columns_of("regions")
    rows = {
        (row.region, row.outcome): (row.peers, row.asked, row.done, row.share, row.delay_ms)
        for row in found.collect()
    }
    assert rows == {
        ("eu", "deliveries"): (3, 3, 2, pytest.approx(2 / 3), 20.0),
        ("us", "deliveries"): (3, 1, 1, 1.0, 50.0),
        ("eu", "lookups"): (3, 1, 1, 1.0, 4.0),
        ("us", "lookups"): (3, 1, 0, 0.0, None),
        ("us", "gets"): (3, 3, 1, pytest.approx(1 / 3), 7.0),
    }


def test_links_are_loaded_by_what_they_carry_and_tell_how_long_messages_waited(
    tmp_path: Path, spark: SparkSession
) -> None:
    classes = [{"name": "home", "share": 0.5, "up": "1 Mbit/s"}, {"name": "fibre", "share": 0.5}]
    of = record(tmp_path, {"bandwidth": {"classes": classes}, "overhead": 20})
    told = {"bytes": 450_000, "wait_mean_ms": 2.0, "wait_p99_ms": 9.0, "wait_max_ms": 10.0}
    told |= {"achieved_bit_s": 990_000.0}
    of.fidelity["links"] = [{"link_class": 0, "way": "up"} | told]
    assert have_bandwidth([of]) and not have_bandwidth([record(tmp_path / "other", {})])
    kind = {row["peer"]: row["link_class"] for row in draw_plan(of.spec).peers.to_pylist()}
    home, fibre = ([peer for peer in kind if kind[peer] == index] for index in (0, 1))
    counters = [
        (home[0], "Ping", 100, 98_000),
        (home[0], "Pong", 100, 148_000),
        (home[1], "Ping", 100, 123_000),
        (fibre[0], "Ping", 7, 700),
    ]
    observed = [(home[0], UP_LINK_DROP), (home[0], UP_LINK_DROP), (fibre[1], DOWN_LINK_DROP), (home[2], "x")]
    tables = {
        "counters": table(spark, counters, "peer int, message string, messages bigint, bytes bigint"),
        "observations": table(spark, observed, "peer int, name string"),
        "traffic": table(spark, [(peer, 10.0) for peer in kind], "peer int, up_s double"),
    }
    found = link_load(spark, [of], tables)
    assert found.dtypes == columns_of("link_load")
    rows = {(row["class"], row["way"]): tuple(row)[3:] for row in found.collect()}
    # Three links of 1 Mbit/s carry 3.75 MB in 10 s; 250,000 bytes are a fifth of what one of them carries.
    assert rows == {
        ("home", "up"): (3, 1_000_000, pytest.approx(0.12), pytest.approx(0.2), 990_000, 2.0, 9.0, 10.0, 2),
        ("home", "down"): (3, *[None] * 7, 0),
        ("fibre", "up"): (3, *[None] * 7, 0),
        ("fibre", "down"): (3, *[None] * 7, 1),
    }
