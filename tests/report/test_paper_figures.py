"""The page of a paper's figures: our newest runs with the paper's numbers, and what is still to be run."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from emulator.experiment.run.directory import RunDirectory
from trellis.command.cli import app


@pytest.fixture
def paper(tmp_path: Path) -> Path:
    """A folder with two experiments, the first of which is that of `make_run`."""
    folder = tmp_path / "vitis paper"
    folder.mkdir()
    (folder / "friends.yaml").write_text("name: friends\ntitle: Friends against overhead\n")
    (folder / "twitter.yaml").write_text("name: twitter\ntitle: Followers <b>\n")
    return folder


def test_experiments_with_a_run_have_figures_and_numbers_and_others_their_command(
    make_run: Callable[..., RunDirectory], paper: Path, tmp_path: Path
) -> None:
    older, run = make_run("older"), make_run("newer")
    os.utime(older.summary, (1, 1))
    page = tmp_path / "out.html"
    done = CliRunner().invoke(app, ["figures", str(paper), "--in", str(tmp_path), "--out", str(page)])
    assert done.exit_code == 0, done.output
    assert f"to run: trellis run '{paper / 'twitter.yaml'}'" in done.output.replace("\n", "")
    text = page.read_text()
    assert str(run.path) in text and str(older.path) not in text
    assert "1 of 2 experiments have a run" in text
    assert "at most 20 %" in text and "about 331 ms" in text
    figures = re.findall(r'<figure class="chart[^"]*" id="([^"]+)"', text)
    assert "friends-sweep-hit_ratio" in figures and len(figures) == len(set(figures)) == 4
    assert "Followers &lt;b&gt;" in text and "There is no analysed run." in text


def test_a_run_that_cannot_be_read_is_told_with_the_reason(
    make_run: Callable[..., RunDirectory], paper: Path, tmp_path: Path
) -> None:
    run = make_run()
    summary = json.loads(run.summary.read_text())
    del summary["variants"]
    run.summary.write_text(json.dumps(summary))
    page = tmp_path / "out.html"
    done = CliRunner().invoke(app, ["figures", str(paper), "--in", str(tmp_path), "--out", str(page)])
    assert done.exit_code == 0, done.output
    assert "lacks variants; write it with: trellis analyze" in page.read_text()


def test_a_paper_that_is_not_there_is_refused_with_those_that_are(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["figures", "nowhere", "--in", str(tmp_path)])
    assert done.exit_code == 2
    assert "nowhere is no paper and no folder of experiment files. Papers: chord" in done.output.replace(
        "\n", " "
    )
