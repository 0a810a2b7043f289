"""`trellis export` writes figures and tables, the same ones whenever and wherever it runs."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from analysis.charts.bars import Row, bar_chart
from analysis.charts.chart import Point, Quantity, Series, line_chart
from analysis.charts.results import Results, ResultsError
from analysis.charts.time_line import Mark
from analysis.export.draw import draw, drawn_file
from analysis.export.figures import figures_of
from analysis.export.latex import booktabs, escaped
from analysis.export.lines import draw_lines
from analysis.export.style import COLOURS, dash, inches, style
from analysis.export.write import export
from analysis.report import page
from analysis.report.shown import Shown
from emulator.experiment.run.directory import RunDirectory
from trellis.command.cli import app

MakeRun = Callable[..., RunDirectory]


def exported(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["export", *map(str, arguments)])


@pytest.fixture
def run(make_run: MakeRun) -> RunDirectory:
    """A run of six variants whose experiment file the command accepts."""
    made = make_run()
    text = made.experiment.read_text()
    made.experiment.write_text(text.replace("  system.parameters.friends: [4, 8, 12]\n", ""))
    return made


def test_each_figure_and_each_table_of_the_report_is_written_in_each_form(run: RunDirectory) -> None:
    done = exported(run.path)
    assert done.exit_code == 0, done.output
    folder = run.path / "export"
    anchors = set(re.findall(r'<figure class="chart \w+" id="([^"]+)"', page_of(run)))
    assert anchors and {f"{name}.{kind}" for name in anchors for kind in ("svg", "pdf", "csv", "tex")} <= {
        path.name for path in folder.iterdir()
    }
    for table in ("table-measures", "table-comparison", "table-fidelity", "table-claims", "table-trials"):
        assert (folder / f"{table}.csv").is_file() and (folder / f"{table}.tex").is_file()


def page_of(run: RunDirectory) -> str:
    from analysis.report.report import write_report

    return write_report(run).read_text()


def test_the_index_tells_of_each_file_what_it_shows_and_how_it_is_made_anew(run: RunDirectory) -> None:
    both = ["--figure", "sweep-hit_ratio", "--figure", "table-fidelity"]
    assert exported(run.path, "--width", "84 mm", *both).exit_code == 0
    folder = run.path / "export"
    entries = json.loads((folder / "index.json").read_text())["files"]
    assert {entry["file"] for entry in entries} == {p.name for p in folder.iterdir()} - {"index.json"}
    (entry,) = [entry for entry in entries if entry["file"] == "sweep-hit_ratio.pdf"]
    assert entry["shows"] == "hit ratio" and entry["run"] == run.path.name and entry["valid"] is True
    assert entry["y"] == {"title": "hit ratio", "unit": "share"} and entry["series"] == ["vitis", "rvr"]
    assert entry["command"].endswith("--figure sweep-hit_ratio --width 84mm")
    before = (folder / entry["file"]).read_bytes()
    (folder / entry["file"]).unlink()
    assert exported(*entry["command"].split()[2:]).exit_code == 0
    assert (folder / entry["file"]).read_bytes() == before
    assert json.loads((folder / "index.json").read_text())["files"] == entries


def test_the_same_run_gives_the_same_bytes(run: RunDirectory, tmp_path: Path) -> None:
    """Another process writes them too: what a process drew before, and the order of sets, must not matter."""
    only = ["sweep-overhead", "maintenance", "tree"]
    export(run, tmp_path / "one", only, "3.33in")
    code = "import sys; from pathlib import Path; from analysis.export.write import export; "
    code += "from emulator.experiment.run.directory import RunDirectory; "
    code += "export(RunDirectory(Path(sys.argv[1])), Path(sys.argv[2]), sys.argv[3:], '3.33in')"
    command = [sys.executable, "-c", code, run.path, tmp_path / "two", *only]
    subprocess.run(command, check=True, capture_output=True)
    one, two = ({p.name: p.read_bytes() for p in (tmp_path / n).iterdir()} for n in ("one", "two"))
    assert one == two
    assert not [name for name, content in one.items() if b"CreationDate" in content or b"dc:date" in content]


def test_a_figure_has_the_width_that_is_asked_for(run: RunDirectory, tmp_path: Path) -> None:
    assert exported(run.path, "--to", tmp_path, "--figure", "delay-ms").exit_code == 0
    assert 'width="239.76pt"' in (tmp_path / "delay-ms.svg").read_text()
    assert f"--to {tmp_path} --width 3.33in" in (tmp_path / "delay-ms.tex").read_text()
    assert exported(run.path, "--to", tmp_path, "--figure", "delay-ms", "--width", "10cm").exit_code == 0
    assert 'width="283.464567pt"' in (tmp_path / "delay-ms.svg").read_text()


@pytest.mark.parametrize("width", ["3.33", "wide", "-3in", "0.2in", "900cm"])
def test_a_width_that_is_none_is_refused_with_what_may_be_written(run: RunDirectory, width: str) -> None:
    done = exported(run.path, f"--width={width}")
    assert done.exit_code == 2 and "--width" in done.output and "in" in done.output
    assert not (run.path / "export").exists()


def test_widths_are_read_in_their_units() -> None:
    assert inches("3.33in") == 3.33
    assert inches("25.4 mm") == pytest.approx(1)
    assert inches("5.08cm") == pytest.approx(2)
    assert inches("240pt") == pytest.approx(3.321, abs=1e-3)


def test_a_figure_that_is_not_there_is_named_with_those_that_are(run: RunDirectory) -> None:
    done = exported(run.path, "--figure", "delays")
    assert done.exit_code == 2
    assert "no figure or table delays" in done.output and "delay-ms" in done.output
    assert "table-measures" in done.output


def test_the_values_of_a_figure_are_those_that_were_measured(run: RunDirectory, tmp_path: Path) -> None:
    export(run, tmp_path, ["sweep-hit_ratio"], "3.33in")
    with (tmp_path / "sweep-hit_ratio.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["series"], float(row["x"]), float(row["y"])) for row in rows][:2] == [
        ("vitis", 4, 0.995),
        ("vitis", 8, 0.995),
    ]
    assert float(rows[0]["low"]) == pytest.approx(0.995 * 0.94)


def test_the_measures_as_rows_carry_system_variant_and_what_was_varied(
    run: RunDirectory, tmp_path: Path
) -> None:
    export(run, tmp_path, ["table-measures", "table-trials"], "3.33in")
    with (tmp_path / "table-measures.csv").open(newline="") as file:
        (row,) = [
            row
            for row in csv.DictReader(file)
            if row["variant"] == "rvr.friends=8" and row["measure"] == "hit_ratio"
        ]
    assert row["system"] == "rvr" and row["system.parameters.friends"] == "8"
    assert (row["mean"], row["ci95"], row["seeds"], row["unit"]) == ("0.93", "0.0558", "2", "share")
    with (tmp_path / "table-trials.csv").open(newline="") as file:
        trial = next(csv.DictReader(file))
    assert (trial["system"], trial["seed"], trial["hit_ratio"]) == ("vitis", "1", "0.995")


def test_an_invalid_run_says_so_in_what_is_exported(make_run: MakeRun, tmp_path: Path) -> None:
    export(make_run(invalid=True), tmp_path, ["delay-ms", "table-measures"], "3.33in")
    entries = json.loads((tmp_path / "index.json").read_text())["files"]
    assert all(entry["valid"] is False and entry["reasons"] for entry in entries)
    for name in ("delay-ms.tex", "table-measures.tex"):
        assert (tmp_path / name).read_text().startswith("% THE RUN IS INVALID.")


def test_an_index_that_is_none_is_not_overwritten_by_a_part(run: RunDirectory, tmp_path: Path) -> None:
    (tmp_path / "index.json").write_text("[]")
    with pytest.raises(ResultsError, match=r"index\.json is no index of an export"):
        export(run, tmp_path, ["delay-ms"], "3.33in")
    assert (tmp_path / "index.json").read_text() == "[]"


def test_intervals_over_seeds_are_bands_around_lines() -> None:
    points = [Point(1, 10, 2), Point(2, 12, 1), Point(3, 9)]
    chart = line_chart("n", "t", "a", Quantity("x"), Quantity("y"), [Series("s", points)])
    assert chart is not None
    with style():
        (axes,) = draw_lines(chart, 3).axes
        (band,) = axes.collections
    (path,) = band.get_paths()
    assert {(1.0, 8.0), (1.0, 12.0), (2.0, 13.0), (3.0, 9.0)} <= {tuple(at) for at in path.vertices.tolist()}


def test_each_series_differs_in_more_than_its_colour() -> None:
    series = [Series(f"s{i}", [Point(1, i), Point(2, i)]) for i in range(6)]
    chart = line_chart("n", "t", "a", Quantity("x"), Quantity("y"), series)
    assert chart is not None
    with style():
        (axes,) = draw_lines(chart, 3).axes
        assert len({line.get_marker() for line in axes.lines}) == 6
    assert len({dash(number) for number in range(6)}) == 6


def test_any_name_is_drawn_and_compiled_as_text() -> None:
    name = r"$x_1$ & 100 % \of {it} #1 <b>"
    chart = bar_chart("n", "t", "a", Quantity(name), [name, "b"], [Row(name, [1, 2])])
    lines = line_chart(
        "n", "t", "a", Quantity(name), Quantity("y"), [Series(name, [Point(1, 1)]), Series("b", [])],
        marks=[Mark(1, name)],
    )  # fmt: skip
    assert chart is not None and lines is not None
    for drawn in (chart, lines):
        assert drawn_file(drawn, "svg", 3).startswith(b"<?xml")
    assert escaped(name) == (r"\$x\_1\$ \& 100 \% \textbackslash{}of \{it\} \#1 $<$b$>$")


def test_a_table_for_latex_has_rules_headings_and_aligned_numbers() -> None:
    text = booktabs(("measure", "a_b"), (("Delay",), ("p99 (ms)", "41 ± 2")), "a table\nof a run")
    assert text.splitlines() == [
        "% a table of a run",
        r"% It needs \usepackage{booktabs}.",
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"measure & a\_b \\",
        r"\midrule",
        r"\multicolumn{2}{l}{\emph{Delay}} \\",
        r"p99 (ms) & 41 $\pm$ 2 \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_figures_on_paper_have_the_colours_of_the_page() -> None:
    css = (Path(page.__file__).parent / "templates" / "style.css").read_text()
    light = css[: css.index("@media")]
    assert tuple(re.findall(r"--c\d: (#\w+)", light)) == COLOURS


def test_every_kind_of_chart_is_drawn(run: RunDirectory) -> None:
    results = Results.read(run)
    figures = figures_of(results, Shown.by(results))
    assert {type(figure.chart).__name__ for figure in figures.values()} == {
        "LineChart",
        "BarChart",
        "Drawing",
    }
    for figure in figures.values():
        with style():
            assert draw(figure.chart, 3).get_figwidth() == 3


def test_only_the_export_imports_matplotlib(run: RunDirectory) -> None:
    code = (
        "import sys, analysis.report.report, trellis, trellis.run, trellis.command.cli; "
        "print('matplotlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_without_matplotlib_the_command_says_what_to_install(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in [name for name in sys.modules if name.startswith(("analysis.export", "matplotlib"))]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = exported(run.path)
    assert done.exit_code == 2
    for way in ("pip install matplotlib", "uv tool install --with matplotlib trellis-...whl"):
        assert way in done.output
