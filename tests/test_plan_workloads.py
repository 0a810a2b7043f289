"""Plans of content and of lookups; plans of topics are what they were before there were these."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from test_plan_draw import CHURN, same, spec

from emulator.experiment.file.cross_checks import check_plan_inputs
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.plan.tables import Plan
from emulator.workload.table_schemas import LOOKUPS, PUBLICATIONS, SUBSCRIPTIONS

PRICE = {"name": "price", "low": 0.0, "high": 100.0, "sub_range": 5.0, "skew": 0.5}
SIZE = {"name": "size", "low": -10.0, "high": 10.0, "sub_range": 1.0}
RANGES = {"kind": "ranges", "per_peer": 2.5, "within": "20 s", "attributes": [PRICE, SIZE]}


def content(*changes: tuple[str, Any]) -> TrialSpec:
    return spec(("workload", {"subscriptions": RANGES}), *changes)


def lookups(*changes: tuple[str, Any]) -> TrialSpec:
    return spec(("workload", {"lookups": {"rate": 10.0}}), *changes)


def test_plans_of_topics_have_not_moved() -> None:
    """Digests of what was drawn before plans had content and lookups."""
    with_the_join = ("workload.subscriptions.within", "0 s")
    plan = draw_plan(spec(("churn", CHURN), ("workload.changes.share", 0.2), with_the_join))
    told = {}
    for name in ("peers", "sessions", "subscriptions", "publications"):
        table = getattr(plan, name)
        later = {"interest", "ranges", "attributes", "role", "client"}
        old = table.select([c for c in table.column_names if c not in later])
        told[name] = hashlib.sha256(repr(old.to_pydict()).encode()).hexdigest()[:16]
    assert told == {
        "peers": "830b35ff65e1241c",
        "sessions": "91d096c4a048c56e",
        "subscriptions": "af69eae6017cbf0a",
        "publications": "a58593576aa45eaf",
    }


def test_a_content_plan_has_ranges_and_attributes_instead_of_topics(tmp_path: Path) -> None:
    plan = draw_plan(content())
    assert plan.subscriptions.schema.equals(SUBSCRIPTIONS)
    assert plan.publications.schema.equals(PUBLICATIONS)
    assert plan.subscriptions["interest"].to_pylist() == list(range(150))
    order = [("peer", "ascending"), ("start_s", "ascending")]
    assert plan.subscriptions.sort_by(order).equals(plan.subscriptions)
    assert [plan.subscriptions[c].null_count for c in ("topic", "rate", "ranges")] == [150, 150, 0]
    assert [plan.publications[c].null_count for c in ("topic", "attributes")] == [200, 0]
    assert all(10 <= start < 30 for start in plan.subscriptions["start_s"].to_pylist())
    assert set(plan.subscriptions["end_s"].to_pylist()) == {80.0}
    plan.write(tmp_path)
    assert all(same(plan, Plan.read(tmp_path)).values())


def test_interests_may_be_held_from_the_join_on() -> None:
    plan = draw_plan(content(("workload.subscriptions.within", "0 s")))
    assert set(plan.subscriptions["start_s"].to_pylist()) == {0.0}


def test_content_publishers_subscribe_or_are_anybody() -> None:
    few = ("workload.subscriptions.per_peer", 0.1)
    plan = draw_plan(content(few))
    subscribers = set(plan.subscriptions["peer"].to_pylist())
    assert set(plan.publications["publisher"].to_pylist()) <= subscribers
    plan = draw_plan(content(few, ("workload.publications", {"publisher": "any"})))
    assert len(set(plan.publications["publisher"].to_pylist())) > 50


def test_a_plan_of_lookups_has_nothing_else_to_ask_for(tmp_path: Path) -> None:
    plan = draw_plan(lookups())
    assert plan.lookups.schema.equals(LOOKUPS)
    assert (plan.subscriptions.num_rows, plan.publications.num_rows) == (0, 0)
    assert plan.lookups["lookup"].to_pylist() == list(range(plan.lookups.num_rows))
    assert 220 < plan.lookups.num_rows < 380
    assert all(40 <= at < 70 for at in plan.lookups["at_s"].to_pylist())
    plan.write(tmp_path)
    assert all(same(plan, Plan.read(tmp_path)).values())


def test_each_part_has_a_stream_of_its_own() -> None:
    base = draw_plan(content())

    def moved(change: tuple[str, Any]) -> set[str]:
        return {name for name, equal in same(base, draw_plan(content(change))).items() if not equal}

    assert moved(("workload.publications", {"payload_bytes": 9})) == {"publications"}
    assert moved(("workload.publications", {"events": 7})) == {"publications"}
    assert moved(("workload.subscriptions.within", "10 s")) == {"subscriptions"}
    assert moved(("churn.graceful", 1.0)) == set()
    narrow = [PRICE | {"size_bound": 0.1}, SIZE]
    assert moved(("workload.subscriptions.attributes", narrow)) == {"subscriptions"}


def test_the_workload_moves_no_session() -> None:
    plans = [draw_plan(s(("churn", CHURN))) for s in (spec, content, lookups)]
    assert all(p.peers.equals(plans[0].peers) and p.sessions.equals(plans[0].sessions) for p in plans)


def test_the_seed_decides_content_and_lookups() -> None:
    for trial in (content, lookups):
        one, again, other = (draw_plan(trial(("seed", seed))) for seed in (3, 3, 4))
        assert all(same(one, again).values())
        changed = {name for name, equal in same(one, other).items() if not equal}
        assert changed >= ({"lookups"} if trial is lookups else {"subscriptions", "publications"})


@pytest.mark.parametrize(
    ("workload", "key", "problem"),
    [
        ({}, "workload", "neither subscriptions, lookups, values, membership nor broadcast"),
        ({"subscriptions": {"kind": "low"}, "lookups": {"rate": 1.0}}, "workload.lookups", "Keep one"),
        ({"lookups": {"rate": 1.0}, "publications": {}}, "workload.publications", "needs workload.subscr"),
        ({"lookups": {"rate": 1.0}, "changes": {"share": 0.1}}, "workload.changes", "needs workload.subscr"),
        ({"subscriptions": RANGES, "changes": {"share": 0.1}}, "workload.changes.share", "only topics"),
        (
            {"subscriptions": RANGES, "publications": {"rates": {"kind": "power-law", "alpha": 1.0}}},
            "workload.publications.rates",
            "only topics",
        ),
        (
            {"subscriptions": RANGES | {"within": "71 s"}},
            "workload.subscriptions.within",
            "the trial ends 70 s after",
        ),
        (
            {"subscriptions": RANGES | {"attributes": [PRICE, SIZE | {"high": -20.0}]}},
            "workload.subscriptions.attributes.1.high",
            "above -10",
        ),
    ],
)
def test_what_cannot_be_drawn_is_told_by_key(workload: dict[str, Any], key: str, problem: str) -> None:
    impossible = spec(("workload", workload))
    ((found, text),) = check_plan_inputs(impossible)
    assert found == key
    assert problem in text
    with pytest.raises(ValueError, match=problem):
        draw_plan(impossible)
