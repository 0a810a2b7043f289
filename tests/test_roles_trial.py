"""One trial with servers and their clients, publishers, subscribers and relays, as its tables tell it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from pyspark.sql import SparkSession
from small_trial import expected

from analysis.contract.trials import TrialRecord
from analysis.tables.build_tables import tables_on_demand
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.plan.tables import Plan
from emulator.experiment.run.directory import RunDirectory
from emulator.runtime.virtual.run_virtual import run_virtual

SPEC = {
    "system": {"name": "scribe-pastry"},
    "peers": 40,
    "workload": {
        "subscriptions": {"kind": "random", "topics": 20, "per_peer": 2, "buckets": 1},
        "publications": {"events": 80, "publisher": "any"},
        "roles": {"publisher": 6, "subscriber": 6, "relay": 12},
        "clients": {"per_peer": 3},
    },
    "phases": {"join": "3 s", "settle": "20 s", "measure": "10 s", "drain": "3 s"},
}
Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def ran(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Plan, dict[str, Rows]]:
    """The plan, and the tables by name."""
    spec = TrialSpec.model_validate(SPEC)
    run = RunDirectory(tmp_path_factory.mktemp("roles") / "run")
    trial = run.trial("scribe-1")
    trial.path.mkdir(parents=True)
    plan = draw_plan(spec)
    plan.write(trial.plan)
    run_virtual(spec, plan, trial, lambda progress: None)
    record = TrialRecord("scribe-1", "", {}, spec, trial, {}, {"hosts": []})
    tables = tables_on_demand(spark, tmp_path_factory.mktemp("tables"), [record])
    names = ("operations", "handled", "deliveries", "relays")
    return plan, {name: [row.asDict() for row in tables[name].collect()] for name in names}


def of_role(plan: Plan, *roles: str) -> set[int]:
    return {row["peer"] for row in plan.peers.to_pylist() if row["role"] in roles}


def test_who_publishes_and_who_subscribes_is_as_the_roles_say(ran: tuple[Plan, dict[str, Rows]]) -> None:
    plan, tables = ran
    operations = [(row["operation"], row["peer"]) for row in tables["operations"]]
    publishers = {peer for operation, peer in operations if operation == "publish"}
    assert publishers <= of_role(plan, "server", "publisher")
    assert publishers & of_role(plan, "publisher")
    assert {peer for operation, peer in operations if operation == "join"} == set(range(40))
    told = {row["peer"] for row in tables["deliveries"]}
    assert told == of_role(plan, "server", "subscriber")


def test_a_server_is_given_an_event_once_for_all_of_its_clients(ran: tuple[Plan, dict[str, Rows]]) -> None:
    plan, tables = ran
    shared = Counter((row["peer"], row["topic"]) for row in plan.subscriptions.to_pylist())
    assert max(shared.values()) > 1
    found = {(row["event"], row["peer"]): row for row in tables["deliveries"]}
    assert set(found) == expected(plan)
    assert all(row["expected"] and row["delivered"] for row in found.values())
    assert not any(row["repeated"] for row in found.values())
    assert any(shared[row["peer"], row["topic"]] > 1 for row in found.values())


def test_who_must_relay_handles_events_and_the_tables_know_its_role(
    ran: tuple[Plan, dict[str, Rows]],
) -> None:
    plan, tables = ran
    role = {row["peer"]: row["role"] for row in plan.peers.to_pylist()}
    for name in ("handled", "relays"):
        assert all(row["role"] == role[row["peer"]] for row in tables[name])
    relayed = Counter(row["role"] for row in tables["relays"])
    assert relayed["relay"] > 0
    assert not any(row["delivered_s"] for row in tables["handled"] if row["role"] == "relay")
