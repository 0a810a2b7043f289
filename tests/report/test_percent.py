"""Readers see shares in percent, with a space before the sign, and programs get numbers between 0 and 1."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analysis.charts.results import SHARES, unit_of, value_label
from analysis.report.setting import plain
from emulator.experiment.file.json_schema import experiment_schema

ROOT = Path(__file__).parents[2]
OF_WHAT_ELSE = frozenset(
    {
        "correlation", "rate_error", "graceful", "initial", "mean", "size", "publisher", "subscriber",
        "relay",
    }
)  # fmt: skip
"""Keys that take percent and are no share of something, are a count from 1 on, or whose name means another
thing elsewhere."""


def of_percent(schema: Any, name: str = "") -> Iterator[str]:
    """Yield the names of the keys below a part of the schema that take a text with a percent sign."""
    if isinstance(schema, dict):
        if str(schema.get("pattern", "")).endswith(r"\s*%\s*$"):
            yield name
        for key, below in schema.items():
            properties = key == "properties" and isinstance(below, dict)
            for part, each in below.items() if properties else [(name, below)]:
                yield from of_percent(each, part)
    elif isinstance(schema, list):
        for each in schema:
            yield from of_percent(each, name)


def test_each_key_of_an_experiment_that_is_a_share_is_known_as_one() -> None:
    assert set(of_percent(experiment_schema())) == SHARES | OF_WHAT_ELSE


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("network.loss", 0.05, "loss 5 %"),
        ("network.loss", 0, "loss 0 %"),
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
    assert plain(0.5) == "0.5"


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
