"""The tables of a run's report: as they are shown, and as rows for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from analysis.charts.numerals import number, quantity, unit_beside
from analysis.charts.results import Results
from analysis.contract.figures import Rows
from analysis.export.figures import figures_of, free_name
from analysis.report.between import HOW_TO_READ, Pairing
from analysis.report.measures_section import groups_of_page, measure_groups
from analysis.report.outcome import outcome
from analysis.report.report import absence_rows, check_rows
from analysis.report.shown import Shown

DIFFERENCES: Final = (
    *("key", "base", "other", "setting", "measure", "title", "unit", "better"),
    *("base_mean", "other_mean", "difference", "ci95", "seeds", "of_seeds", "relative", "reading"),
)

_MOST_COLUMNS: Final = 6
"""The most variants that stand beside each other in LaTeX; more have rows."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the report."""

    id: str
    title: str
    about: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    """The values for programs; None where nothing was measured."""
    headings: Sequence[str]
    texts: Sequence[Sequence[str]]
    """The rows as the page shows them. A row of one text is a heading of those below it."""


def tables_of(results: Results, shown: Shown) -> dict[str, Table]:
    """Return all tables of a report that have a row, by their names, in its order. None has the name of a
    figure."""
    found = [
        _comparison(results),
        _fidelity(results),
        _absences(results),
        _measures(results),
        _trials(results),
        _expectations(results),
        claims_table(results),
        *_of_sections(shown),
    ]
    figures = figures_of(results, shown)
    named = [replace(table, id=free_name(table.id, figures)) for table in found if table.rows]
    return {table.id: table for table in named}


def _comparison(results: Results) -> Table:
    """Return the head's pairs of variants, with all their measures for programs."""
    came_out = outcome(results, [group.rows for group in groups_of_page(results)])
    texts = []
    for pair, told in came_out.pairs:
        texts.append([", ".join(text for text in (f"{pair.other} beside {pair.base}", pair.setting) if text)])
        texts += [[_titled(each.title, each.unit), *each.texts, each.brief] for each in told]
    return Table(
        "table-comparison", "Variants beside each other",
        "Compared seed by seed, with the half width of the mean difference's 95 % confidence interval "
        "(Student's t). Values are in the measure's unit; a share is between 0 and 1. "
        + f"{HOW_TO_READ} {came_out.not_decided}".strip(),
        DIFFERENCES, difference_rows(came_out.key, [pair for pair, _ in came_out.pairs]),
        ("measure", "base", "other", "difference", "relative", "reading"), texts,
    )  # fmt: skip


def difference_rows(key: str, pairs: Sequence[Pairing]) -> list[tuple[Any, ...]]:
    """Return a row of `DIFFERENCES` for each measure of each pair of variants that differ in a key."""
    return [
        (
            *(key, pair.base, pair.other, pair.setting),
            *(each.measure, each.title, each.unit, each.better),
            *(
                each.base,
                each.other,
                each.by.mean,
                each.by.ci95,
                each.by.n,
                each.seeds,
                each.relative,
                each.reading,
            ),
        )
        for pair in pairs
        for each in pair.differences
    ]


def _fidelity(results: Results) -> Table:
    found = list(check_rows(results.trials))
    names = {
        trial["trial"]: f"{results.labels.get(trial['variant'], trial['variant'])}, seed {trial['seed']}"
        for trial in results.trials
    }
    verdicts = [
        "beyond the limit" if check.failed else "not measured" if check.measured is None else "within"
        for check in found
    ]
    return Table(
        "table-fidelity", "Fidelity",
        "Each check once, in the trial that came closest to its limit.",
        ("check", "unit", "measured", "limit", "verdict", "trial", "failed_trials", "unmeasured_trials"),
        [
            (c.name, c.unit, c.measured, c.limit, verdict, c.trial, c.failed, c.unmeasured)
            for c, verdict in zip(found, verdicts, strict=True)
        ],
        ("check", "measured", "limit", "verdict", "trial"),
        [
            (
                *(c.name, quantity(c.measured, c.unit), quantity(c.limit, c.unit)),
                *(verdict, names.get(c.trial, c.trial)),
            )
            for c, verdict in zip(found, verdicts, strict=True)
        ],
    )  # fmt: skip


def _absences(results: Results) -> Table:
    found = list(absence_rows(results.trials))
    return Table(
        "table-absences", "Peers that were away",
        "Their hosts died, so they were not up as planned. Times are seconds of trial time.",
        ("trial", "host", "peers", "from_s", "until_s", "back"),
        [(a.trial, a.host, a.peers, a.from_s, a.until_s, a.back) for a in found],
        ("trial", "host", "peers", "from", "until", "joined again"),
        [
            (
                *(a.trial, a.host, number(a.peers)),
                *(quantity(a.from_s, "s"), quantity(a.until_s, "s"), number(a.back)),
            )
            for a in found
        ],
    )  # fmt: skip


