"""The section of the report on links."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.charts.results import Results
from analysis.contract.figures import Rows
from analysis.report.link_section import LINKS
from emulator.experiment.run.directory import RunDirectory

ROW: dict[str, Any] = {
    "class": "", "way": "up", "peers": 200, "bit_s": 2_000_000, "load": 0.5, "load_max": 0.9,
    "wait_ms": 2.0, "wait_p99_ms": 9.0, "wait_max_ms": 10.0, "drops": 3,
}  # fmt: skip


@pytest.mark.parametrize(
    ("more", "shown"),
    [({"achieved": 1_990_000.0}, "1.99 ± 0 Mbit/s"), ({"achieved": None}, ""), ({}, "")],
    ids=["measured", "not measured", "of an earlier version"],
)
def test_the_rate_that_was_achieved_stands_beside_the_rate(
    make_run: Callable[..., RunDirectory], more: dict[str, float | None], shown: str
) -> None:
    run = make_run()
    for trial in ("vitis.friends=4-1", "vitis.friends=4-2"):
        folder = run.tables / "link_load" / f"trial={trial.replace('=', '%3D')}"
        folder.mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist([ROW | more]), folder / "part-00000.parquet")
    _, table = LINKS.write(Results.read(run))
    assert isinstance(table, Rows)
    assert table.columns[3:5] == ("Rate", "Achieved")
    rate, achieved = (
        cell.replace("\u2009", " ").replace("\N{NO-BREAK SPACE}", " ") for cell in table.rows[0][3:5]
    )
    assert (rate, achieved) == ("2 Mbit/s", shown)
