"""The filter of a sweep's page: what is shown of a choice, tried in a browser where there is one."""

from __future__ import annotations

import json
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from sweep_run import sweep_run

from analysis.charts.results import Results
from analysis.report.drawn_variants import drawn_variants
from analysis.report.report import write_report
from analysis.report.variant_filter import variant_filter

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
in_a_browser = pytest.mark.skipif(CHROMIUM is None, reason="no browser is on the PATH")
SYSTEMS = ["vitis", "rvr"]
MODELS = ["static", "poisson", "skype", "gnutella"]
VARY = {"system.name": SYSTEMS, "churn.model.kind": MODELS}

LOOK = """
<script>{
  const texts = (selector) => [...document.querySelectorAll(selector)].map((one) => one.textContent.trim());
  const look = () => ({
    address: location.hash,
    said: document.querySelector("#filter [role=status]").textContent,
    sentences: texts(".sentences li:not([data-out])"),
    bars: texts("#sweep-hit_ratio .row:not([data-out]) .row-label"),
    panels: texts("#time-hit .chart:not([data-out]) h4"),
    legend: texts("#time-hit > .legend li:not([data-out])"),
    lines: texts("#time-hit .chart:not([data-out]) .series:not([data-out])").length,
    rows: texts("#measures details:first-of-type table:first-of-type tbody tr:not([data-out]) th"),
  });
  const looks = [look()];
  const box = (key, value) => document.querySelector(`#filter [name="${key}"][value="${value}"]`);
  box("system.name", 0).click();
  looks.push(look());
  document.querySelector("#filter [type=reset]").click();
  looks.push(look());
  const told = document.createElement("pre");
  told.textContent = "LOOKS" + JSON.stringify(looks) + "LOOKS";
  document.body.replaceChildren(told);
}</script>
"""
"""The script looks at what is shown, chooses one more value, and shows all again."""


def looks_at(page: Path, fragment: str, folder: Path) -> list[dict[str, Any]]:
    page.write_text(page.read_text().replace("</body>", f"{LOOK}</body>"))
    command: list[Any] = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu"]
    command += [f"--user-data-dir={folder / 'browser'}", "--dump-dom", page.as_uri() + fragment]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    looks: list[dict[str, Any]] = json.loads(unescape(done.stdout).split("LOOKS")[1])
    return looks


@in_a_browser
def test_figures_tables_and_answers_show_the_chosen_variants_alone(tmp_path: Path) -> None:
    page = write_report(sweep_run(tmp_path / "run", VARY, seeds=2))
    first, chosen, every = looks_at(page, "#figures&churn.model.kind=poisson,skype", tmp_path)
    assert first["said"].startswith("4 of 8 variants are shown: model poisson, skype.")
    names = ["vitis, poisson", "vitis, skype", "rvr, poisson", "rvr, skype"]
    assert (first["bars"], first["rows"]) == (names, names)
    assert (first["panels"], first["lines"]) == (["poisson", "skype"], 4)
    assert (
        first["sentences"][0]
        == "Hit ratio is between 92.5\N{NO-BREAK SPACE}% (vitis, poisson) and 98.8\N{NO-BREAK SPACE}% "
        "(rvr, skype)."
    )
    where = "rvr beside vitis in 2 settings (2 seeds, ± is the 95 % interval)"
    assert first["sentences"][4].startswith(f"{where}: Hit ratio better in all (largest +5.0")

    assert chosen["address"] == "#figures&system.name=vitis&churn.model.kind=poisson,skype"
    assert chosen["legend"] == ["vitis"]
    assert (chosen["bars"], chosen["lines"]) == (["vitis, poisson", "vitis, skype"], 2)
    assert not any("beside" in sentence for sentence in chosen["sentences"])

    assert (every["address"], every["said"]) == ("#figures", "")
    assert len(every["bars"]) == len(every["rows"]) == 8
    assert every["panels"] == MODELS
    assert "in 4 settings" in every["sentences"][4]


@in_a_browser
def test_the_filter_of_a_large_sweep_says_what_has_no_curve_and_how_to_see_it(tmp_path: Path) -> None:
    vary = {"system.name": SYSTEMS, "peers": list(range(100, 2600, 100))}
    run = sweep_run(tmp_path / "run", vary)
    page = write_report(run)
    some, one, every = looks_at(page, "#system.name=rvr", tmp_path)
    drawn = [Results.read(run).labels[name] for name in drawn_variants(Results.read(run)).names]
    of_rvr = [label for label in drawn if label.startswith("rvr")]
    assert some["said"].startswith(
        "25 of 50 variants are shown: system rvr. Sentences, measures and heat maps"
    )
    assert f"curves and bars of {len(of_rvr)} of them: {'; '.join(of_rvr)}." in some["said"]
    assert "A run of at most 40 variants draws each: leave other values out of vary." in some["said"]
    assert one["said"].startswith("50 of 50 variants are shown")
    assert every["said"] == ""


def test_without_its_script_the_page_shows_all_and_no_filter(tmp_path: Path) -> None:
    page = write_report(sweep_run(tmp_path / "run", VARY)).read_text()
    assert '<form class="filter" id="filter" hidden' in page
    assert "data-out" not in page[page.index("<main>") : page.index("</main>")]


def test_names_of_variants_and_of_parts_of_them_say_which_values_they_are_of(tmp_path: Path) -> None:
    results = Results.read(sweep_run(tmp_path / "run", {**VARY, "network.loss": [0.0, 0.1]}))
    found = variant_filter(results, ["hit_ratio"], [], [])
    assert found is not None
    assert [(key["label"], key["values"]) for key in found["keys"]] == [
        ("system", SYSTEMS),
        ("model", MODELS),
        ("loss", ["0 %", "10 %"]),
    ]
    assert found["labels"]["rvr, skype, loss 10 %"] == (1, 2, 1)
    assert found["labels"]["rvr, loss 10 %"] == (1, -1, 1)
    assert found["labels"]["skype"] == (-1, 2, -1)
    assert found["measures"]["hit_ratio"]["means"][-1] == 100


def test_a_name_with_two_meanings_is_of_no_variant(tmp_path: Path) -> None:
    vary = {"system.name": ["vitis", "x"], "workload.kind": ["x", "topics"]}
    found = variant_filter(Results.read(sweep_run(tmp_path / "run", vary)), [], [], [])
    assert found is not None
    assert "x" not in found["labels"]
    assert found["labels"]["x, topics"] == (1, 1)


def test_a_run_of_two_variants_has_no_filter(tmp_path: Path) -> None:
    assert variant_filter(Results.read(sweep_run(tmp_path / "run", {"peers": [1, 2]})), [], [], []) is None
