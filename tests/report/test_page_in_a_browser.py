"""A finished report in a browser, in windows of three widths at once: no error in the console, nothing
scrolls sideways, and every control is reached by keyboard.

axe's rules are not among it: axe-core is had by npm alone, which no test needs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_page_downloads import CHROMIUM, browse

from analysis.report.report import write_report
from emulator.experiment.run.directory import RunDirectory

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no browser is on the PATH")

WIDTHS = [1400, 800, 390]
LISTEN = """
<script>
  window.heard = [];
  addEventListener("error", (event) => heard.push(event.message));
  addEventListener("unhandledrejection", (event) => heard.push(String(event.reason)));
  addEventListener("securitypolicyviolation", (event) => heard.push(event.violatedDirective));
  for (const kind of ["error", "warn"]) console[kind] = (...texts) => heard.push(texts.join(" "));
</script>
"""
"""The script keeps what goes wrong in a page from its begin on."""
LOOK = """
<script>addEventListener("load", () => setTimeout(() => {
  for (const each of document.querySelectorAll("details")) each.open = true;
  const wide = document.documentElement.scrollWidth - innerWidth;
  const controls = [...document.querySelectorAll("a[href], button, input, select, summary, [tabindex]")]
    .filter((one) => one.tabIndex >= 0 && !one.disabled && one.checkVisibility({ visibilityProperty: true }));
  const named = (one) => one.outerHTML.slice(0, 100);
  const not_reached = controls.filter((one) => { one.focus(); return document.activeElement !== one; });
  const unseen = controls.filter((one) => {
    one.focus();
    const { outlineStyle, boxShadow } = getComputedStyle(one);
    return outlineStyle === "none" && boxShadow === "none";
  });
  const of_its_own = controls.filter((one) => one.tabIndex > 0);
  parent.postMessage({
    width: innerWidth, wide: Math.max(wide, 0), heard, controls: controls.length,
    not_reached: not_reached.map(named), unseen: unseen.map(named), of_its_own: of_its_own.map(named),
  }, "*");
}, 100));</script>
"""
"""The script tells the page around it how the page is. Focus goes from control to control in their order in
the page, unless one has a place of its own."""
AROUND = """<!doctype html><title>report</title>{frames}
<script>
  const seen = [];
  addEventListener("message", ({{ data }}) => {{
    seen.push(data);
    if (seen.length === {count}) document.title = "SEEN" + JSON.stringify(seen) + "SEEN";
  }});
</script></body>"""


def look(run: RunDirectory, break_it: str = "") -> dict[int, dict[str, Any]]:
    """Return what is seen of a run's report, with further content if it is to be broken, by width."""
    page = write_report(run)
    text = page.read_text().replace("<head>", f"<head>{LISTEN}", 1)
    page.write_text(text.replace("</body>", f"{break_it}{LOOK}</body>"))
    frames = "".join(
        f'<iframe src="{page.name}" style="width: {width}px; height: 900px; border: 0"></iframe>'
        for width in WIDTHS
    )
    around = Path(page.parent / "around.html")
    around.write_text(AROUND.format(frames=frames, count=len(WIDTHS)))
    found = re.search(r"SEEN(\[.*\])SEEN", browse(around, ""), re.DOTALL)
    assert found
    return {seen["width"]: seen for seen in json.loads(found[1])}


def test_a_report_has_no_error_fits_its_window_and_is_used_by_keyboard(
    make_run: Callable[..., RunDirectory],
) -> None:
    found = look(make_run())
    assert sorted(found, reverse=True) == WIDTHS
    for seen in found.values():
        assert seen["heard"] == []
        assert seen["wide"] == 0
        assert seen["controls"] > 40
        assert seen["not_reached"] == seen["unseen"] == seen["of_its_own"] == []


def test_what_is_wrong_with_a_page_is_seen(make_run: Callable[..., RunDirectory]) -> None:
    broken = '<script>console.error("bad")</script><div style="width: 1000px">wide</div>'
    seen = look(make_run(), f'{broken}<a href="#" tabindex="3" style="outline: none">first</a>')[390]
    assert seen["heard"] == ["bad"] and seen["wide"] > 500
    assert len(seen["of_its_own"]) == len(seen["unseen"]) == 1
