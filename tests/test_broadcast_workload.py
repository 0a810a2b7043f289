"""Messages for every peer are drawn by the seed: when, by whom, and how large they are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_experiment_load import problems

from emulator.churn.sessions import Sessions
from emulator.experiment.file.load import load
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.plan.tables import Plan
from emulator.workload.broadcast_spec import Broadcasts
from emulator.workload.broadcasts import draw_broadcasts

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
    ("stay", "told"),
    [
        (0, "no peer that may send is up in the whole measure phase. Leave it out so"),
        (1, "1 peer that may send is up in the whole measure phase. Lower it to 1, or leave it out so"),
        (2, "2 peers that may send are up in the whole measure phase. Lower it to 2, or leave it out so"),
    ],
)
def test_who_asks_for_too_many_senders_is_told_how_many_there_can_be(stay: int, told: str) -> None:
    peers = np.arange(4, dtype=np.int32)
    ends = np.where(peers < stay, 100.0, 60.0)
    sessions = Sessions(peers, np.zeros(4), ends)
    asked = Broadcasts.model_validate({"rate": 1.0, "senders": 3})
    with pytest.raises(ValueError, match=f"senders: is 3, but {re.escape(told)}"):
        draw_broadcasts(asked, (50.0, 90.0), 4, sessions, np.random.default_rng(1))


@pytest.mark.parametrize(
    ("system", "broadcast", "told"),
    [
        ("{name: plumtree-hyparview}", "senders: 13", "there are 12 peers. Lower it to 12 or less"),
        ("{name: plumtree-hyparview}", "bytes: {least: 64, most: 32}", "Lower it, or raise most"),
        ("{name: flood-cyclon, parameters: {membership: {shuffle: 21}}}", "senders: 1", "raise view"),
        ("{name: flood-cyclon, parameters: {membership: {view: 1001}}}", "senders: 1", "at most 1,000"),
        ("{name: flood-random-graph, parameters: {membership: {view: 1001}}}", "senders: 1", "most 1,000"),
        ("{name: plumtree-hyparview, parameters: {membership: {prwl: 7}}}", "senders: 1", "raise arwl"),
        (
            "{name: gossipsub-broadcast, parameters: {application_scores: {12: 1.0}}}",
            "senders: 1",
            "application_scores: there is no peer 12. They are 0 to 11",
        ),
        (
            "{name: gossipsub-broadcast}\nattackers: {number: 1, behaviour: "
            "{kind: mesh-sybil, target: 1, topic: 1}}",
            "senders: 1",
            "attackers.behaviour: there is no topic 1. There is topic 0 alone",
        ),
    ],
)
def test_a_refusal_says_what_to_write(tmp_path: Path, system: str, broadcast: str, told: str) -> None:
    path = tmp_path / "experiment.yaml"
    path.write_text(
        f"name: n\nsystem: {system}\npeers: 12\nworkload: {{broadcast: {{rate: 1, {broadcast}}}}}\n"
    )
    (problem,) = problems(path)
    assert told in problem


def test_a_file_may_give_application_scores(tmp_path: Path) -> None:
    path = tmp_path / "experiment.yaml"
    system = "{name: gossipsub-broadcast, parameters: {application_scores: {3: -100.0}}}"
    path.write_text(f"name: n\nsystem: {system}\npeers: 12\nworkload: {{broadcast: {{rate: 1}}}}\n")
    load(path)


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
