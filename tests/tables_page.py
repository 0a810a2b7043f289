"""Reads what `docs/tables.md` says of tables, and compares the tables of a run with it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds

from emulator.experiment.run.directory import RunDirectory

PAGE = Path(__file__).parent.parent / "docs" / "tables.md"
_SECTION = re.compile(r"^### (\w+)\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
_COLUMN = re.compile(r"^\| `(\w+)`(\?)? \| (\w+) \| (\S*) ?\| (.+) \|$", re.MULTILINE)
TYPES = {
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
}


@dataclass(frozen=True)
class Column:
    """A column of a table as the page has it; `type` is that of Spark's DDL."""

    name: str
    nullable: bool
    type: str
    unit: str
    meaning: str


@dataclass(frozen=True)
class Described:
    """A table as the page has it."""

    columns: list[Column]
    writer: str
    query: str


@cache
def described() -> dict[str, Described]:
    """Return all tables of the page by their names."""
    found = {}
    for name, text in _SECTION.findall(PAGE.read_text()):
        columns = [Column(of, bool(null), *rest) for of, null, *rest in _COLUMN.findall(text)]
        (writer,) = re.findall(r"`(analysis/\S+\.py)` writes it\.", text)
        (query,) = re.findall(r"```python\n(.*?)\n```", text, re.DOTALL)
        found[name] = Described(columns, writer, query)
    return found


def columns_of(table: str) -> list[tuple[str, str]]:
    """Return the columns and types of a table of the page, as a data frame of Spark tells its own."""
    return [("trial", "string"), *((column.name, column.type) for column in described()[table].columns)]


def differences(run: RunDirectory) -> list[str]:
    """Return where the files of a run's tables are not as the page says."""
    found = []
    for folder in sorted(run.tables.iterdir()):
        if folder.name not in described():
            found.append(f"{folder.name} is not on the page")
            continue
        files = sorted(folder.glob("*/*.parquet"))
        if not files:
            continue
        rows = ds.dataset(files, format="parquet").to_table()
        says = described()[folder.name].columns
        expected = {column.name: TYPES[column.type] for column in says}
        there = {field.name: field.type for field in rows.schema}
        if list(expected.items()) != list(there.items()):
            found.append(f"{folder.name} has {there}, and the page says {expected}")
        found += [
            f"{folder.name}.{column.name} has nulls, and the page says that it has none"
            for column in says
            if not column.nullable and column.name in there and rows[column.name].null_count
        ]
    return found
