"""The command that shows the figures of a paper from the runs at hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from emulator.files.input_facts import counted
from trellis.command.as_json import Json, say_json
from trellis.command.exits import UserError, endings
from trellis.command.outcome import out

if TYPE_CHECKING:
    from analysis.report.paper import Asked, Regenerated
    from emulator.experiment.run.directory import RunDirectory

commands = typer.Typer(add_completion=False, rich_markup_mode=None)
_PAPERS: Final = "papers"
"""The folder of papers among the experiments that come with Trellis."""


@commands.command()
def figures(
    paper: Annotated[
        str, typer.Argument(metavar="PAPER", help="A paper, such as vitis, or a folder of experiment files.")
    ],
    folder: Annotated[Path, typer.Option("--in", metavar="FOLDER", help="Where run directories are.")] = Path(
        "runs"
    ),
    page: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="The page. Default: PAPER.html.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a page with a paper's figures from the newest runs, and its numbers beside ours.

    The commands for experiments that have no analysed run are in the page, and printed.
    """
    with endings():
        from analysis.report.paper import regenerated, write_paper

        experiments = _experiments(paper)
        newest = _newest(folder)
        every = [regenerated(asked, newest.get(asked.name)) for asked in experiments]
        written = page or Path(f"{Path(paper).name}.html")
        write_paper(Path(paper).name, every, written)
        if as_json:
            say_json({"page": str(written), "experiments": [_fields(each) for each in every]})
            return
        missing = [each for each in every if each.run is None]
        told = f"{counted(len(every) - len(missing), 'experiment')} of {len(every)} with a run: {written}"
        out.print(told, markup=False, soft_wrap=True)
        for each in missing:
            out.print(f"  to run: {each.command}", markup=False, soft_wrap=True)


def _fields(each: Regenerated) -> dict[str, Any]:
    """Return an experiment for JSON: its run, or None, with its claims, and the command that runs it."""
    return {
        "experiment": each.asked.name,
        "title": each.asked.title,
        "file": str(each.asked.file),
        "run": None if each.run is None else str(each.run.path),
        "valid": None if each.run is None or each.problem else each.valid,
        "problem": each.problem,
        "claims": list(each.claims),
        "command": each.command,
    }


def _experiments(paper: str) -> list[Asked]:
    """Return the experiments of a paper in the order of their files. Raises UserError if there are none."""
    from analysis.report.paper import Asked
    from emulator.experiment.file.document import ExperimentError, read_document
    from emulator.experiment.file.shipped import shipped_experiments

    papers = shipped_experiments() / _PAPERS
    folder = Path(paper) if Path(paper).is_dir() else papers / paper
    files = sorted(folder.glob("*.yaml")) if folder.is_dir() else []
    if not files:
        known = ", ".join(sorted(path.name for path in papers.glob("*/")))
        raise UserError(
            f"{paper} is no paper and no folder of experiment files. Papers: {known}. Name one, or a folder"
        )
    found = []
    for file in files:
        try:
            values = read_document(file).values
        except ExperimentError as error:
            raise UserError(str(error)) from None
        name = str(values.get("name") or file.stem)
        found.append(Asked(file, name, str(values.get("title") or name)))
    return found


def _newest(folder: Path) -> dict[str, RunDirectory]:
    """Return the analysed run of each experiment that was analysed last, by the experiment's name."""
    from emulator.experiment.file.document import WRITTEN, ExperimentError, read_document
    from trellis.command.local_runs import find_runs

    if not folder.is_dir():
        return {}
    found: dict[str, RunDirectory] = {}
    analysed = [run for run in find_runs(folder) if run.summary.is_file()]
    for run in sorted(analysed, key=lambda run: run.summary.stat().st_mtime):
        try:
            found[str(read_document(run.experiment, WRITTEN).values.get("name"))] = run
        except ExperimentError as error:
            raise UserError(str(error)) from None
    return found
