"""The pages of `docs/reference` say what the schema and the help of the command say now."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from docs.making.pages import FOLDER, PAGES

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


def test_the_models_of_churn_come_first(pages: dict[str, str]) -> None:
    headings = re.findall(r"^## (\S+)", pages["experiment.md"], re.MULTILINE)
    first = [heading.partition(",")[0] for heading in headings[:6]]
    assert first == ["churn", *["churn.model"] * 5]
    assert headings.count("churn") == 1


def test_every_command_has_its_help() -> None:
    page = PAGES["command.md"]()
    assert "## trellis export" in page and "--width WIDTH" in page
