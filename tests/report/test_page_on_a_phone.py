"""A page on a narrow screen, looked at in a browser where there is one."""

from __future__ import annotations

from pathlib import Path

import pytest
from sweep_run import sweep_run
from test_page_downloads import CHROMIUM, browse
from test_paper_limits import judged

from analysis.report.report import write_report

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no browser is on the PATH")

LOOK = """
<script>addEventListener("load", () => {
  const box = (part) => part.getBoundingClientRect();
  const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  const panels = [...document.querySelectorAll(".panels .chart > svg")].filter((svg) => box(svg).width);
  const covered = panels.filter((svg) => {
    const texts = [...svg.querySelectorAll("text")].filter((part) => box(part).width);
    return texts.some((one, i) => texts.slice(i + 1).some((other) => meet(box(one), box(other))));
  });
  const wide = document.documentElement.scrollWidth - innerWidth;
  document.title = `SEEN ${panels.length > 0} ${covered.length} ${Math.max(wide, 0)} SEEN`;
});</script>
"""
"""The script tells how many panels have texts over each other, and how far the page scrolls sideways."""


def test_texts_of_panels_are_beside_each_other_and_nothing_scrolls_sideways(tmp_path: Path) -> None:
    vary = {"system.name": ["vitis", "rvr", "opt", "li"], "network.loss": [0, 0.1], "peers": [100, 200, 300]}
    number = {"measure": "delay_ms", "paper": "some", "low": 1.0}
    results = judged(sweep_run(tmp_path / "run", vary), number, "v0")
    seen = browse(write_report(results.run), LOOK, "--window-size=500,900")
    assert "SEEN true 0 0 SEEN" in seen, seen.partition("</title>")[0][-200:]
