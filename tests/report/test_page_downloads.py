"""The buttons of a page: what a reader gets as a file, tried in a browser where there is one."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from html import unescape
from io import StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from sweep_run import sweep_run

from analysis.export.latex import booktabs
from analysis.export.write import export
from analysis.report.report import write_report
from emulator.experiment.run.directory import RunDirectory

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no browser is on the PATH")

PRESS_ALL = """
<script>{
  const blobs = {}, told = [];
  let button;
  const keep = (name, text) => told.push([name, button.getAttribute("aria-label"), text]);
  const make = URL.createObjectURL;
  URL.createObjectURL = (blob) => {
    const address = make.call(URL, blob);
    blobs[address] = blob;
    return address;
  };
  HTMLAnchorElement.prototype.click = function () { keep(this.download, blobs[this.href].text()); };
  for (button of document.querySelectorAll(".take button")) {
    button.click();
    const frame = document.querySelector("body > iframe");
    if (!frame) continue;
    keep(`${button.closest("[id]").id}.html`, frame.srcdoc);
    frame.remove();
  }
  Promise.all(told.map(([, , text]) => text)).then((texts) => {
    const pressed = texts.map((text, i) => [told[i][0], told[i][1], text]);
    document.body.replaceChildren(Object.assign(document.createElement("pre"), {
      textContent: "PRESSED" + JSON.stringify(pressed) + "PRESSED",
    }));
  });
}</script>
"""
"""The script presses every button of a page and leaves what it got in place of the page. What a button gives
to the printer has the ending `.html`."""

PRINT_ONE = """
<script>addEventListener("load", () => {
  [...document.querySelectorAll(".take button")].find((one) => one.textContent === "PDF").click();
  const frame = document.querySelector("body > iframe");
  let asked = 0;
  frame.addEventListener("load", () => {
    frame.contentWindow.dispatchEvent(new Event("afterprint"));
    setTimeout(() => {
      document.title = `ASKED ${asked} LEFT ${document.querySelectorAll("body > iframe").length} ASKED`;
    }, 100);
  });
  const of = Object.getOwnPropertyDescriptor(HTMLIFrameElement.prototype, "contentWindow").get;
  Object.defineProperty(frame, "contentWindow", {
    get() {
      const found = of.call(frame);
      found.print = () => (asked += 1);
      return found;
    },
  });
});</script>
"""
"""The script prints a figure with a printer that counts how often it is asked, and ends at once."""

Pressed = Mapping[str, tuple[str, str]]


def browse(page: Path, script: str, *options: str) -> str:
    """Return what a browser has of a page after a script of a test ran in it."""
    text = page.read_text()
    page.write_text(text.replace("</body>", f"{script}</body>"))
    command: list[Any] = [
        CHROMIUM,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--virtual-time-budget=20000",
        *options,
    ]
    command += [f"--user-data-dir={page.parent / 'browser'}", "--dump-dom", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    page.write_text(text)
    return unescape(done.stdout)


def press_all(page: Path, address: str = "") -> Pressed:
    """Return what each button of a page makes, by the name of the file."""
    script = f"<script>location.hash = {json.dumps(address)}</script>" if address else ""
    delayed = PRESS_ALL.replace("<script>{", '<script>addEventListener("load", () => setTimeout(() => {')
    told = json.loads(
        browse(page, script + delayed.replace("}</script>", "}, 200));</script>")).split("PRESSED")[1]
    )
    return {name: (label, text) for name, label, text in told}


@pytest.fixture(scope="module")
def cache() -> dict[str, Pressed]:
    return {}


@pytest.fixture
def pressed(make_run: Callable[..., RunDirectory], cache: dict[str, Pressed]) -> Pressed:
    """The name for screen readers and the content of each file that a button of a page makes, by its name."""
    if not cache:
        cache["page"] = press_all(write_report(make_run()))
    return cache["page"]


def test_each_figure_is_had_as_svg_and_csv_and_each_table_as_csv(
    pressed: Pressed,
) -> None:
    assert len({name for name in pressed if name.endswith(".svg")}) == 14  # two of them are trees
    label, text = pressed["sweep-hit_ratio.csv"]
    assert label == "Download the figure “hit ratio” as CSV"
    rows = list(csv.reader(StringIO(text)))
    assert rows[0] == ["friends", *("vitis", "vitis, low", "vitis, high"), *("rvr", "rvr, low", "rvr, high")]
    assert [float(cell) for cell in rows[1]] == [4, 0.995, 0.9353, 1, 0.93, 0.8742, 0.9858]
    tree = list(csv.reader(StringIO(pressed["tree-drawing.csv"][1])))
    assert tree[0] == ["peer", "sender", "kind", "hops", "delay_ms"] and tree[1][:3] == [
        "10",
        "",
        "publisher",
    ]
    bars = list(csv.DictReader(StringIO(pressed["maintenance.csv"][1])))
    assert {row["bar"] for row in bars} >= {"vitis, friends 4", "rvr, friends 12"}

    (table,) = [
        each for each in pressed.values() if re.match("Download the table “Measures.*as CSV", each[0])
    ]
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


def exported(run: RunDirectory, folder: Path) -> Callable[[str], str]:
    """Return what reads a file of an export of a run."""
    export(run, folder, [], "3.33in")
    return lambda name: (folder / name).read_text()


def options(tex: str) -> list[str]:
    """Return the lines of the options of an axis, in order of the alphabet."""
    return sorted(tex.split("\\begin{axis}[\n")[1].split("\n]")[0].splitlines())


def looks(tex: str) -> list[list[str]]:
    """Return what is said of each line that is no edge of a band, apart from its place in the CSV."""
    found = re.findall(r"\\addplot\[(trellis.*?)\] (?:table|coordinates)", tex)
    return [
        [part for part in each.split(", ") if not part.startswith(("of=", "mark repeat"))] for each in found
    ]


def test_pgfplots_of_lines_has_what_the_export_writes(
    pressed: Pressed, make_run: Callable[..., RunDirectory], tmp_path: Path
) -> None:
    read = exported(make_run("other"), tmp_path / "export")
    label, tex = pressed["sweep-hit_ratio.tex"]
    assert label == "Download the figure “hit ratio” as PGFPlots"
    other = read("sweep-hit_ratio.tex")
    filtered = [line for line in options(other) if "x filter" not in line]
    assert options(tex) == filtered
    assert looks(tex) == looks(other) and len(looks(tex)) == 2
    for line in (
        "\\addlegendentry{vitis}",
        "\\definecolor{trellis1}{HTML}{B8480C}",
        "fill between[of=low1 and high1]",
    ):
        assert line in tex and line in other
    assert "coordinates {(4,99.5) (8,99.5) (12,99.5)};" in tex
    assert tex.count("{") == tex.count("}")


def test_pgfplots_of_bars_has_what_the_export_writes(
    pressed: Pressed, make_run: Callable[..., RunDirectory], tmp_path: Path
) -> None:
    other = exported(make_run("other"), tmp_path / "export")("maintenance.tex")
    tex = pressed["maintenance.tex"][1]
    assert options(tex) == [line for line in options(other) if "y filter" not in line]
    named = re.findall(r"\\addlegendentry\{.*\}", other)
    assert named and re.findall(r"\\addlegendentry\{.*\}", tex) == named
    above = re.findall(r"\\node\[.*", other)
    assert above and re.findall(r"\\node\[.*", tex) == above
    assert tex.count("postaction={pattern=") == other.count("postaction={pattern=") > 0


def test_latex_of_a_table_has_the_form_of_the_export(pressed: Pressed) -> None:
    (name,) = [name for name, (label, _) in pressed.items() if "table “Measures" in label and ".tex" in name]
    lines = pressed[name][1].splitlines()
    form = "\\begin{tabular}{p{0.21\\linewidth}rrrr}"
    assert lines[1:4] == ["% It needs \\usepackage{booktabs}. This is part 1 of 2.", form, "\\toprule"]
    assert lines[5] == "\\midrule" and lines[-2:] == ["\\bottomrule", "\\end{tabular}"]
    assert "\\multicolumn{5}{l}{\\emph{The trial itself}} \\\\" in lines, "four of six variants fit a line"
    assert "\\multicolumn{3}{l}{\\emph{The trial itself}} \\\\" in lines
    row = next(line for line in lines if "hit ratio" in line)
    assert row.startswith("\\raggedright hit ratio \\% & 99.5\\,$\\pm$\\,6.0 & ") and row.endswith(" \\\\")
    for text in (text for name, (_, text) in pressed.items() if name.endswith(".tex")):
        said = [line for line in text.splitlines() if not line.startswith("%")]
        assert not [
            line
            for line in said
            if re.search(r"(?<!\\)[%#_]", line) and "{HTML}" not in line and "#1" not in line
        ]


def test_latex_of_many_variants_is_that_of_the_export(tmp_path: Path) -> None:
    vary = {
        "system.name": ["vitis", "rvr"],
        "churn.model.kind": ["skype", "poisson", "pareto"],
        "peers": [1, 2, 3],
    }
    pressed = press_all(write_report(sweep_run(tmp_path / "run", vary, seeds=3)))
    found = [name for name, (label, _) in pressed.items() if ".tex" in name and "variant”" in label]
    assert found
    for name in found:
        tex = pressed[name][1]
        columns, *rows = csv.reader(StringIO(pressed[name.replace(".tex", ".csv")][1]))
        said = tex.splitlines()[0].removeprefix("% ")
        assert tex.replace("\\,", " ") == booktabs(columns, rows, said), "but for the thin spaces"


@pytest.mark.parametrize(
    ("name", "title"), [("delay-ms", "Delay of deliveries"), ("maintenance", "Maintenance traffic")]
)
def test_a_figure_is_printed_alone_on_a_page_of_its_size(
    pressed: Pressed, tmp_path: Path, name: str, title: str
) -> None:
    label, document = pressed[f"{name}.html"]
    assert label == f"Print the figure “{title}”, or save it as PDF"
    page = tmp_path / "figure.html"
    page.write_text(document)
    file = tmp_path / "figure.pdf"
    command: list[Any] = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"]
    command += [f"--user-data-dir={tmp_path / 'browser'}", f"--print-to-pdf={file}", page.as_uri()]
    subprocess.run(command, capture_output=True, timeout=120, check=True)
    found = file.read_bytes()
    (box,) = re.findall(rb"/MediaBox \[([^]]*)\]", found)
    drawing = ElementTree.fromstring(pressed[f"{name}.svg"][1])
    size = [float(drawing.attrib[side]) * 0.75 for side in ("width", "height")]
    assert [float(end) for end in box.split()][2:] == pytest.approx(size, abs=1)
    assert b"/Subtype /Image" not in found, "it is drawn by lines"


def test_the_frame_of_a_printed_figure_goes_when_it_is_printed(make_run: Callable[..., RunDirectory]) -> None:
    assert "ASKED 1 LEFT 0 ASKED" in browse(write_report(make_run()), PRINT_ONE)


def test_what_the_filter_leaves_out_is_in_no_file(make_run: Callable[..., RunDirectory]) -> None:
    pressed = press_all(write_report(make_run()), "#&system.name=rvr")
    bars = list(csv.DictReader(StringIO(pressed["maintenance.csv"][1])))
    assert {row["bar"] for row in bars} == {f"rvr, friends {friends}" for friends in (4, 8, 12)}
    for name in ("maintenance.tex", "sweep-hit_ratio.tex", "sweep-hit_ratio.csv", "delay-ms.html"):
        assert "rvr" in pressed[name][1] and "vitis" not in pressed[name][1].split("\n", 1)[1], name


def test_long_names_in_the_legend_of_a_downloaded_drawing_are_folded(tmp_path: Path) -> None:
    names = [f"{word} of sessions and gaps from a trace with a very long name, and some more of it, {word}"
             for word in ("one", "other")]  # fmt: skip
    page = write_report(sweep_run(tmp_path / "run", {"system.name": names}))
    _, svg = press_all(page)["time-hit.svg"]
    texts = [text for each in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
             if each.get("x") == "88" and (text := each.text)]  # fmt: skip
    assert " ".join(texts) == f"A {names[0]} B {names[1]}"
    assert len(texts) > len(names)
