"""Plans of many trials in one file have the rows that each of them has."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from analysis.tables.plan import can_unite, unite_plans
from emulator.experiment.plan.tables import KEPT, SESSIONS


def record(folder: Path, name: str, **columns: list[Any]) -> Any:
    """Write the sessions of a trial, of which those columns are given that matter."""
    schema = SESSIONS.append(KEPT) if "kept" in columns else SESSIONS
    rows = len(columns["peer"])
    full = {field.name: columns.get(field.name, [None] * rows) for field in schema}
    (folder / name).mkdir()
    pq.write_table(pa.table(full, schema=schema), folder / name / "sessions.parquet")
    return SimpleNamespace(name=name, directory=SimpleNamespace(plan=folder / name))


def test_a_column_that_a_plan_lacks_is_null_in_its_rows(tmp_path: Path) -> None:
    records = [record(tmp_path, "a=1", peer=[3, 4]), record(tmp_path, "b", peer=[3], kept=[0])]
    unite_plans(records, "sessions", tmp_path / "united.parquet")
    united = pq.read_table(tmp_path / "united.parquet")
    assert united.select(["trial", "peer", "kept"]).to_pydict() == {
        "trial": ["a=1", "a=1", "b"],
        "peer": [3, 4, 3],
        "kept": [None, None, 0],
    }
    assert can_unite("sessions") and not can_unite("a table of a package")
