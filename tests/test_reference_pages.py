"""The pages of `docs/reference` say what the schema and the help of the command say now."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from docs.making.pages import FOLDER, PAGES
from emulator.experiment.file.json_schema import experiment_schema

_MAKE = "import json; from docs.making.pages import PAGES; print(json.dumps({n: PAGES[n]() for n in PAGES}))"


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """The pages as a process makes them that knows no systems of other tests."""
    made = subprocess.run(
        (sys.executable, "-c", _MAKE), cwd=FOLDER.parents[1], capture_output=True, check=True, timeout=120
    )
    return json.loads(made.stdout)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_what_it_is_made_from(name: str, pages: dict[str, str]) -> None:
    assert (FOLDER / name).read_text() == pages[name], "it differs: run make reference"


def row(page: str, key: str) -> list[str]:
    """Return the cells of the first row of a key."""
    (line, *_) = re.findall(rf"^\| `{key}` \|.*$", page, re.MULTILINE)
    return [cell.strip() for cell in line.split(" | ")[1:]]


def test_a_key_has_its_form_default_limits_and_an_example(pages: dict[str, str]) -> None:
    page = pages["experiment.md"]
    assert row(page, "peers")[:3] == ["whole number", "required", "at least 2, at most 200,000"]
    meaning = "Time until the measure phase, in which the overlay settles."
    assert row(page, "settle") == ["time", "`30 s`", "at least 0 s", meaning, "`settle: 30 s` |"]
    assert row(page, "graceful")[0] == "number or share"
    assert "## churn.model, kind: skype" in page


def test_every_key_has_a_meaning(pages: dict[str, str]) -> None:
    rows = [line.split(" | ") for line in pages["experiment.md"].splitlines() if line.startswith("| `")]
    assert len(rows) > 200
    # The section of an attack tells what its `by` is.
    assert [cells[0] for cells in rows if not cells[4].strip()] == ["| `by`"]


def rows(page: str) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the key and the kind of the section of each row, and the row's cells."""
    key = kind = ""
    for line in page.splitlines():
        if (heading := re.fullmatch(r"## (\S+?)(?:, kind: (\S+))?", line)) is not None:
            key, kind = heading[1], heading[2] or ""
        elif line.startswith("| `"):
            cells = line.removeprefix("| ").removesuffix(" |").replace("\\|", "|").split(" | ")
            yield key, kind, [cell.strip() for cell in cells]


def test_every_value_has_an_example(pages: dict[str, str]) -> None:
    found = [(key, cells) for key, _, cells in rows(pages["experiment.md"])]
    values = [(key, cells) for key, cells in found if not cells[1].endswith("keys below")]
    assert len(values) > 250
    assert [(key, cells[0]) for key, cells in values if not cells[-1]] == []


def test_every_example_is_one_that_an_experiment_may_have(pages: dict[str, str]) -> None:
    fits = Draft202012Validator(experiment_schema()).is_valid
    refused = []
    for key, kind, (_, *_, example) in rows(pages["experiment.md"]):
        if example:
            value = yaml.safe_load(example.strip("`"))
            value |= {"kind": kind} if kind else {}
            if not any(
                fits({"name": "small"} | each) for each in placed(key.split(".") if key else [], value)
            ):
                refused.append((key, kind, example))
    assert refused == []


def placed(above: list[str], value: Any) -> Iterator[Any]:
    """Yield the value below the keys `above`, each of which may be that of a list."""
    if not above:
        yield value
        return
    *others, last = above
    for each in ({last: value}, {last: [value]}, {last: [value, value]}):
        yield from placed(others, each)


def test_the_models_of_churn_come_first(pages: dict[str, str]) -> None:
    headings = re.findall(r"^## (\S+)", pages["experiment.md"], re.MULTILINE)
    first = [heading.partition(",")[0] for heading in headings[:6]]
    assert first == ["churn", *["churn.model"] * 5]
    assert headings.count("churn") == 1


def test_every_command_has_its_help() -> None:
    page = PAGES["command.md"]()
    assert "## trellis export" in page and "--width WIDTH" in page
