"""Deliveries in any trace or none, roles, and several overlays in one peer, counted by hand."""

from __future__ import annotations

from typing import Any

import pyarrow.dataset as ds
import pytest
from analysis_golden import OVERLAY, Host, Part, Trace, peers_of_plan, table, write_outcome
from pyspark.sql import SparkSession

from analysis.contract.trials import TrialRecord
from analysis.measures.measure_run import Values, measure
from analysis.measures.series import build_series
from analysis.tables.build_tables import build_tables
from emulator.contract.protocol import Event, Installation
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.tables import SESSIONS, Plan
from emulator.experiment.run.directory import RunDirectory
from emulator.telemetry import names
from emulator.workload.table_schemas import PUBLICATIONS, SUBSCRIPTIONS

SECOND = "second"
"""The channel of another overlay."""
SPEC = {
    "system": {"name": "rvr"},
    "peers": 6,
    "workload": {"subscriptions": {"kind": "random", "topics": 2, "per_peer": 1}},
    "phases": {"join": "10 s", "settle": "10 s", "measure": "20 s", "drain": "10 s"},
}
Golden = tuple[RunDirectory, Values]


def event(number: int, hops: int) -> Event:
    return Event(number, 0, 0, hops=hops)


def plan() -> Plan:
    """Write a plan: peers 1, 2 and 3 subscribe to what 0 publishes; 5 is a relay; 1 is asked twice, by two
    clients."""
    asked = [(0, 1, None), (1, 1, 0), (2, 2, None), (3, 3, None)]
    return Plan(
        peers=peers_of_plan(6, {0: "publisher", 5: "relay"}),
        sessions=table(SESSIONS, *((peer, 0, 1.0, 50.0, False, "base") for peer in range(6))),
        subscriptions=table(
            SUBSCRIPTIONS, *((n, peer, 0, 1.0, None, 0.0, 50.0, client) for n, peer, client in asked)
        ),
        publications=table(PUBLICATIONS, *((n, 21.0 + n, 0, 0, None, 64) for n in range(3))),
    )


def record(host: Host) -> None:
    """Record three events by peer 0; the span of the last publication is lost.

    Event 0 comes to 1 by the relay 5, and 4 tells 1 of it over fewer hops; to 2 by messages that recover it,
    twice; to 3 in no operation at all; and again to 1 with event 1. Event 1 comes to 1, and to 3 while that
    subscribes, and not to 2. Event 2 comes to 1.
    """
    for peer in range(6):
        host.join(peer, 1.0)
    snapshot(host, 20.0)
    first = host.publish(0, 0, 21.0)
    first.hop("EventData", 0, 5, 21.0, 21.1, interested=False, travelled=1)
    first.hop("EventData", 0, 4, 21.0, 21.1, interested=False, travelled=1)
    first.hop("EventData", 5, 1, 21.1, 21.2, hops=2)
    first.hop("Notification", 4, 1, 21.1, 21.3, travelled=1)
    second = host.publish(1, 0, 22.0)
    second.hop("EventData", 0, 1, 22.0, 22.1, hops=1)
    second.deliver(1, 22.1, 0, outcome=event(0, 6))
    unpublished = Trace(host.recorder, host.recorder.begin(0, 2), lambda hops: event(2, hops))
    unpublished.hop("EventData", 0, 1, 23.0, 23.1, hops=1)
    recovered = host.recover(1, 26.0, topic=0)
    recovered.hop("EventData", 1, 2, 26.0, 26.1, outcome=event(0, 3))
    recovered.hop("EventData", 1, 2, 26.1, 26.2, event=0, travelled=4)
    host.deliver(3, 27.0, event(0, 5))
    joined = host.operate("subscribe", 3, 30.0, {names.INTEREST: 3})
    joined.hop("EventData", 1, 3, 30.0, 30.1, outcome=event(1, 2))
    joined.deliver(3, 30.1, 0, outcome=Installation(3, 1))
    host.maintain(0, 5)
    host.maintain(0, 7, channel=SECOND)
    snapshot(host, 40.0)


def snapshot(host: Host, at: float) -> None:
    """Record a snapshot: peer 0 has links in two overlays; 1 is its successor in one of them, and 2 is not
    in the other."""
    parts = [
        (OVERLAY, Part({"degree": 1.0, "fill": 0.5}, {"successor": [0]})),
        (SECOND, Part({"degree": 3.0}, {"successor": [2]})),
    ]
    assert list(host.recorder.write_snapshot(round(at * 1e9), [(0, parts)]))


