"""The table of the report on messages that the network's loss took."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.parquet as pq

from analysis.charts.results import Results
from analysis.contract.figures import Rows
from analysis.report.lost_by_type import lost_by_type
from emulator.experiment.run.directory import RunDirectory

OF = {"kind": "maintenance", "channel": "", "traffic": "maintenance"}


def test_each_type_has_the_share_that_was_lost_of_it_the_most_first(
    make_run: Callable[..., RunDirectory],
) -> None:
    run = make_run()
    for trial, lost in (("vitis.friends=4-1", 3), ("vitis.friends=4-2", 5)):
        folder = run.tables / "lost_messages" / f"trial={trial.replace('=', '%3D')}"
        folder.mkdir(parents=True, exist_ok=True)
        rows = [
            {"message": "Ping", "sent": 10, "lost": 1, "lost_bytes": 9} | OF,
            {"message": "Pong", "sent": 40, "lost": lost, "lost_bytes": 90} | OF,
            {"message": "Pong", "sent": 10, "lost": 1, "lost_bytes": 10} | OF,
        ]
        pq.write_table(pa.Table.from_pylist(rows), folder / "part-00000.parquet")
    none = run.tables / "lost_messages" / "trial=rvr.friends%3D4-1"
    none.mkdir()
    kept = pa.Table.from_pylist([{"message": "Ping", "sent": 10, "lost": 0, "lost_bytes": 0} | OF])
    pq.write_table(kept, none / "part-00000.parquet")
    _, table = lost_by_type(Results.read(run))
    assert isinstance(table, Rows)
    texts = [[" ".join(cell.split()) for cell in row[1:7]] for row in table.rows]
    assert [row[0] for row in texts] == ["Pong", "Ping"]
    assert texts[0][1] == "50.0 ± 0"
    assert texts[0][2].startswith("5 ")
    assert texts[0][3].startswith("10 ") and texts[0][3].endswith("%")
    assert texts[0][5] == "maintenance" and table.rows[0][7] == "root"


def test_a_run_without_loss_has_no_such_table(make_run: Callable[..., RunDirectory]) -> None:
    assert not list(lost_by_type(Results.read(make_run())))
