"""The JSON schema of experiment files."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from trellis.command.cli import app

FILES = Path(__file__).parent.parent / "experiments"
EXPERIMENT: dict[str, Any] = {
    "name": "small",
    "system": {"name": "vitis", "parameters": {"gateway_hops": 5}},
    "peers": 10,
    "phases": {"join": "10 s"},
    "network": {"latency": "king", "jitter": "5 ms", "loss": "1 %"},
    "workload": {"subscriptions": {"topics": 20, "per_peer": 2, "buckets": 1}},
}


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    result = CliRunner().invoke(app, ["schema"], catch_exceptions=False)
    assert result.exit_code == 0
    made: dict[str, Any] = json.loads(result.stdout)
    Draft202012Validator.check_schema(made)
    return made


def problems(schema: Mapping[str, Any], values: Any) -> list[str]:
    return [error.message for error in Draft202012Validator(schema).iter_errors(values)]


def test_every_ready_experiment_fits_the_schema(schema: dict[str, Any]) -> None:
    files = sorted(FILES.rglob("*.yaml"))
    found = {str(file): problems(schema, yaml.safe_load(file.read_text())) for file in files}
    assert files and {file: texts for file, texts in found.items() if texts} == {}


def test_short_forms_and_quantities_with_units_fit(schema: dict[str, Any]) -> None:
    assert problems(schema, EXPERIMENT) == []
    assert problems(schema, EXPERIMENT | {"system": "vitis"}) == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("perse", 10),
        ("peers", 1),
        ("peers", "ten"),
        ("phases.join", 10),
        ("phases.join", "10 parsecs"),
        ("network.loss", 1.5),
        ("system.parameters.gateway_hopz", 5),
        ("system.parameters.gateway_hops", "many"),
    ],
)
def test_what_no_file_may_have_does_not_fit(schema: dict[str, Any], key: str, value: object) -> None:
    values = copy.deepcopy(EXPERIMENT)
    *above, last = key.split(".")
    here = values
    for part in above:
        here = here[part]
    here[last] = value
    assert problems(schema, values)


def test_a_key_tells_its_meaning_unit_limit_and_default(schema: dict[str, Any]) -> None:
    network = schema["$defs"]["NetworkSpec"]["properties"]
    told = network["same_host_rtt"]["description"]
    assert told.startswith("RTT between peers at one host of the matrix. A time with its unit")
    assert told.endswith("at least 0 s; at most 3600 s")
    assert network["same_host_rtt"]["default"] == "1 ms"
    assert network["jitter"]["default"] == "0 s"
    assert schema["properties"]["peers"]["description"] == "peers of the overlay. Required, here or by vary"
