"""An experiment file with a part of the wrong form is answered by how to write that part."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from emulator.experiment.file.document import ExperimentError
from emulator.experiment.file.explain import validate
from emulator.experiment.file.load import load
from emulator.experiment.file.spec import ExperimentSpec

SPEC = {"name": "a", "system": {"name": "chord"}, "peers": 5, "workload": {"lookups": {"rate": 1}}}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"churn": "poisson"}, "Write {model: {kind: poisson, mean_session: 60 s, mean_gap: 20 s}}"),
        (
            {"network": {"latency": {"kind": "50 ms"}}},
            "Write {kind: constant, rtt: 50 ms} if it is the RTT of all peers",
        ),
        ({"vary": {"network": {"loss": [0, 0.1]}}}, "Write network.loss: [0, 0.1]"),
        ({"faults": "pause"}, 'Begin each entry with "- "'),
        ({"processing": {"classes": "slow"}}, 'Begin each entry with "- "'),
        ({"expect": "hops <= 1"}, 'Write ["hops <= 1"]'),
        ({"faults": [{"name": "a", "pause": {"peers": []}}]}, "is [], but has to have at least 1 entry"),
        (
            {"faults": [{"name": "a", "clock": 0.1}]},
            "such as {share: ...}. Its keys: share, number, peers, role, region, step, drift",
        ),
        ({"faults": [{"name": "a", "pause": 0.1}]}, "Write {share: 0.1}"),
        ({"faults": [{"name": "a", "bootstrap": True}]}, "is true. Known: away"),
        (
            {"network": {"processing": {}}},
            'is not a known key here. It stands beside "network", not below it',
        ),
    ],
)
def test_what_has_the_wrong_form_is_told_the_right_one(given: dict[str, Any], told: str) -> None:
    ((_, text),) = validate(ExperimentSpec, SPEC | given)[1]
    assert text.endswith(told)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"churn": {"mean_gap": "2 s"}}, "It belongs to churn.model (kind poisson or pareto)"),
        ({"jitter": "5 ms"}, "It belongs to network"),
        ({"partition": {"share": 0.5}}, "It belongs to an entry of faults"),
        ({"network": {"kind": "king"}}, "It belongs to network.latency, network.jitter or network.loss"),
        ({"churn": {"file": "a.csv"}}, "It belongs to churn.model (kind trace)"),
        ({"fingers": 3, "successors": 2}, "It is a parameter of chord: write it below system.parameters"),
    ],
)
def test_a_key_at_the_wrong_place_is_told_where_it_belongs(given: dict[str, Any], told: str) -> None:
    texts = [text for _, text in validate(ExperimentSpec, SPEC | given)[1]]
    assert f"is not a known key here. {told}" in texts


def test_a_key_of_another_kind_is_told_the_kind_and_the_place_beside_it() -> None:
    drawn = {"kind": "high", "topics": 100, "per_peer": 10, "buckets": 10, "events": 5}
    ((key, text),) = validate(ExperimentSpec, SPEC | {"workload": {"subscriptions": drawn}})[1]
    assert key == ("workload", "subscriptions", "events")
    assert text.endswith('not a key of kind "high". It belongs to kind boxes, or to workload.publications')


@pytest.mark.parametrize("name", ["share", "kind", "region", "nothing-like-it"])
def test_a_key_of_very_many_places_or_of_none_is_told_the_known_ones(name: str) -> None:
    ((_, text),) = validate(ExperimentSpec, SPEC | {name: 1})[1]
    assert "It belongs" not in text


def test_a_key_that_only_an_experiment_has_is_told_once_below_another(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(json.dumps(SPEC | {"network": {"title": "x"}}, indent=1))
    with pytest.raises(ExperimentError) as raised:
        load(file)
    (problem,) = raised.value.problems
    assert 'It stands beside "network", not below it' in problem.text


def test_a_missing_key_of_every_experiment_is_told_with_an_example() -> None:
    findings = dict(validate(ExperimentSpec, {"name": "a"})[1])
    assert findings["peers",] == 'is missing. Add it, such as "peers: 100"'
    assert findings["workload",].startswith("is missing. Add it, such as")
