"""The section of the report that tells of the time before, during and after each fault and the attack."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, Final

from analysis.charts.numerals import estimate as estimate_text
from analysis.charts.numerals import number, quantity, unit_beside
from analysis.charts.results import Results
from analysis.contract.figures import Block, Rows, Section, Text
from analysis.measures.variant_results import estimate
from analysis.report.over_seeds import mean_text, seeds, told
from emulator.faults.spec import ATTACK

_ABOUT = (
    "Events count where they were published, lookups and whatever else was asked for where it began: before "
    "a fault, while it lasts, and from its end on, within the measure phase. Other faults may hold in these "
    "times too. The table phases of the run has further measures."
)
_ATTACK = "What the attackers do stands among the faults, by the name attack."
_RECOVERY = (
    "How long after the end of each fault values are at most 1 % worse than they were before the first "
    "one, and stay so until the next. A crash for ever counts as ended when it begins. Other faults that "
    "never end are left out, as are faults that end before or after the measure phase or while another one "
    "holds."
)
_NONE_BEFORE = "No fault has a recovery, because nothing was measured before the first fault."
_SOME_BEFORE = "A dash is where nothing was measured before the first fault."
_MAINTENANCE = (
    "Maintenance is measured in whole intervals of the time series, and a fault shorter than two intervals "
    "may have none of them: then there is no value for the time during the fault."
)
_SHOWN_MAINTENANCE = ("maintenance_messages_per_s", "maintenance_bytes_per_s")
_FEW_VARIANTS = 4
"""The most variants of which the times of a fault are told one by one."""
_SIDES = ("before", "during", "after")
_FURTHER = ("_median", "_p90", "_max", "_fewest", "_50", "_90", "_99")
"""The ends of the names of measures that the table has and the report leaves out."""
_BACK = {
    "Hit ratio back": ("hit_ratio_before", "recovery_s"),
    "Lookups back": ("lookup_success_before", "lookup_recovery_s"),
    "Maintenance back": ("maintenance_before", "maintenance_recovery_s"),
}
"""The columns of a recovery: the value before the first fault, and the time until it is back."""
Labelled = tuple[str, Mapping[str, Any]]
"""The label of a variant, empty if there is no other one, and a row of `phases` of one of its seeds."""


def _write(results: Results) -> Iterator[Block]:
    if not results.has("phases"):
        return
    by_fault: dict[str, list[Labelled]] = {}
    for label, trials in seeds(results):
        for trial in trials:
            for row in results.rows("phases", trial):
                of_fault = by_fault.setdefault(row["fault"], [])
                of_fault.append((label if len(results.variants) > 1 else "", row))
    if not by_fault:
        return
    about = f"{_ABOUT} {_ATTACK}" if ATTACK in by_fault else _ABOUT
    yield Text(told(about, results, "Numbers"))
    yield from _recovery(results, by_fault)
    for fault, rows in sorted(by_fault.items(), key=lambda each: _begin(each[1])):
        yield Text(f"{fault}: {_when(rows)}.")
        yield Rows(("Measure", *map(str.capitalize, _SIDES)), _phases(results, rows))
        if _lacks_maintenance(rows):
            yield Text(_MAINTENANCE)
        if of_regions := _phases(results, [each for each in rows if each[1]["region"]], by_region=True):
            yield Rows((f"Measure, by region: {fault}", *map(str.capitalize, _SIDES)), of_regions)


def _lacks_maintenance(rows: Sequence[Labelled]) -> bool:
    """Return whether a trial has maintenance before or after the fault, but none during it."""
    of_all = [row for _, row in rows if row["measure"] in _SHOWN_MAINTENANCE and not row["region"]]
    return any(row["phase"] == "during" and row["value"] is None for row in of_all)


def _begin(rows: Sequence[Labelled]) -> float:
    """Return the time (s) at which the fault of these rows begins, that of the measure phase at least."""
    begins = {row["phase"]: row["begins_s"] for _, row in rows}
    return float(begins.get("during", begins.get("after", math.inf)))


def _when(rows: Sequence[Labelled]) -> str:
    """Return the times of the phases, those of each variant if they differ and there are few."""
    found: dict[str, set[tuple[str, float, float]]] = {}
    for label, row in rows:
        found.setdefault(label, set()).add((row["phase"], row["begins_s"], row["ends_s"]))
    if any(len({side for side, _, _ in times}) < len(times) for times in found.values()):
        return "its times differ by seed"
    each = {label: _times(times) for label, times in found.items()}
    if len(set(each.values())) == 1:
        return next(iter(each.values()))
    if len(each) > _FEW_VARIANTS:
        return "its times differ by variant"
    told = "; ".join(f"of {label}, {times}" for label, times in each.items())
    return f"its times differ by variant; {told}"


def _times(phases: Set[tuple[str, float, float]]) -> str:
    """Return the times of the phases of one variant in words."""
    ordered = sorted(phases, key=lambda each: _SIDES.index(each[0]))
    return ", ".join(f"{side} is {begins:g} to {ends:g} s" for side, begins, ends in ordered)


def _phases(results: Results, rows: Sequence[Labelled], by_region: bool = False) -> list[tuple[str, ...]]:
    """Return a row for each measure, variant and region with its value before, during and after a fault."""
    found: dict[tuple[str, str, str], dict[str, list[float | None]]] = {}
    for label, row in rows:
        if bool(row["region"]) == by_region and _is_shown(results, row, by_region):
            sides = found.setdefault((row["measure"], label, row["region"] or ""), {})
            sides.setdefault(row["phase"], []).append(row["value"])
    order = list(results.measures)
    return [
        (
            ", ".join(part for part in (_title(results, name), label, region) if part),
            *(_cell(sides.get(side, []), _unit(results, name)) for side in _SIDES),
        )
        for (name, label, region), sides in sorted(found.items(), key=lambda each: order.index(each[0][0]))
    ]


def _is_shown(results: Results, row: Mapping[str, Any], by_region: bool) -> bool:
    """Return whether a measure stands in the report: those of which less or more is better, and of regions
    shares and 99th percentiles alone."""
    name = row["measure"]
    about = results.measures.get(name)
    if about is None or about["better"] is None or name.endswith(_FURTHER):
        return False
    return not by_region or row["unit"] == "share" or name.endswith("_p99")


def _title(results: Results, name: str) -> str:
    title = str(results.measures[name]["title"])
    unit = unit_beside(title, _unit(results, name))
    return f"{title} ({unit})" if unit else title


def _cell(of_seeds: Sequence[float | None], unit: str) -> str:
    """Return the mean over the seeds that have a value with its interval, without the unit."""
    values = [value for value in of_seeds if value is not None]
    if not values:
        return number(None)
    found = estimate(values)
    return estimate_text(found.mean, found.ci95, unit)


def _unit(results: Results, name: str) -> str:
    return str(results.measures[name]["unit"])


def _recovery(results: Results, by_fault: Mapping[str, Sequence[Labelled]]) -> Iterator[Block]:
    """Yield the table of how long it took until all was as before, or why there is none if faults end.

    `by_fault` has the rows of `phases`.
    """
    if not results.has("recoveries"):
        return
    found: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for label, trials in seeds(results):
        for trial in trials:
            for row in results.rows("recoveries", trial):
                found.setdefault((row["fault"], label), []).append(row)
    every = [row for rows in found.values() for row in rows]
    columns = {
        title: names for title, names in _BACK.items() if any(row[names[0]] is not None for row in every)
    }
    if not columns:
        sides = [{row["phase"] for _, row in rows} for rows in by_fault.values()]
        if every or any("before" not in of_fault for of_fault in sides):
            yield Text(_NONE_BEFORE)
        return
    lacking = any(row[before] is None for row in every for before, _ in columns.values())
    yield Text(f"{_RECOVERY} {_SOME_BEFORE}" if lacking else _RECOVERY)
    several = len(results.variants) > 1
    yield Rows(
        ("Fault", "Ended", *columns),
        [
            (
                f"{fault}, {label}" if several else fault,
                _ended([row["ends_s"] for row in rows]),
                *(_back(rows, *names) for names in columns.values()),
            )
            for (fault, label), rows in sorted(found.items(), key=lambda each: each[1][0]["ends_s"])
        ],
    )


def _ended(of_seeds: Sequence[float]) -> str:
    """Return when a fault ended: the first and the last time if they differ by seed."""
    first, last = quantity(min(of_seeds), "s"), quantity(max(of_seeds), "s")
    return first if first == last else f"{first} to {last}"


def _back(rows: Sequence[Mapping[str, Any]], before: str, since: str) -> str:
    """Return the mean time over the seeds in which the value came back, and in how many it did not."""
    known = [row for row in rows if row[before] is not None]
    never = sum(row[since] is None for row in known)
    after = mean_text([row[since] for row in known], "s")
    if not known:
        return number(None)
    return "; ".join(part for part in (after, f"not in {never} of {len(known)}" if never else "") if part)


BY_FAULT: Final = Section("Before, during and after faults and attacks", _write, "Phases", "phases")
