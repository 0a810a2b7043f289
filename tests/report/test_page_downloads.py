"""The buttons of a page: what a reader gets as a file, tried in a browser where there is one."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
from collections.abc import Callable, Mapping
from html import unescape
from io import StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from analysis.report.report import write_report
from emulator.experiment.run.directory import RunDirectory

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no browser is on the PATH")

PRESS_ALL = """
<script>{
  const blobs = {}, told = [];
  const make = URL.createObjectURL;
  URL.createObjectURL = (blob) => {
    const address = make.call(URL, blob);
    blobs[address] = blob;
    return address;
  };
  HTMLAnchorElement.prototype.click = function () { told.push([this.download, blobs[this.href].text()]); };
  const buttons = [...document.querySelectorAll(".take button")];
  buttons.forEach((button) => button.click());
  Promise.all(told.map(([, text]) => text)).then((texts) => {
    const pressed = texts.map((text, i) => [told[i][0], buttons[i].getAttribute("aria-label"), text]);
    document.body.replaceChildren(Object.assign(document.createElement("pre"), {
      textContent: "PRESSED" + JSON.stringify(pressed) + "PRESSED",
    }));
  });
}</script>
"""
"""The script presses every button of a page and leaves what it got in place of the page."""


@pytest.fixture
def pressed(make_run: Callable[..., RunDirectory], tmp_path: Path) -> Mapping[str, tuple[str, str]]:
    """The name for screen readers and the content of each file that a button of a page makes, by its name."""
    page = write_report(make_run())
    page.write_text(page.read_text().replace("</body>", f"{PRESS_ALL}</body>"))
    command: list[Any] = [
        CHROMIUM,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--virtual-time-budget=20000",
    ]
    command += [f"--user-data-dir={tmp_path / 'browser'}", "--dump-dom", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    told = json.loads(unescape(done.stdout).split("PRESSED")[1])
    return {name: (label, text) for name, label, text in told}


def test_each_figure_is_had_as_svg_and_csv_and_each_table_as_csv(
    pressed: Mapping[str, tuple[str, str]],
) -> None:
    assert len({name for name in pressed if name.endswith(".svg")}) == 14  # two of them are trees
    label, text = pressed["sweep-hit_ratio.csv"]
    assert label == "Download the figure “hit ratio” as CSV"
    rows = list(csv.reader(StringIO(text)))
    assert rows[0] == ["friends", *("vitis", "vitis, low", "vitis, high"), *("rvr", "rvr, low", "rvr, high")]
    assert [float(cell) for cell in rows[1]] == [4, 99.5, 93.53, 105.47, 93, 87.42, 98.58]
    tree = list(csv.reader(StringIO(pressed["tree-drawing.csv"][1])))
    assert tree[0] == ["peer", "sender", "kind", "hops", "delay_ms"] and tree[1][:3] == [
        "10",
        "",
        "publisher",
    ]
    bars = list(csv.DictReader(StringIO(pressed["maintenance.csv"][1])))
    assert {row["bar"] for row in bars} >= {"vitis, friends 4", "rvr, friends 12"}

    (table,) = [(label, text) for label, text in pressed.values() if "table “Measures" in label]
    measures = list(csv.reader(StringIO(table[1])))
    assert [
        "hit ratio %",
        "99.5 ± 6.0",
        "99.5 ± 6.0",
        "99.5 ± 6.0",
        "93.0 ± 5.6",
        "93.0 ± 5.6",
        "93.0 ± 5.6",
    ] in measures

    drawing = ElementTree.fromstring(pressed["delay-ms.svg"][1])
    words = [part.text for part in drawing.iter("{http://www.w3.org/2000/svg}text")]
    assert "A vitis, friends 4" in words, "the legend is in the file"
    style = "".join(part.text or "" for part in drawing.iter("{http://www.w3.org/2000/svg}style"))
    assert "#0a5f8a" in style and "@media" not in style
    bars_drawn = pressed["maintenance.svg"][1]
    assert 'id="hatch1"' in bars_drawn and "url(#hatch1)" in bars_drawn