def _measures(results: Results) -> Table:
    keys = _identity_columns(results, results.variants)
    labels = [results.labels[variant["variant"]] for variant in results.variants]
    by_variant = len(labels) > _MOST_COLUMNS
    rows: list[Sequence[Any]] = []
    texts: list[Sequence[str]] = []
    for group in measure_groups(results):
        if not by_variant:
            texts.append([group.title])
        for name, title, _, cells in group.rows:
            about = results.measures[name]
            titled = _titled(title, about["unit"])
            texts += [[titled], *zip(labels, cells, strict=True)] if by_variant else [[titled, *cells]]
            for variant in results.variants:
                found = variant["measures"].get(name) or {}
                identity = results.identity(variant)
                what = (name, title, group.title, about["unit"], about.get("better"))
                numbers = (
                    found.get("mean"),
                    found.get("ci95"),
                    found.get("n"),
                    results.seeds[variant["variant"]],
                )
                rows.append((*(identity.get(key) for key in keys), *what, *numbers))
    return Table(
        "table-measures", "Measures",
        "Means over the seeds with the half width of their 95 % confidence interval (Student's t). "
        "Values are in the measure's unit; a share is between 0 and 1.",
        (*keys, "measure", "title", "group", "unit", "better", "mean", "ci95", "seeds", "of_seeds"),
        rows, ("variant", "mean") if by_variant else ("measure", *labels), texts,
    )  # fmt: skip


def _trials(results: Results) -> Table:
    keys = _identity_columns(results, results.trials)
    names = [name for name in results.measures if any(name in trial["measures"] for trial in results.trials)]
    rows = [
        (
            trial["trial"], *(results.identity(trial).get(key) for key in keys), trial["seed"],
            trial["state"], *(trial["measures"].get(name) for name in names),
        )
        for trial in results.trials
    ]  # fmt: skip
    told = [
        (results.labels.get(t["variant"], t["variant"]), str(t["seed"]), t["state"], "; ".join(t["reasons"]))
        for t in results.trials
    ]
    return Table(
        "table-trials", "Trials",
        "Every trial, with every measure in its unit; a share is between 0 and 1.",
        ("trial", *keys, "seed", "state", *names), rows, ("variant", "seed", "state", "reasons"), told,
    )  # fmt: skip


def _expectations(results: Results) -> Table:
    found = results.summary.get("expectations") or []
    texts = [
        (each["text"], "yes" if each["holds"] else f"not in {len(each['broken'])} of {each['trials']}")
        for each in found
    ]
    rows = [
        (each["text"], each["holds"], each["trials"], " ".join(one["trial"] for one in each["broken"]))
        for each in found
    ]
    about = "Each condition is for each trial; those that broke it are named."
    columns = ("expected", "holds", "trials", "broken_in")
    return Table(
        "table-expectations", "What was expected", about, columns, rows, ("expected", "holds"), texts
    )


def claims_table(results: Results) -> Table:
    """Return the verdicts over claims: a row for each number, and for each variant that it is of."""
    rows: list[Sequence[Any]] = []
    for claim in results.claims:
        head = (claim["id"], claim["statement"], claim["outcome"])
        for each in claim["numbers"]:
            for of, found in (each["measured"] or {"": {}}).items():
                found = found or {}
                measured = (found.get("mean"), found.get("ci95"), found.get("n"))
                rows.append(
                    (*head, each["what"], each["paper"], each["unit"], each["outcome"], of, *measured)
                )
        if not claim["numbers"]:
            rows.append((*head, *[None] * 8))
    texts = [(claim["id"], claim["statement"], claim["outcome"], _why(claim)) for claim in results.claims]
    return Table(
        "table-claims", "The paper's claims",
        "Each number of each claim, with what was measured of each variant in the number's unit.",
        ("claim", "statement", "outcome", "number", "paper", "unit", "number_outcome", "of", "mean", "ci95",
         "seeds"),
        rows, ("claim", "statement", "holds", "why"), texts,
    )  # fmt: skip


def _why(claim: Mapping[str, Any]) -> str:
    differs = claim.get("differs")
    setting = f"Not the paper's setting: {'; '.join(differs)}." if differs else ""
    return " ".join(part for part in (setting, claim.get("why") or "") if part)


def _of_sections(shown: Shown) -> Iterator[Table]:
    """Yield the tables of sections; the second one of a section has a number."""
    for section in shown.sections:
        tables = [block for _, blocks in section.blocks for block in blocks if isinstance(block, Rows)]
        for count, block in enumerate(tables, 1):
            name = f"table-{section.name}" + (f"-{count}" if count > 1 else "")
            yield Table(name, section.title, "", block.columns, block.rows, block.columns, block.rows)


def _identity_columns(results: Results, each: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return variant, system and all varied keys."""
    return list(dict.fromkeys(key for one in each for key in results.identity(one)))


def _titled(title: str, unit: str) -> str:
    beside = unit_beside(title, unit)
    return f"{title} ({beside})" if beside else title
