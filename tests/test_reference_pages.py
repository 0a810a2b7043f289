"""The pages of `docs/reference` say what the schema and the help of the command say now."""

from __future__ import annotations

import re

import pytest

from docs.making.pages import FOLDER, PAGES


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_what_it_is_made_from(name: str) -> None:
    assert (FOLDER / name).read_text() == PAGES[name](), "it differs: run make reference"


def row(page: str, key: str) -> list[str]:
    """Return the cells of the first row of a key."""
    (line, *_) = re.findall(rf"^\| `{key}` \|.*$", page, re.MULTILINE)
    return [cell.strip() for cell in line.split(" | ")[1:]]


def test_a_key_has_its_form_default_limits_and_an_example() -> None:
    page = PAGES["experiment.md"]()
    assert row(page, "peers")[:3] == ["whole number", "required", "at least 2, at most 200,000"]
    assert row(page, "settle") == ["time", "`30 s`", "at least 0 s", "", "`settle: 30 s` |"]
    assert row(page, "graceful")[0] == "number or share"
    assert "## churn.model, kind: skype" in page


def test_every_command_has_its_help() -> None:
    page = PAGES["command.md"]()
    assert "## trellis export" in page and "--width WIDTH" in page
