"""The page of tables is held against the code; `test_analysis_*` hold it against tables that were made."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from tables_page import TYPES, described

from analysis.contract.workload_analysis import INTERESTS
from analysis.contract.workload_kinds import named, own
from analysis.tables.completions import COMPLETIONS
from analysis.tables.observations import GAUGES, OBSERVATIONS

SCHEMAS = {
    "interests": INTERESTS,
    "completions": COMPLETIONS,
    "gauges": GAUGES,
    "observations": OBSERVATIONS,
} | {table.name: table.schema for kind in named(own())[0] for table in kind.analysis.tables}
UNITS = {"_s": "s", "_ms": "ms", "bytes": "bytes", "hops": "hops"}


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_page_has_the_columns_of_each_schema_in_the_code(name: str) -> None:
    told = ", ".join(f"{column.name} {column.type}" for column in described()[name].columns)
    assert f"trial string, {told}" == SCHEMAS[name]


def test_each_table_of_the_page_has_a_writer_that_is_there() -> None:
    root = Path(__file__).parent.parent
    missing = [table.writer for table in described().values() if not (root / table.writer).is_file()]
    assert not missing
    assert len(described()) == 47


def test_units_are_those_that_names_of_columns_have() -> None:
    for name, table in described().items():
        for column in table.columns:
            for ending, unit in UNITS.items():
                if column.name.endswith(ending) and column.name != "bit_s":
                    assert column.unit.startswith(unit), f"{name}.{column.name}"


@pytest.mark.parametrize("name", described())
def test_the_query_of_each_table_uses_columns_that_it_has(name: str) -> None:
    """A table without rows is enough to find a column that is not there."""
    whats = dict.fromkeys(("trial", "variant", "system"), "string") | {"seed": "int"}
    types = whats | {column.name: column.type for column in described()[name].columns}
    frame = pd.DataFrame({of: pd.Series(dtype=TYPES[kind].to_pandas_dtype()) for of, kind in types.items()})
    eval(described()[name].query, {"__builtins__": {}}, {name: frame})
