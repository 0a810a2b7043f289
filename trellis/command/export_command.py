"""The command that writes the figures and tables of a run as files for a paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from emulator.files.input_facts import counted
from trellis.command.exits import UserError, endings, err, readable
from trellis.command.outcome import need_summary, out
from trellis.command.steps import need_writable

commands = typer.Typer(add_completion=False, rich_markup_mode=None)


@commands.command()
def export(
    target: Annotated[Path, typer.Argument(metavar="RUNDIR", help="A run directory.")],
    folder: Annotated[
        Path | None,
        typer.Option("--to", metavar="DIR", help="Where the files are written. Default: RUNDIR/export."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--figure", metavar="ID", help="Write only this figure or table. Repeatable."),
    ] = None,
    width: Annotated[
        str,
        typer.Option("--width", metavar="WIDTH", help="The width of figures, in in, cm, mm or pt."),
    ] = "3.33in",
) -> None:
    """Write the figures of a run as SVG, PDF, CSV and PGFPlots, and its tables as CSV and LaTeX.

    Figures have text of 8 points and, unless --width says otherwise, the width of a column of a paper,
    3.33 inches. The file index.json says of each file what it shows, and how it is made anew.
    """
    with endings():
        from analysis.charts.results import ResultsError
        from emulator.experiment.run.runs import open_run

        directory = open_run(target)[0]
        need_summary(directory)
        if folder is None:
            need_writable(directory)
        try:
            from analysis.export.style import inches
            from analysis.export.write import export as write
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] != "matplotlib":
                raise
            raise UserError(
                "figures are drawn by matplotlib, which is not installed. Install it beside Trellis: pip "
                "install matplotlib, or, if uv or pipx has installed Trellis, uv tool install --with "
                "matplotlib trellis-...whl or pipx inject trellis matplotlib"
            ) from None
        try:
            inches(width)
        except ValueError as error:
            raise UserError(f"--width: {error}") from None
        try:
            with readable(directory):
                written = write(directory, folder or target / "export", only or (), width, str(folder or ""))
        except ResultsError as error:
            raise UserError(str(error)) from None
        for trouble in written.troubles:
            err.print(trouble, style="yellow", markup=False, soft_wrap=True)
        told = f"{counted(len(written.files), 'file')} and their index.json in {written.folder}"
        out.print(told, markup=False, soft_wrap=True)
