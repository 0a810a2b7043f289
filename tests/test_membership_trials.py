"""Small trials of memberships on the virtual clock, and the plan of the kind of workload."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from small_trial import Outcome, run

from emulator.experiment.file.load import ExperimentError, load
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.layouts.layout import lay_out
from emulator.telemetry import names as attributes
from emulator.workload.membership_kind import MEMBERSHIP_KIND
from emulator.workload.membership_spec import Members


def trial(path: Path, peers: int = 30, parameters: dict[str, Any] | None = None, **fields: Any) -> Outcome:
    """Run 50 s of members that are up and know each other from 2 s on."""
    spec = TrialSpec.model_validate(
        {
            "system": {"name": "swim", "parameters": {"listed_at": "2 s"} | (parameters or {})},
            "peers": peers,
            "network": {"latency": {"kind": "constant", "rtt": "100 ms"}},
            "workload": {"membership": fields.pop("membership", {})},
            "phases": {"join": "2 s", "settle": "0 s", "measure": "48 s", "drain": "0 s"},
        }
        | fields
    )
    plan = draw_plan(spec)
    return run(lay_out(spec, plan), plan, path)


def told(outcome: Outcome) -> Counter[str]:
    """Return how often members made each statement."""
    names = (str(span.attributes.get(attributes.OBSERVED, "")) for span in outcome.spans)
    return Counter(name.removeprefix("member_") for name in names if name.startswith("member_"))


def test_without_loss_each_member_sends_two_messages_a_period_and_suspects_nobody(tmp_path: Path) -> None:
    outcome = trial(tmp_path)
    assert outcome.fidelity.measured["messages"] == pytest.approx(2 * 30 * 48, abs=30)
    assert not told(outcome)


def test_lifeguard_costs_nothing_without_loss(tmp_path: Path) -> None:
    outcome = trial(tmp_path, parameters={"preset": "lifeguard"})
    assert outcome.fidelity.measured["messages"] == pytest.approx(2 * 30 * 48, abs=30)
    assert not told(outcome)


@pytest.mark.parametrize("preset", ["swim", "lifeguard", "memberlist"])
def test_all_members_learn_of_crashes_and_of_nothing_else(preset: str, tmp_path: Path) -> None:
    outcome = trial(tmp_path, parameters={"preset": preset}, churn={"crash": {"at": "8 s", "share": 0.1}})
    assert told(outcome) == {"suspected": 3 * 27, "failed": 3 * 27}


def test_members_join_one_after_the_other_with_loss_and_jitter(tmp_path: Path) -> None:
    network = {"latency": {"kind": "constant", "rtt": "100 ms"}, "loss": 0.02, "jitter": "20 ms"}
    outcome = trial(tmp_path, parameters={"listed_at": "0 s", "preset": "memberlist"}, network=network)
    found = told(outcome)
    assert found["joined"] == 30 * 29 and not found["failed"]


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    churn = {"crash": {"at": "8 s", "share": 0.1}}
    files = [trial(tmp_path / name, peers=12, churn=churn).files() for name in ("one", "two")]
    assert files[0] == files[1]


def test_only_observers_tell_what_others_told_them(tmp_path: Path) -> None:
    churn = {"crash": {"at": "8 s", "share": 0.04}}
    all_told = told(trial(tmp_path / "all", churn=churn))
    few_told = told(trial(tmp_path / "few", churn=churn, membership={"observers": 5}))
    assert all_told == {"suspected": 29, "failed": 29}
    assert 4 <= few_told["suspected"] < 29 and 4 <= few_told["failed"] <= 29


def test_more_observers_than_peers_are_a_problem(tmp_path: Path) -> None:
    spec = TrialSpec.model_validate(
        {
            "system": {"name": "swim"},
            "peers": 5,
            "workload": {"membership": {"observers": 6}},
            "phases": {"join": "0 s", "settle": "0 s", "measure": "1 s", "drain": "0 s"},
        }
    )
    ((key, text),) = MEMBERSHIP_KIND.problems(Members(observers=6), spec)
    assert key == "membership.observers" and text.startswith("is 6, but there are 5 peers")


def test_a_list_without_anybody_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no peer is up in its first session at 49"):
        trial(tmp_path, parameters={"listed_at": "49 s"}, churn={"crash": {"at": "8 s", "share": 1.0}})


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        (
            "{starting_list: [0, 1]}",
            "starting_list: is made from the sessions of the plan, so a file cannot give it. Leave it out, "
            "and give the time at which its members are up, such as listed_at: 2 s",
        ),
        (
            "{listed_at: 1 h}",
            "listed_at: is 3600 s, but the trial ends at 52 s. Give a time before that at which its members "
            "are up, such as listed_at: 2 s",
        ),
    ],
)
def test_a_list_that_cannot_be_made_is_refused_by_a_check_of_the_file(
    parameters: str, told: str, tmp_path: Path
) -> None:
    file = tmp_path / "list.yaml"
    phases = "{join: 2 s, settle: 10 s, measure: 40 s, drain: 0 s}"
    file.write_text(
        f"name: list\nsystem:\n  name: swim\n  parameters: {parameters}\npeers: 5\n"
        f"workload: {{membership: {{}}}}\nphases: {phases}\n"
    )
    with pytest.raises(ExperimentError) as refused:
        load(file)
    assert f"list.yaml:4: system.parameters.{told}" in str(refused.value)
