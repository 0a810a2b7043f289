"""Messages for every peer are drawn by the seed: when, by whom, and how large they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_experiment_load import problems

from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.plan.tables import Plan

PHASES = {"join": "10 s", "settle": "40 s", "measure": "50 s", "drain": "10 s"}


def spec(seed: int = 1, **broadcast: Any) -> TrialSpec:
    return TrialSpec.model_validate(
        {
            "system": {"name": "plumtree-hyparview"},
            "peers": 12,
            "seed": seed,
            "workload": {"broadcast": {"rate": 2.0} | broadcast},
            "phases": PHASES,
        }
    )


def sent(**broadcast: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = draw_plan(spec(**broadcast)).publications.to_pylist()
    assert [row["event"] for row in rows] == list(range(len(rows)))
    return rows


def test_messages_come_at_random_times_of_the_measure_phase_from_any_peer() -> None:
    rows = sent(rate=20.0)
    assert len(rows) == pytest.approx(1000, abs=100)
    assert [row["at_s"] for row in rows] == sorted(row["at_s"] for row in rows)
    assert all(50.0 <= row["at_s"] <= 100.0 for row in rows)
    assert {row["publisher"] for row in rows} == set(range(12))
    assert rows != sent(rate=20.0, seed=2)


def test_even_spacing_has_one_message_in_the_middle_of_each_interval() -> None:
    assert [row["at_s"] for row in sent(rate=0.1, spacing="even")] == [55.0, 65.0, 75.0, 85.0, 95.0]


def test_a_number_of_senders_are_the_same_in_the_whole_trial() -> None:
    assert len({row["publisher"] for row in sent(rate=20.0, senders=3)}) == 3


def test_sizes_are_one_number_or_have_a_uniform_logarithm() -> None:
    assert {row["payload_bytes"] for row in sent(bytes=2**20)} == {2**20}
    sizes = [row["payload_bytes"] for row in sent(rate=40.0, bytes={"least": 32, "most": 320_000})]
    assert 32 <= min(sizes) < max(sizes) <= 320_000
    assert sum(size < 3200 for size in sizes) / len(sizes) == pytest.approx(0.5, abs=0.05)


def test_the_plan_is_read_back_as_it_was_drawn(tmp_path: Path) -> None:
    asked = spec()
    plan = draw_plan(asked)
    plan.write(tmp_path)
    assert Plan.read(tmp_path, asked.workload.kind) == plan


def test_more_senders_than_stay_up_are_refused_with_the_number_of_those() -> None:
    churning = spec(senders=12).model_dump() | {
        "churn": {"model": {"kind": "poisson", "mean_session": "30 s", "mean_gap": "30 s"}}
    }
    with pytest.raises(ValueError, match=r"workload\.broadcast\.senders: is 12, but \d+ peers"):
        draw_plan(TrialSpec.model_validate(churning))


@pytest.mark.parametrize(
    ("broadcast", "key"),
    [
        ("{rate: 0}", "workload.broadcast.rate"),
        ("{rate: 1, bytes: 31}", "workload.broadcast.bytes"),
        ("{rate: 1, bytes: 1048577}", "workload.broadcast.bytes"),
        ("{rate: 1, bytes: {least: 64, most: 32}}", "workload.broadcast.bytes.least"),
        ("{rate: 1, senders: 13}", "workload.broadcast.senders"),
        ("{rate: 100000}", "workload.broadcast.rate"),
        ("{rate: 0.001, spacing: even}", "workload.broadcast.rate"),
        ("{rate: 1, region: [nowhere]}", "workload.broadcast.region"),
        ("{rate: 1, sender: 1}", "workload.broadcast.sender"),
    ],
)
def test_what_cannot_be_drawn_is_refused_by_its_key(tmp_path: Path, broadcast: str, key: str) -> None:
    text = (
        "name: n\nsystem: {name: plumtree-hyparview}\npeers: 12\n"
        f"workload:\n  broadcast: {broadcast}\n"
        "phases: {join: 1 s, settle: 1 s, measure: 100 s, drain: 1 s}\n"
    )
    path = tmp_path / "experiment.yaml"
    path.write_text(text)
    assert [problem for problem in problems(path) if f" {key}" in problem]
