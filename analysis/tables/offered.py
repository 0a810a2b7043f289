"""The tables that kinds of workload and packages bring, and the trials that each covers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analysis.contract.packages import Brought, brought
from analysis.contract.tables import Table
from analysis.contract.trials import TrialRecord
from analysis.contract.workload_kinds import Kind
from analysis.tables.in_making import TablesInMaking

_LATER = ("series", "delay_cdf")
"""The names that are taken though those tables are made last."""
Offered = tuple[Brought[Table], list[TrialRecord]]


def of_kinds(
    known: Sequence[Kind], records: Sequence[TrialRecord], making: TablesInMaking
) -> Iterator[Offered]:
    """Yield the tables of kinds of workload, each once, with the trials of the kinds that have it."""
    found: dict[Table, tuple[Kind, list[str]]] = {}
    for kind in known:
        for table in kind.analysis.tables:
            found.setdefault(table, (kind, []))[1].append(kind.name)
    taken = dict.fromkeys((*making, *_LATER), "")
    for table, (kind, names) in found.items():
        what = f'the table "{table.name}" of the workload "{kind.name}"'
        mine = Brought(table, what, kind.package)
        those = [r for r in records if r.serves in names and table.applies(r.serves, r.spec.system.name)]
        if _free(mine, taken, making) and (those or not kind.package):
            yield mine, those


def of_packages(records: Sequence[TrialRecord], making: TablesInMaking) -> Iterator[Offered]:
    """Yield the tables that packages bring by entry points, each with its trials, if there are any."""
    found, refused = brought("tables", Table)
    making.troubles += refused
    taken = dict.fromkeys(making, "")
    for mine in found:
        those = [r for r in records if mine.item.applies(r.serves, r.spec.system.name)]
        if _free(mine, taken, making) and those:
            yield mine, those


def _free(mine: Brought[Table], taken: dict[str, str], making: TablesInMaking) -> bool:
    """Return whether the table's name is free, and take it."""
    name = mine.item.name
    if name in taken:
        who = f"the package {taken[name]} has" if taken[name] else "this run has already"
        making.troubles.append(mine.refused(f"its name is that of a table that {who}. Rename it"))
        return False
    taken[name] = mine.package
    return True
