"""A finished report by the rules of axe, in a wide window in light and a narrow one in dark.

Needs in TRELLIS_AXE the file axe.min.js of axe-core, which npm provides.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from chromium_pipe import Chromium
from test_page_downloads import CHROMIUM

from analysis.report.report import write_report
from emulator.experiment.run.directory import RunDirectory

AXE = os.environ.get("TRELLIS_AXE")

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no browser is on the PATH"),
    pytest.mark.skipif(not AXE, reason="TRELLIS_AXE names no file of axe-core"),
]

FIND = """
  for (const each of document.querySelectorAll("details")) each.open = true;
  axe.run(%s, { resultTypes: ["violations"] }).then(({ violations, passes }) => JSON.stringify({
    found: violations.flatMap((one) => one.nodes.map((node) => `${one.id}: ${node.html.slice(0, 100)}`)),
    passes: passes.length,
  }))
"""
"""The script opens a page's parts and returns what axe finds wrong in one, and how many rules it meets."""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    assert CHROMIUM is not None
    with Chromium(CHROMIUM, tmp_path_factory.mktemp("browser")) as found:
        yield found


def found_by_axe(
    browser: Chromium, page: Path, width: int, scheme: str, part: str = "document", rules: int = 15
) -> list[str]:
    """Return what axe finds wrong with a part of a page, of which more than so many rules say something."""
    assert AXE is not None
    browser.do(
        "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False
    )
    browser.do("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.open(page)
    browser.value(Path(AXE).read_text())
    told = json.loads(browser.value(FIND % part))
    assert told["passes"] > rules
    found: list[str] = told["found"]
    return found


def test_axe_finds_nothing_in_a_report(make_run: Callable[..., RunDirectory], browser: Chromium) -> None:
    page = write_report(make_run())
    for width, scheme in ((1400, "light"), (390, "dark")):
        assert found_by_axe(browser, page, width, scheme) == []


def test_axe_finds_what_is_wrong_with_a_page(
    make_run: Callable[..., RunDirectory], browser: Chromium
) -> None:
    page = write_report(make_run())
    bad = '<img src="data:,"><p style="color: #888; background: #999">pale</p><button></button>'
    broken = f'<div id="bad">{bad}</div>'
    page.write_text(page.read_text().replace("</body>", f"{broken}</body>"))
    found = {each.partition(":")[0] for each in found_by_axe(browser, page, 1400, "light", "'#bad'", 0)}
    assert {"image-alt", "color-contrast", "button-name"} <= found
