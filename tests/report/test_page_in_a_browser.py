"""A finished report in a browser, in windows of three widths, light and dark: no error in the console,
nothing scrolls sideways, and every control is reached by the tab key and shows it.

`test_page_by_axe.py` holds a report against the rules of axe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from chromium_pipe import Chromium
from test_page_downloads import CHROMIUM

from analysis.report.report import write_report
from emulator.experiment.run.directory import RunDirectory

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no browser is on the PATH")

WIDTHS = [1400, 800, 390]
LISTEN = """
  window.heard = [];
  addEventListener("error", (event) => heard.push(event.message));
  addEventListener("unhandledrejection", (event) => heard.push(String(event.reason)));
  addEventListener("securitypolicyviolation", (event) => heard.push(event.violatedDirective));
  for (const kind of ["error", "warn"]) console[kind] = (...texts) => heard.push(texts.join(" "));
"""
"""The script keeps what goes wrong in a page from its begin on."""
BEGIN = """
  for (const each of document.querySelectorAll("details")) each.open = true;
  window.reached = [];
  window.named = (one) => one.outerHTML.slice(0, 100);
  const native = "a[href], button, input, select, textarea, summary, [tabindex]:not([tabindex='-1'])";
  window.controls = [...document.querySelectorAll(native)]
    .filter((one) => !one.disabled && one.checkVisibility({ visibilityProperty: true }));
"""
"""The script opens all parts and remembers what a reader has to reach, whatever `tabindex` it has."""
STEP = """(() => {
  const one = document.activeElement;
  if (!one || one === document.body || one === document.documentElement || reached.includes(one)) return true;
  const { outlineStyle, boxShadow } = getComputedStyle(one);
  if (outlineStyle === "none" && boxShadow === "none") (window.unseen ??= []).push(named(one));
  reached.push(one);
  return false;
})()"""
"""The script notes which part has the focus, and returns whether it was there before or has left the page."""
END = """(() => {
  const places = reached.filter((one) => controls.includes(one)).map((one) => controls.indexOf(one));
  const [red, green, blue] = getComputedStyle(document.documentElement).backgroundColor.match(/\\d+/g);
  return {
    heard, wide: Math.max(document.documentElement.scrollWidth - innerWidth, 0), width: innerWidth,
    not_reached: controls.filter((one) => !reached.includes(one)).map(named), unseen: window.unseen ?? [],
    in_order: places.every((place, i) => !i || place > places[i - 1]), controls: controls.length,
    brightness: (+red + +green + +blue) / 3,
  };
})()"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    assert CHROMIUM is not None
    with Chromium(CHROMIUM, tmp_path_factory.mktemp("browser")) as found:
        found.do("Page.addScriptToEvaluateOnNewDocument", source=LISTEN)
        found.do("Emulation.setFocusEmulationEnabled", enabled=True)
        yield found


def look(browser: Chromium, page: Path, width: int, scheme: str) -> dict[str, Any]:
    """Return what is seen of a page in a window of a width, while a reader goes through it by the tab key."""
    browser.do(
        "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False
    )
    browser.do("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.open(page)
    browser.value(BEGIN)
    browser.press_tab()
    while not browser.value(STEP):
        browser.press_tab()
    seen: dict[str, Any] = browser.value(END)
    return seen


def test_a_report_has_no_error_fits_its_window_and_is_used_by_keyboard(
    make_run: Callable[..., RunDirectory], browser: Chromium
) -> None:
    page = write_report(make_run())
    for width, scheme in [*((width, "light") for width in WIDTHS), (390, "dark")]:
        seen = look(browser, page, width, scheme)
        assert seen["width"] == width
        assert seen["heard"] == seen["not_reached"] == seen["unseen"] == []
        assert seen["wide"] == 0 and seen["in_order"]
        assert seen["controls"] > 40
        assert (seen["brightness"] < 80) == (scheme == "dark")


def test_what_is_wrong_with_a_page_is_seen(make_run: Callable[..., RunDirectory], browser: Chromium) -> None:
    page = write_report(make_run())
    text = page.read_text()
    broken = (
        '<script>console.error("bad")</script><div style="width: 1000px">wide</div>'
        '<a href="#" tabindex="3" style="outline: none; box-shadow: none">first</a>'
        '<button id="never" tabindex="-1">never</button>'
    )
    page.write_text(text.replace("</body>", f"{broken}</body>"))
    seen = look(browser, page, 390, "light")
    assert seen["heard"] == ["bad"] and seen["wide"] > 500
    assert len(seen["unseen"]) == 1 and not seen["in_order"]
    assert [each[:19] for each in seen["not_reached"]] == ['<button id="never" ']

    trap = '<script>addEventListener("keydown", (event) => event.preventDefault())</script>'
    page.write_text(text.replace("</body>", f"{trap}</body>"))
    assert len(look(browser, page, 390, "light")["not_reached"]) > 30
