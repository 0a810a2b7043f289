"""A finished run gives a Python program its figures, comparisons, claims and fidelity."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import trellis
from analysis.charts.results import ResultsError
from emulator.experiment.run.directory import RunDirectory


@pytest.fixture
def run(make_run: Callable[..., RunDirectory]) -> trellis.Run:
    return trellis.Run(make_run().path)


def test_a_figure_is_had_by_its_name_with_its_values_and_as_a_file(run: trellis.Run, tmp_path: Path) -> None:
    assert {"sweep-hit_ratio", "delay-ms", "maintenance", "tree"} <= set(run.figures)
    figure = run.figure("sweep-hit_ratio")
    assert figure.title == "hit ratio" and repr(figure) == "<Figure sweep-hit_ratio: hit ratio>"
    assert figure.data.columns.tolist() == ["number", "series", "x", "y", "low", "high"]
    of_rvr = figure.data[figure.data.series == "rvr"]
    assert of_rvr.x.tolist() == [4, 8, 12] and of_rvr.y.tolist() == pytest.approx([0.93, 0.93, 0.93])
    figure.save(tmp_path / "hits.pdf", "84mm")
    assert (tmp_path / "hits.pdf").read_bytes().startswith(b"%PDF")
    with pytest.raises(ValueError, match=r"\.svg or \.pdf"):
        figure.save(tmp_path / "hits.png")
    with pytest.raises(ValueError, match=r'"84" is no width\. Write a number and in, cm, mm or pt'):
        figure.save(tmp_path / "hits.pdf", 84)  # type: ignore[arg-type]
    with pytest.raises(KeyError, match="the figures are sweep-hit_ratio"):
        run.figure("hits")


def test_the_values_of_a_tree_are_its_peers(run: trellis.Run) -> None:
    rows = run.figure("tree").data.set_index("peer")
    assert rows.loc[13, ["sender", "kind", "hops"]].tolist() == [12, "subscriber", 2]
    assert rows.loc[13, "delay_ms"] == pytest.approx(40)
    assert rows.loc[10, "kind"] == "publisher"


def test_variants_are_compared_by_a_key(run: trellis.Run) -> None:
    found = (
        run.compare(between="system.name").set_index(["setting", "measure"]).loc[("friends 8", "hit_ratio")]
    )
    assert (found["base"], found["other"], found["seeds"]) == ("vitis", "rvr", 2)
    assert found["difference"] == pytest.approx(0.93 - 0.995)
    assert found["reading"] == "lower by the same at each of 2 seeds; 6 seeds would show it"
    assert set(run.compare("system.name", base="rvr").other) == {"vitis"}
    with pytest.raises(ResultsError, match="peers is not varied"):
        run.compare("peers")


def test_claims_fidelity_and_measures_are_data_frames(run: trellis.Run) -> None:
    claims = run.claims.set_index("number")
    assert claims.loc["delay", ["claim", "outcome", "number_outcome"]].tolist() == [
        "V2", "other setting", "missed",
    ]  # fmt: skip
    assert claims.loc["delay", "mean"] == 516
    late = run.fidelity[run.fidelity.check == "timer lateness, 99th percentile"]
    assert len(late) == 12 and late.ok.all() and (late.limit == 100).all()
    assert set(late.system) == {"vitis", "rvr"} and set(late.seed) == {1, 2}
    assert run.measures.loc["delay_ms", ["unit", "better"]].tolist() == ["ms", "lower"]
    assert run.measures.loc["delay_ms", "about"] == "Mean time from publication to delivery."


def test_a_table_without_rows_is_an_empty_data_frame(run: trellis.Run) -> None:
    (run.path / "tables" / "interests").mkdir()
    assert len(run.tables["interests"]) == 0


def test_tables_carry_what_their_trials_are(run: trellis.Run) -> None:
    rows = run.tables["deliveries"]
    assert rows.columns.tolist()[:5] == [
        "trial",
        "variant",
        "system",
        "system.name",
        "system.parameters.friends",
    ]
    assert len(rows) == 12 * 4
    of_one = rows[(rows.system == "rvr") & (rows["system.parameters.friends"] == 8) & (rows.seed == 2)]
    assert set(of_one.trial) == {"rvr.friends=8-2"} and of_one.peer.tolist() == [10, 11, 13, 14]
