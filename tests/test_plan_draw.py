"""The plan: drawn from the spec and the seed, each part from a stream of its own."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.experiment.file.cross_checks import check_plan_inputs
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.plan.tables import PEERS, SESSIONS, Plan
from emulator.workload.table_schemas import LOOKUPS, PUBLICATIONS, SUBSCRIPTIONS

SMALL: dict[str, Any] = {
    "system": {"name": "vitis"},
    "peers": 60,
    "network": {"latency": {"kind": "king", "hosts": 40}},
    "workload": {"subscriptions": {"kind": "high", "topics": 200, "buckets": 10, "per_peer": 10}},
}
CHURN = {"model": {"kind": "poisson", "mean_session": "30 s", "mean_gap": "20 s"}, "graceful": 0.5}


def spec(*changes: tuple[str, Any], base: dict[str, Any] = SMALL) -> TrialSpec:
    """Return the small trial with dotted keys set."""
    fields = dict(base)
    for key, value in changes:
        at = fields
        *parents, last = key.split(".")
        for parent in parents:
            at[parent] = dict(at.get(parent, {}))
            at = at[parent]
        at[last] = value
    return TrialSpec.model_validate(fields)


def same(one: Plan, other: Plan) -> dict[str, bool]:
    others = dict(other.all_tables())
    return {name: table.equals(others[name]) for name, table in one.all_tables()}


def test_tables_have_their_schemas_sizes_and_order() -> None:
    plan = draw_plan(spec())
    assert plan.peers.schema.equals(PEERS)
    assert plan.sessions.schema.equals(SESSIONS)
    assert plan.subscriptions.schema.equals(SUBSCRIPTIONS)
    assert plan.publications.schema.equals(PUBLICATIONS)
    assert plan.lookups.schema.equals(LOOKUPS)
    assert plan.peers["peer"].to_pylist() == list(range(60))
    assert plan.subscriptions["interest"].to_pylist() == list(range(600))
    assert plan.subscriptions["ranges"].null_count == 600
    assert plan.publications["attributes"].null_count == 200
    assert plan.lookups.num_rows == 0
    assert plan.publications["event"].to_pylist() == list(range(200))
    keys = {
        "sessions": ["peer", "session"],
        "subscriptions": ["peer", "topic", "start_s"],
        "publications": ["at_s"],
    }
    for name, columns in keys.items():
        table = getattr(plan, name)
        assert table.sort_by([(column, "ascending") for column in columns]).equals(table)


def test_a_plan_survives_its_files(tmp_path: Path) -> None:
    plan = draw_plan(spec(("churn", CHURN)))
    plan.write(tmp_path)
    assert all(same(plan, Plan.read(tmp_path)).values())


@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 2**63 - 1))
def test_the_seed_decides_everything(seed: int) -> None:
    changes = [("churn", CHURN), ("workload.changes.share", 0.2)]
    one, again = (draw_plan(spec(("seed", seed), *changes)) for _ in range(2))
    assert all(same(one, again).values())
    other = draw_plan(spec(("seed", (seed + 1) % 2**63), *changes))
    assert {name for name, equal in same(one, other).items() if equal} == {"lookups"}  # there are none


def test_each_part_has_a_stream_of_its_own() -> None:
    base = draw_plan(spec(("churn", CHURN)))

    def moved(*changes: tuple[str, Any]) -> set[str]:
        parts = same(base, draw_plan(spec(("churn", CHURN), *changes)))
        return {name for name, equal in parts.items() if not equal}

    assert moved(("system.name", "rvr")) == set()
    assert moved(("network.loss", 0.1)) == set()
    assert moved(("network.latency.hosts", 30)) == {"peers"}
    assert moved(("workload.publications.payload_bytes", 9)) == {"publications"}
    assert moved(("workload.publications.publisher", "any")) == {"publications"}
    assert moved(("churn.graceful", 1.0)) == {"sessions"}
    assert moved(("workload.subscriptions.within", "0 s")) == {"subscriptions"}
    assert moved(("churn.model.mean_gap", "40 s")) == {"sessions", "subscriptions", "publications"}
    assert moved(("workload.subscriptions.kind", "random")) == {"subscriptions", "publications"}


def test_publication_rates_change_no_subscription_but_its_rate() -> None:
    base = draw_plan(spec())
    rates = {"kind": "power-law", "alpha": 1.5}
    skewed = draw_plan(spec(("workload.publications", {"events": 50, "rates": rates})))
    assert skewed.peers.equals(base.peers)
    assert skewed.sessions.equals(base.sessions)
    assert skewed.subscriptions.drop("rate").equals(base.subscriptions.drop("rate"))
    assert len(set(skewed.subscriptions["rate"].to_pylist())) > 50


def test_the_last_peers_are_the_flash_crowd() -> None:
    crowd = {"at": "50 s", "peers": 20, "within": "2 s"}
    plan = draw_plan(spec(("churn", {"flash_crowd": crowd})))
    late = plan.sessions.filter(pc.equal(plan.sessions["cause"], "flash-crowd"))
    assert late["peer"].to_pylist() == list(range(40, 60))
    assert pc.min(late["start_s"]).as_py() >= 50
    assert pc.max(late["start_s"]).as_py() <= 52
    base = plan.sessions.filter(pc.equal(plan.sessions["cause"], "base"))
    assert base["peer"].to_pylist() == list(range(40))
    assert plan.subscriptions.num_rows == 600


def test_a_crash_ends_a_share_of_the_sessions_at_one_moment_without_goodbye() -> None:
    churn = {"model": {"kind": "poisson", "mean_session": "40 s", "mean_gap": "5 s"}, "graceful": 1.0}
    before = draw_plan(spec(("churn", churn))).sessions.to_pylist()
    after = draw_plan(spec(("churn", churn | {"crash": {"at": "45 s", "share": 0.25}}))).sessions.to_pylist()
    up = {row["peer"] for row in before if row["start_s"] < 45 < row["end_s"]}
    hit = {row["peer"] for row in after if row["end_s"] == 45}
    assert hit < up and len(hit) == round(0.25 * len(up))
    assert not any(row["graceful"] for row in after if row["end_s"] == 45)
    assert not any(row["start_s"] >= 45 for row in after if row["peer"] in hit)
    others = {row["peer"] for row in before} - hit
    assert [row for row in after if row["peer"] in others] == [r for r in before if r["peer"] in others]


def starts(*changes: tuple[str, Any]) -> dict[int, set[float]]:
    """Return when each peer's subscriptions begin, in s of trial time."""
    found: dict[int, set[float]] = {}
    for row in draw_plan(spec(*changes)).subscriptions.to_pylist():
        found.setdefault(row["peer"], set()).add(row["start_s"])
    return found


