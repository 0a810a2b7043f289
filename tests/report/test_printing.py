"""The page on paper: what is folded on the screen is open there."""

from __future__ import annotations

import re
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from sweep_run import sweep_run
from test_page_downloads import CHROMIUM

from analysis.report.report import write_report

SYSTEMS = ["vitis", "rvr"]
MODELS = ["static", "poisson", "skype", "gnutella", "weibull", "pareto", "avt"]
PRINT = """
<script>{
  const summaries = () => [...document.querySelectorAll("details[open] > summary")];
  const hatched = () => document.querySelectorAll("main [fill^=url]").length;
  const open = () => [...summaries().map((one) => one.textContent), `${hatched()} hatched`].join("|");
  const told = [open()];
  for (const event of ["beforeprint", "afterprint"]) {
    dispatchEvent(new Event(event));
    told.push(open());
  }
  document.body.replaceChildren(Object.assign(document.createElement("pre"), {
    textContent: "OPEN" + told.join("\\n") + "OPEN",
  }));
}</script>
"""
"""The script leaves the summaries of what is open, and the number of areas with patterns, before, while and
after the page is printed."""


def report(folder: Path, models: int) -> Path:
    vary = {"system.name": SYSTEMS, "churn.model.kind": MODELS[:models], "peers": [100, 200, 300]}
    return write_report(sweep_run(folder / "run", vary, seeds=2))


@pytest.mark.parametrize("models", [3, 7])
def test_the_comparison_and_groups_of_measures_are_printed_and_values_of_figures_are_not(
    tmp_path: Path, models: int
) -> None:
    page = report(tmp_path, models).read_text()
    folded = re.findall(r"<details([^>]*)><summary>([^<]*)</summary>", page)
    printed = [title for attributes, title in folded if 'class="printed"' in attributes]
    assert printed == ["The comparison in numbers", "Delivery", "Traffic overhead", "Delay", *printed[4:]]
    assert "Values" in {title for _, title in folded} - set(printed)


@pytest.mark.skipif(CHROMIUM is None, reason="no browser is on the PATH")
def test_what_is_printed_is_open_meanwhile_and_closed_afterwards(tmp_path: Path) -> None:
    page = report(tmp_path, 3)
    page.write_text(page.read_text().replace("</body>", f"{PRINT}</body>"))
    command: list[Any] = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu"]
    command += [f"--user-data-dir={tmp_path / 'browser'}", "--dump-dom", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    before, while_printed, after = unescape(done.stdout).split("OPEN")[1].split("\n")
    assert before == after and not before.endswith("|0 hatched")
    assert while_printed.endswith("|0 hatched")
    assert {"The comparison in numbers", "Delivery", "Traffic"} <= set(while_printed.split("|"))
    assert "Values" not in while_printed.split("|") and "The comparison in numbers" not in before.split("|")