@pytest.fixture(scope="module")
def golden(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Golden:
    run = RunDirectory(tmp_path_factory.mktemp("deliveries") / "run")
    trial = run.trial("rvr-1")
    trial.telemetry.mkdir(parents=True)
    plan().write(trial.plan)
    host = Host(trial.telemetry, trial=trial.name)
    record(host)
    host.recorder.close()
    write_outcome(trial, [])
    spec = TrialSpec.model_validate(SPEC)
    tables = build_tables(spark, run, [TrialRecord(trial.name, "rvr", {}, spec, trial, {}, {"hosts": []})])
    return run, measure(tables | build_series(run, tables))[trial.name]


def rows(run: RunDirectory, name: str) -> list[dict[str, Any]]:
    found = ds.dataset(run.tables / name, partitioning="hive").to_table().to_pylist()
    return [{k: v for k, v in row.items() if k != "trial"} for row in found]


def test_a_delivery_is_told_by_its_own_event_once_whatever_trace_it_is_in(golden: Golden) -> None:
    found = {(row["event"], row["peer"]): row for row in rows(golden[0], "deliveries")}
    columns = ("expected", "delivered", "hops", "fewest_hops", "copies", "duplicates", "repeated")
    assert {key: tuple(row[c] for c in columns) for key, row in found.items()} == {
        (0, 1): (True, True, 2, 1, 1, 0, 1),
        (0, 2): (True, True, 3, 3, 2, 1, 0),
        (0, 3): (True, True, 5, 5, 0, 0, 0),
        (1, 1): (True, True, 1, 1, 1, 0, 0),
        (1, 2): (True, False, None, None, 0, 0, 0),
        (1, 3): (True, True, 2, 2, 1, 0, 0),
        (2, 1): (False, True, 1, 1, 1, 0, 0),
    }
    assert len(rows(golden[0], "deliveries")) == 7, "two clients of one peer are owed an event once"
    assert found[0, 3]["delay_ms"] == pytest.approx(6000)
    assert found[2, 1]["delay_ms"] == pytest.approx(100), "by the planned time: the publication was lost"


def test_measures_of_deliveries_and_of_roles_are_those_counted_by_hand(golden: Golden) -> None:
    expected = {
        "hit_ratio": 5 / 6,
        "published": 2,
        "delay_hops": (2 + 3 + 5 + 1 + 2 + 1) / 6,
        "delay_hops_fewest": (1 + 3 + 5 + 1 + 2 + 1) / 6,
        "overhead": 1 / 7,
        "overhead_messages": 1 / 8,
        "overhead_above_10": 1 / 5,
        "relay_load": 1 / 5,
        "relay_duty_load": 1,
        "relay_duty_share": 1 / 2,
        "relays_per_event": 1 / 2,
        "messages_per_event": 7 / 2,
    }
    assert {name: golden[1][name] for name in expected} == pytest.approx(expected)


def test_copies_outside_of_the_events_trace_are_handled(golden: Golden) -> None:
    found = {(row["event"], row["peer"]): row for row in rows(golden[0], "handled")}
    outcome = {
        key: (row["role"], row["copies"], row["unwanted_copies"], row["deliveries"])
        for key, row in found.items()
    }
    assert outcome == {
        (0, 1): ("peer", 1, 0, 2),
        (0, 2): ("peer", 2, 0, 1),
        (0, 3): ("peer", 0, 0, 1),
        (0, 4): ("peer", 1, 1, 0),
        (0, 5): ("relay", 1, 1, 0),
        (1, 1): ("peer", 1, 0, 1),
        (1, 3): ("peer", 1, 0, 1),
        (2, 1): ("peer", 1, 0, 1),
    }
    operations = sorted(row["operation"] for row in rows(golden[0], "operations"))
    assert operations == ["join"] * 6 + ["publish"] * 2 + ["recovery", "subscribe"]


def test_relays_by_plan_are_told_apart_from_peers_that_relay(golden: Golden) -> None:
    assert {row["peer"]: row["role"] for row in rows(golden[0], "relays")} == {4: "peer", 5: "relay"}
    roles = {row["peer"]: row["role"] for row in rows(golden[0], "traffic")}
    assert roles == {0: "publisher", 1: "peer", 2: "peer", 3: "peer", 4: "peer", 5: "relay"}
    histogram = rows(golden[0], "overhead_histogram")
    assert sum(row["peers"] for row in histogram) == 5
    series = {row["start_s"]: row for row in rows(golden[0], "series")}
    assert series[20.0]["overhead"] == pytest.approx(1 / 7)


def test_the_overlays_of_a_peer_are_told_apart(golden: Golden) -> None:
    run, measures = golden
    assert {row["channel"]: row["messages"] for row in rows(run, "messages")} == {OVERLAY: 5, SECOND: 7}
    links = {row["channel"]: row["neighbour"] for row in rows(run, "links") if row["moment"] == "end"}
    assert links == {OVERLAY: 0, SECOND: 2}
    told = {name: value for name, value in measures.items() if name.startswith("state.")}
    assert told == {f"state.{OVERLAY}/degree": 1.0, f"state.{SECOND}/degree": 3.0, "state.fill": 0.5}
    assert measures["wrong_successors"] == 0, "only of the overlay in which peers told identifiers"