def test_peers_subscribe_after_the_joins_each_to_all_its_topics_at_once() -> None:
    for changes, last in (((), 20.0), ([("workload.subscriptions.within", "25 s")], 35.0)):
        moments = starts(*changes)
        assert all(len(those) == 1 for those in moments.values())
        begun = sorted(those.pop() for those in moments.values())
        assert 10 <= begun[0] < 11
        assert last - 1 < begun[-1] < last


def test_peers_that_join_later_subscribe_with_their_join() -> None:
    crowd = {"at": "50 s", "peers": 20, "within": "2 s"}
    begun = starts(("churn", {"flash_crowd": crowd}))
    assert {peer for peer, those in begun.items() if those == {0.0}} == set(range(40, 60))
    sessions = draw_plan(spec(("churn", CHURN))).sessions.to_pylist()
    early = {row["peer"] for row in sessions if row["start_s"] <= 10}
    begun = starts(("churn", CHURN))
    assert {peer for peer, those in begun.items() if those != {0.0}} == early


def test_subscriptions_begin_with_the_join_if_told_or_if_there_is_no_time_to_settle() -> None:
    for change in (("workload.subscriptions.within", "0 s"), ("phases", {"settle": "10 s"})):
        assert set().union(*starts(change).values()) == {0.0}
    begun = starts(("phases", {"settle": "12 s"}))
    assert max(max(those) for those in begun.values()) < 12


def test_changes_of_interest_come_after_the_first_subscriptions() -> None:
    rows = draw_plan(spec(("workload.changes.share", 0.5))).subscriptions.to_pylist()
    assert all(row["start_s"] < row["end_s"] for row in rows)
    assert {row["end_s"] == 80.0 for row in rows if row["start_s"] >= 40} == {True}
    assert sum(row["start_s"] >= 40 for row in rows) == sum(row["end_s"] < 80 for row in rows) > 200


