"""The export writes files that LaTeX compiles and that fit a page. The tests need no LaTeX."""

from __future__ import annotations

import re
from pathlib import Path

from sweep_run import sweep_run

from analysis.charts.bars import Row, bar_chart
from analysis.charts.chart import Quantity
from analysis.export.bars import draw_bars
from analysis.export.latex import booktabs, escaped
from analysis.export.pgfplots import pgfplots
from analysis.export.style import style
from analysis.export.write import export


def test_signs_that_latex_reads_at_the_begin_of_a_row_or_does_not_know_are_written_out() -> None:
    assert escaped("[a] * b >= 1 | c ≤ 5 µs → 2 °") == (
        r"{[}a] {*} b $\geq$ 1 \textbar{} c $\leq$ 5 $\mu$s $\rightarrow$ 2 $^\circ$"
    )


def test_a_table_for_latex_folds_long_texts_so_that_it_fits_a_line() -> None:
    words = "no difference shown; about 4 seeds would show one of this size"
    columns = ("measure", "base", "other", "difference", "relative", "reading")
    row = ("Hit ratio in the worst interval (%)", "96.6", "74.4", "-22 ± 28", "-22.9 %", words)
    text = booktabs(columns, [row], "")
    folded = [float(share) for share in re.findall(r"p\{([\d.]+)\\linewidth\}", text)]
    assert len(folded) == 2 and sum(folded) < 0.6
    assert rf"\raggedright {words} \tabularnewline" in text, "the last cell may not take \\\\ for its own"


def test_a_table_that_is_wider_than_a_line_is_parted_by_its_columns() -> None:
    columns = ("variant", *(f"hit ratio in the worst interval {i} (%)" for i in range(9)))
    rows = [("Delivery",), *((f"vitis, mean session {i} s", *["99.5 ± 6.0"] * 9) for i in range(2))]
    parts = booktabs(columns, rows, "All.").split(r"\bigskip")
    assert len(parts) > 1
    heads = [line for part in parts for line in part.splitlines() if "shortstack" in line]
    assert [len(re.findall("shortstack", head)) for head in heads] == [4, 4], (
        "the third part has one column, which fits"
    )
    assert r"\shortstack[r]{hit ratio \\ in the \\ worst \\ interval 0 \\ (\%)}" in heads[0]
    for number, part in enumerate(parts, 1):
        assert f"% All.\n% It needs \\usepackage{{booktabs}}. This is part {number} of 3." in part
        assert "vitis, mean session 1 s & " in part and r"l}{\emph{Delivery}} \\" in part


def test_each_part_has_the_columns_that_tell_its_rows_apart() -> None:
    columns = ("variant", "message", *(f"what was counted of it, {i}" for i in range(5)))
    rows = [
        (name, message, *["195,088 ± 60,996"] * 5)
        for name in ("vitis", "rvr")
        for message in ("Pull", "Push")
    ]
    parts = booktabs(columns, rows, "").split(r"\bigskip")
    assert len(parts) > 1
    assert all("vitis & Pull & " in part and "rvr & Push & " in part for part in parts)


def test_a_table_that_fits_a_line_is_whole() -> None:
    text = booktabs(("variant", "hit ratio (%)"), [("vitis", "99.5 ± 6.0")], "All.")
    assert "shortstack" not in text and "Part" not in text and r"\begin{tabular}{lr}" in text


def test_long_names_are_folded_above_the_bars_of_pgfplots() -> None:
    name = "scribe-pastry, poisson, mean session 60 s, mean gap 20 s, loss 5 %"
    chart = bar_chart("n", "t", "a", Quantity("hops"), ["hops"], [Row(name, [1.0]), Row("chord", [2.0])])
    assert chart is not None
    text = pgfplots(chart, "n.csv", 3.33, "")
    names = re.findall(r"anchor=west.*\{(.*)\};", text)
    assert names[0].replace(r"\\", " ") == name.replace("%", r"\%") and r"\\" in names[0]
    assert names[1] == "chord"
    with style():
        lower = draw_bars(chart, 7).get_figheight()
        assert draw_bars(chart, 3.33).get_figheight() > lower, "names of two lines need higher rows"


def test_a_run_of_many_variants_has_a_row_for_each_in_the_table_of_measures(tmp_path: Path) -> None:
    run = sweep_run(tmp_path / "run", {"system.name": ["vitis", "rvr"], "peers": [1, 2, 3, 4]})
    export(run, tmp_path / "out", ["table-measures"], "3.33in")
    text = (tmp_path / "out/table-measures.tex").read_text()
    assert r"{tabular}{lr}" in text or r"{longtable}{lr}" in text
    assert r"\multicolumn{2}{l}{\emph{Hit ratio (\%)}}" in text
    assert r"rvr, peers 4 & " in text
