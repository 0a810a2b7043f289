"""The command that shows what an experiment measured over its runs."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from emulator.experiment.run.object_store import is_place
from trellis.command.as_json import Json, say_json
from trellis.command.exits import BROKEN, UserError, endings
from trellis.command.kept_commands import summaries_of
from trellis.command.outcome import out
from trellis.command.steps import need_junit

if TYPE_CHECKING:
    from analysis.report.history import History, Past
    from emulator.experiment.run.directory import RunDirectory

commands = typer.Typer(add_completion=False, rich_markup_mode=None)


@commands.command()
def history(
    experiment: Annotated[
        str, typer.Argument(metavar="EXPERIMENT", help="The name of an experiment, or its file.")
    ],
    folder: Annotated[
        str,
        typer.Option(
            "--in", metavar="FOLDER|PLACE", help="Where run directories are, or s3://bucket/prefix."
        ),
    ] = "runs",
    measures: Annotated[
        list[str] | None,
        typer.Option("--measure", metavar="NAME", help="Repeatable. By default the first six."),
    ] = None,
    as_json: Json = False,
    junit: Annotated[
        Path | None,
        typer.Option("--junit", metavar="FILE", help="Write as JUnit XML what became worse last."),
    ] = None,
) -> None:
    """Show the measures of an experiment over its runs, with the steps between them.

    The exit status is 3 if the last run is worse than the one before.
    """
    with endings():
        need_junit(junit)
        from analysis.charts.results import ResultsError
        from analysis.report.history import histories
        from analysis.report.junit import write_steps

        name = _name_of(experiment)
        try:
            with summaries_of(folder) if is_place(folder) else nullcontext(Path(folder)) as there:
                found = histories(_runs_of(name, there), measures or [])
        except ResultsError as error:
            raise UserError(str(error)) from None
        if junit is not None:
            write_steps(name, found, junit)
        if as_json:
            say_json([asdict(each) | {"past": [_fields(past) for past in each.past]} for each in found])
        else:
            _say_tables(found)
        if any(each.past[-1].step == "worse" for each in found):
            raise typer.Exit(BROKEN)


def _name_of(experiment: str) -> str:
    from emulator.experiment.file.document import ExperimentError, read_document

    file = Path(experiment)
    if not file.is_file():
        return experiment
    try:
        return str(read_document(file).values.get("name") or file.stem)
    except ExperimentError as error:
        raise UserError(str(error)) from None


def _runs_of(name: str, folder: Path) -> list[RunDirectory]:
    """Return the analysed runs of an experiment in a folder. Raises UserError if there is none."""
    from emulator.experiment.file.document import WRITTEN, ExperimentError, read_document
    from trellis.command.local_runs import find_runs

    names: dict[str, list[RunDirectory]] = {}
    for run in find_runs(folder):
        if not run.summary.is_file():
            continue
        try:
            names.setdefault(str(read_document(run.experiment, WRITTEN).values.get("name")), []).append(run)
        except ExperimentError as error:
            raise UserError(str(error)) from None
    if name not in names:
        there = f"There are runs of {', '.join(sorted(names))}" if names else "There is none at all"
        raise UserError(f'no analysed run in {folder} is of the experiment "{name}". {there}')
    return names[name]


def _fields(past: Past) -> dict[str, object]:
    return asdict(past) | {"run": str(past.run)}


def _say_tables(found: list[History]) -> None:
    from rich.table import Table
    from rich.text import Text

    from analysis.charts.numerals import estimate, shown_unit, with_seeds

    for each in found:
        unit = f", {shown_unit(each.unit)}" if each.unit else ""
        table = Table(title=f"{each.label}: {each.title}{unit}", title_justify="left")
        for heading in ("run", "analysed", "version"):
            table.add_column(heading, overflow="fold")
        table.add_column(each.measure, justify="right", no_wrap=True)
        table.add_column("step")
        for past in each.past:
            value = with_seeds(estimate(past.value.mean, past.value.half, each.unit), past.value.told_seeds)
            style = {"better": "green", "worse": "red"}.get(past.step, "")
            cells = (past.run.name, past.created[:16], past.version, value)
            table.add_row(*map(Text, cells), Text(past.step, style))
        out.print(table)