def test_only_leaves_before_the_end_are_graceful() -> None:
    sessions = draw_plan(spec(("peers", 600), ("churn", CHURN))).sessions.to_pylist()
    stays = [row for row in sessions if row["end_s"] == 80.0]
    leaves = [row for row in sessions if row["end_s"] < 80.0]
    assert stays
    assert not any(row["graceful"] for row in stays)
    assert sum(row["graceful"] for row in leaves) / len(leaves) == pytest.approx(0.5, abs=0.06)
    crashes = draw_plan(spec(("churn", CHURN | {"graceful": 0.0}))).sessions
    assert not any(crashes["graceful"].to_pylist())


def test_publishers_are_up_and_subscribed() -> None:
    plan = draw_plan(spec(("churn", CHURN), ("workload.changes.share", 0.5)))
    sessions, subscriptions = plan.sessions.to_pylist(), plan.subscriptions.to_pylist()
    for event in plan.publications.to_pylist():
        at, peer = event["at_s"], event["publisher"]
        assert 40 <= at < 70
        assert any(s["peer"] == peer and s["start_s"] <= at < s["end_s"] for s in sessions)
        assert any(
            s["peer"] == peer and s["topic"] == event["topic"] and s["start_s"] <= at < s["end_s"]
            for s in subscriptions
        )


@pytest.mark.parametrize(
    ("changes", "key", "problem"),
    [
        (
            [("churn.flash_crowd", {"at": "5 s", "peers": 60})],
            "churn.flash_crowd.peers",
            "the trial's 60 peers",
        ),
        (
            [("churn.flash_crowd", {"at": "90 s", "peers": 6})],
            "churn.flash_crowd.at",
            "the trial ends at 80 s",
        ),
        (
            [("churn.crash", {"at": "900 s", "share": 0.1})],
            "churn.crash.at",
            "the trial ends at 80 s",
        ),
        ([("workload.subscriptions.per_peer", 11)], "workload.subscriptions.per_peer", "do not divide"),
        (
            [("workload.subscriptions.within", "31 s")],
            "workload.subscriptions.within",
            "begins 30 s after the joins",
        ),
        (
            [("workload.subscriptions.per_peer", 30), ("workload.changes.share", 0.1)],
            "workload.changes.share",
            "15 of the 20 topics",
        ),
        (
            [("network.latency", {"kind": "planetlab", "file": "gone.tsv"})],
            "network.latency.file",
            "gone.tsv",
        ),
        ([("churn.model", {"kind": "trace", "file": "gone.avt"})], "churn.model.file", "gone.avt"),
        (
            [("workload.subscriptions", {"kind": "edges", "file": "."})],
            "workload.subscriptions.file",
            "not a file",
        ),
        ([("churn.model", {"kind": "skype", "compress": 1e10})], "churn.model.compress", "sessions"),
    ],
)
def test_impossible_combinations_are_told_by_key(
    changes: list[tuple[str, Any]], key: str, problem: str
) -> None:
    impossible = spec(*changes)
    ((found_key, found),) = check_plan_inputs(impossible)
    assert found_key == key
    assert problem in found
    with pytest.raises(ValueError, match=key):
        draw_plan(impossible)


def test_all_problems_are_told_at_once() -> None:
    crowd = {"at": "90 s", "peers": 100}
    trace = {"kind": "trace", "file": "gone.avt", "compress": 1e6}
    impossible = spec(
        ("churn", {"model": trace, "flash_crowd": crowd}), ("workload.subscriptions.per_peer", 11)
    )
    assert {key for key, _ in check_plan_inputs(impossible)} == {
        "churn.flash_crowd.peers",
        "churn.flash_crowd.at",
        "churn.model.file",
        "churn.model.compress",
        "workload.subscriptions.per_peer",
    }
    assert check_plan_inputs(spec()) == []


def test_ten_thousand_peers_are_planned_in_seconds() -> None:
    paper = {"system": {"name": "vitis"}, "workload": {"subscriptions": {"kind": "high"}}}
    begin = time.perf_counter()
    plan = draw_plan(spec(("peers", 10_000), ("workload.publications.events", 1000), base=paper))
    assert time.perf_counter() - begin < 10
    assert plan.subscriptions.num_rows == 500_000
