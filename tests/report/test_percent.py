"""Readers see shares in percent, with a space before the sign, and programs get numbers between 0 and 1."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analysis.charts.numerals import quantity
from analysis.charts.results import unit_of, value_label
from analysis.report.setting import plain
from emulator.experiment.file.json_schema import experiment_schema

ROOT = Path(__file__).parents[2]
NO_SHARES = frozenset({"correlation"})
"""The keys that take percent and are no share of anything."""


def of_percent(schema: Any, name: str = "") -> Iterator[str]:
    """Yield the dotted keys below a part of the schema that take a text with a percent sign, each from the
    name of its part's type on."""
    if isinstance(schema, dict):
        if str(schema.get("pattern", "")).endswith(r"\s*%\s*$"):
            yield name
        for key, below in schema.items():
            if key in ("properties", "$defs") and isinstance(below, dict):
                for part, each in below.items():
                    yield from of_percent(each, f"{name}.{part}" if key == "properties" else part)
            else:
                yield from of_percent(below, name)
    elif isinstance(schema, list):
        for each in schema:
            yield from of_percent(each, name)


WHERE = {"Bursts": "network.loss", "Roles": "workload.roles", "Groups": "workload.subscriptions"}
"""The keys at which a file has parts of these types, of which some names mean other numbers elsewhere."""


def test_each_number_that_a_file_may_have_in_percent_is_told_so() -> None:
    keys = list(of_percent(experiment_schema()))
    assert len(keys) > 20
    for key in keys:
        part, name = key.split(".")
        found = unit_of(f"{WHERE.get(part, part)}.{name}", 0.5)
        assert found == ("" if name in NO_SHARES else "share"), key


def test_numbers_of_the_same_names_that_are_no_shares_are_not_told_in_percent() -> None:
    assert unit_of("workload.roles.relay", 3) == unit_of("workload.subscriptions.size", 20) == ""
    assert unit_of("system.parameters.size", 20) == unit_of("attackers.behaviour.publisher", 0) == ""
    assert unit_of("workload.subscriptions.editors.mean", 5.4) == ""


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("network.loss", 0.05, "loss 5 %"),
        ("network.loss", 0, "loss 0 %"),
        ("churn.graceful", 0.3, "graceful 30 %"),
        ("network.loss", {"kind": "bursts", "mean": 0.05, "burst": 4}, "bursts, mean 5 %, burst 4"),
        ("network", {"loss": {"kind": "bursts", "mean": 0.05}}, "bursts, mean 5 %"),
        ("workload.roles", {"relay": 0.1, "publisher": 2}, "relay 10 %, publisher 2"),
        ("workload.subscriptions.initial", 0.1, "initial 10 %"),
        ("attackers.share", 0.125, "share 12.5 %"),
        ("attackers", {"share": 0.2, "behaviour": "sybil"}, "share 20 %, sybil"),
        ("system.parameters.friends", 12, "friends 12"),
    ],
)
def test_a_varied_share_is_told_in_percent(key: str, value: Any, told: str) -> None:
    assert value_label(key, value).removeprefix("attackers ") == told


def test_a_share_of_the_setting_is_told_in_percent() -> None:
    assert plain(0.5, unit_of("share")) == "50 %"
    assert plain({"share": 0.5, "way": "both"}) == "(share 50 %, way both)"
    assert plain({"relay": 0.1}, key="roles") == "(relay 10 %)"
    assert plain(0.5) == "0.5"


def test_one_of_something_is_told_in_the_singular() -> None:
    told = [
        quantity(*each).replace("\N{NO-BREAK SPACE}", " ") for each in ((1, "hops"), (1, "ms"), (2, "hops"))
    ]
    assert told == ["1 hop", "1 ms", "2 hops"]


def test_no_text_of_the_code_has_a_percent_sign_without_a_space() -> None:
    formatted = re.compile(r":\.?\d*%\}|(?<!SPACE)\}%(?!\w)")
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for room in ("analysis", "trellis", "emulator", "services")
        for path in sorted((ROOT / room).rglob("*.py"))
        if not path.name.endswith("_pb2.py") and "_compiled" not in path.parts
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if formatted.search(line)
    ]
    assert not found
