"""The mistakes on the page of what was tried are answered as the page says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from trellis.command.cli import app

PAGE = (Path(__file__).parent.parent / "docs" / "tried.md").read_text()
TABLE = PAGE[PAGE.index("## Thirty mistakes of a newcomer") :]
ROWS = re.findall(r"^\| `(.+?)` \| (.+) \|$", TABLE, re.MULTILINE)
RIGHT = """\
name: mine
system: vitis
peers: 100
phases: {join: 10 s, settle: 20 s, measure: 30 s, drain: 10 s}
workload:
  subscriptions: {kind: random, topics: 50, per_peer: 5}
  publications: {events: 20}
"""
WITHIN = {
    "join": ["phases"],
    "cooldown": ["phases"],
    "per_peer": ["workload", "subscriptions"],
    "rate": ["workload", "publications"],
}
"""The parts that hold keys which are not at the top of a file."""
INSTEAD = {"nodes": ["peers"]}
"""The right keys in whose place a wrong one is written."""
TEXTS = {
    "subscriptions:": RIGHT.replace("  subscriptions:", "\tsubscriptions:"),
    "drain: 10 s": RIGHT.replace("drain: 10 s}", "drain: 10 s"),
}
"""The files with mistakes that leave no YAML."""


def with_mistake(written: str) -> str:
    """Return the right file with what is written in it."""
    if written in TEXTS:
        return TEXTS[written]
    values: dict[str, Any] = yaml.safe_load(RIGHT)
    for name, value in yaml.safe_load(written).items():
        part = values
        for key in WITHIN.get(name, []):
            part = part[key]
        for key in INSTEAD.get(name, []):
            del part[key]
        part[name] = value
    return yaml.safe_dump(values, sort_keys=False)


def test_the_page_has_thirty_mistakes() -> None:
    assert len(ROWS) == 30


@pytest.mark.parametrize(("written", "answered"), ROWS, ids=[written[:40] for written, _ in ROWS])
def test_a_mistake_is_answered_as_the_page_says(
    written: str, answered: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    call = ["validate", "mine.yaml"]
    if written.startswith("trellis "):
        call = shlex.split(written)[1:]
    else:
        Path("mine.yaml").write_text(with_mistake(written))
    said = CliRunner().invoke(app, call)
    told = " ".join(said.output.split())
    assert said.exit_code == 2
    for part in re.split(r"; |…", answered):
        assert part.strip() in told
