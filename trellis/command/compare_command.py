"""The command that shows runs, or the variants of one run, beside each other."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trellis.command.as_json import Json, say_json
from trellis.command.exits import UserError, endings, readable
from trellis.command.outcome import need_summary, out

if TYPE_CHECKING:
    from analysis.charts.results import Results
    from analysis.report.between import Pairing
    from analysis.report.compare import Comparison

commands = typer.Typer(add_completion=False, rich_markup_mode=None)


@commands.command()
def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run directories.")],
    between: Annotated[
        str | None,
        typer.Option("--between", metavar="KEY", help="Compare the variants of one run by this varied key."),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option("--base", metavar="VALUE", help="The value of KEY that others are compared with."),
    ] = None,
    measures: Annotated[
        list[str] | None,
        typer.Option("--measure", metavar="NAME", help="Only this measure, such as delay_ms. Repeatable."),
    ] = None,
    everything: Annotated[
        bool,
        typer.Option("--all", help="List measures that are equal or leave open whether they differ, too."),
    ] = False,
    page: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="The page to write.")] = None,
    as_json: Json = False,
) -> None:
    """Show the measures of runs beside those of the first one, or of the variants of one run.

    Equal measures are counted and not listed. Where there are more than four settings, so are those of which
    it cannot be said whether they differ. --all and --measure list them; --json always has them.
    """
    with endings():
        from rich.text import Text

        from analysis.charts.results import Results, ResultsError
        from analysis.report.between import pairings
        from analysis.report.compare import compare as compare_runs
        from analysis.report.compare_table import comparison_tables
        from analysis.report.pairing_table import pairing_tables
        from emulator.experiment.run.runs import open_run

        _check_sides(runs, between, base, page)
        opened = [open_run(run)[0] for run in runs]
        for directory in opened:
            need_summary(directory)
        first, *others = opened
        try:
            with readable(*opened):
                if measures:
                    _check_measures(measures, [Results.read(run) for run in opened])
                pairs = [] if between is None else pairings(Results.read(first), between, base)
                comparisons = [compare_runs(first, other, page) for other in others]
                if measures:
                    pairs = [_chosen(pair, measures) for pair in pairs]
                    comparisons = [
                        replace(each, rows=[row for row in each.rows if row.measure in measures])
                        for each in comparisons
                    ]
                if as_json:
                    fields = [_pairing(pair) for pair in pairs] or [_comparison(each) for each in comparisons]
                    say_json(fields)
                    return
                parts = pairing_tables(pairs, everything or bool(measures))
                if between is not None:
                    parts += map(Text, _said_of_the_others(Results.read(first), pairs, between))
                for comparison in comparisons:
                    parts += comparison_tables(comparison, everything or bool(measures))
                for part in parts:
                    out.print(part)
        except ResultsError as error:
            raise UserError(str(error)) from None


def _check_sides(runs: list[Path], between: str | None, base: str | None, page: Path | None) -> None:
    """Refuse what cannot be compared."""
    if between is not None and len(runs) != 1:
        raise UserError("--between compares the variants of one run. Name one run directory")
    if between is None and len(runs) < 2:
        raise UserError(
            "name two or more run directories, or compare the variants of one run by --between, "
            "such as --between system.name"
        )
    if between is None and base is not None:
        raise UserError("--base is a value of the key that --between names. Give --between, too")
    if page is not None and len(runs) != 2:
        raise UserError("--out writes the page of two runs. Name two run directories")


def _check_measures(measures: list[str], runs: list[Results]) -> None:
    """Refuse a measure that none of the runs has."""
    from emulator.experiment.file.keys import suggestion

    known = {name for results in runs for name in results.measures}
    for name in measures:
        if name not in known:
            raise UserError(f'no measure is called "{name}". {suggestion(name, known)}')


def _said_of_the_others(results: Results, pairs: list[Pairing], key: str) -> list[str]:
    """Return what is said of variants that are compared with none."""
    from analysis.report.counterparts import without_counterpart
    from analysis.report.outcome import alone

    if not pairs:
        return [f"Nothing is compared: no two variants differ in {key} alone. Name another key"]
    return alone(without_counterpart(results, [pair.variants for pair in pairs]), key)


def _chosen(pair: Pairing, measures: list[str]) -> Pairing:
    return replace(pair, differences=[each for each in pair.differences if each.measure in measures])


def _pairing(pair: Pairing) -> dict[str, Any]:
    """Return two variants of one run, with the sentence on each measure."""
    differences = [
        asdict(each) | {"relative": each.relative, "reading": each.reading} for each in pair.differences
    ]
    return asdict(pair) | {"differences": differences}


def _comparison(comparison: Comparison) -> dict[str, Any]:
    """Return two runs, with the difference and the sentence on each measure."""
    fields = asdict(comparison)
    for side, told in (("a", comparison.a), ("b", comparison.b)):
        fields[side]["path"] = str(told.path)
    for row, told_row in zip(fields["rows"], comparison.rows, strict=True):
        row |= {key: getattr(told_row, key) for key in ("difference", "relative", "reading")}
    return fields
