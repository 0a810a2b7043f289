"""The commands about the run directories of a folder: `runs` and `clean`."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from emulator.files.input_facts import counted
from trellis.command.ages import age_in_words
from trellis.command.as_json import Json, say_json
from trellis.command.exits import INVALID, UserError, endings, err
from trellis.command.kept_commands import say_earlier, say_kept
from trellis.command.outcome import out
from trellis.command.pod_options import Namespace

if TYPE_CHECKING:
    from trellis.command.local_runs import LocalRun

commands = typer.Typer(add_completion=False, rich_markup_mode=None)

Folder = Annotated[Path, typer.Argument(metavar="[FOLDER]", help="Where run directories are.")]
_MADE = {"experiment.yaml", "trials", "tables", "summary.json", "digests.json", "report", "smaller", "export"}
"""Trellis makes these files and folders in a run directory; `clean` keeps a folder that has others."""


@commands.command()
def runs(
    folder: Folder = Path("runs"),
    at: Annotated[
        str, typer.Option("--at", metavar="PLACE", help="In an object store, such as s3://bucket/prefix.")
    ] = "",
    release: Annotated[
        str, typer.Option("--release", metavar="NAME", help="The earlier runs of a release with a schedule.")
    ] = "",
    namespace: Namespace = None,
    as_json: Json = False,
) -> None:
    """List the run directories of a folder, the youngest first: state, verdict, trials, size, age."""
    with endings():
        if at:
            say_kept(at, as_json)
            return
        if release:
            say_earlier(release, namespace, as_json)
            return
        from trellis.command.local_runs import find_runs, look

        found = sorted((look(run) for run in find_runs(folder)), key=lambda run: run.age)
        if as_json:
            say_json([run.fields() for run in found])
        elif found:
            _say_table(found)
        else:
            out.print(f"there are no run directories in {folder}", markup=False, soft_wrap=True)


@commands.command()
def clean(
    folder: Folder = Path("runs"),
    failed: Annotated[
        bool, typer.Option("--failed", help="Remove runs that are invalid, or of which a trial failed.")
    ] = False,
    older: Annotated[
        str | None,
        typer.Option("--older-than", metavar="TIME", help='Remove runs last written before, such as "30 d".'),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would be removed.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: Json = False,
) -> None:
    """Remove failed or old run directories. With both options a run has to be failed and old.

    The exit status is 1 if the answer is no, and 2 if there is none: --yes removes without asking. With
    --json nothing is asked, so it needs --dry-run or --yes.
    """
    with endings():
        from trellis.command.local_runs import find_runs, look

        if not failed and older is None:
            raise UserError('say which runs: --failed, --older-than "30 d", or both')
        if as_json and not (dry_run or yes):
            raise UserError(
                "with --json nothing is asked. Add --dry-run to list runs, or --yes to remove them"
            )
        least = 0.0 if older is None else _seconds(older)
        found = [
            run
            for run in map(look, find_runs(folder))
            if run.age >= least and (not failed or run.verdict in ("invalid", "failed")) and _removable(run)
        ]
        if as_json:
            told = [run.fields() for run in found]
            if not dry_run:
                for run in found:
                    _remove(run)
            say_json(told)
            return
        if not found:
            out.print("there is nothing to remove", markup=False)
            return
        _say_table(found)
        if dry_run:
            return
        if not yes and not typer.confirm(f"remove {counted(len(found), 'run')} for good?"):
            out.print("nothing was removed", markup=False)
            raise typer.Exit(INVALID)
        for run in found:
            _remove(run)
            out.print(f"removed {run.directory.path}", markup=False, soft_wrap=True)


def _seconds(text: str) -> float:
    from emulator.files.quantities import parse_duration

    try:
        return parse_duration(text)
    except ValueError as error:
        raise UserError(f'--older-than is "{text}", but {error}') from None


def _removable(run: LocalRun) -> bool:
    """Return whether a run may be removed; what speaks against it is printed."""
    path = run.directory.path
    others = sorted({each.name for each in path.iterdir() if not each.name.endswith(".new")} - _MADE)
    why = ""
    if run.state in ("running", "analyzing"):
        why = f"it is {run.state}"
    elif path.is_symlink():
        why = "it is a link"
    elif others:
        why = f"it has {', '.join(others[:5])}, which Trellis did not make"
    if why:
        err.print(f"{path} is kept: {why}", style="yellow", markup=False, soft_wrap=True)
    return not why


def _remove(run: LocalRun) -> None:
    """Remove a run directory, unless it has begun to run meanwhile. Raises RunBusy and OSError."""
    from emulator.trials.sweep import alone

    path = run.directory.path
    try:
        with alone(run.directory):
            shutil.rmtree(path)
    except KeyboardInterrupt:
        rest = f"{path} is removed in part. Remove the rest: rm -r {shlex.quote(str(path))}"
        err.print(rest, markup=False, soft_wrap=True)
        raise


def _say_table(found: list[LocalRun]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table()
    table.add_column("run", overflow="fold")
    for heading in ("state", "verdict"):
        table.add_column(heading)
    for heading in ("trials", "size", "age"):
        table.add_column(heading, justify="right", no_wrap=True)
    for run in found:
        trials = f"{run.ended} of {len(run.standing.trials)}"
        size = f"{run.bytes / 1e6:,.1f} MB"
        cells = (run.directory.path.name, run.state, run.verdict, trials, size, age_in_words(run.age))
        table.add_row(*map(Text, cells))
    out.print(table)
    for run in found:
        if run.standing.problem:
            out.print(f"{run.directory.path}: {run.standing.problem}", markup=False, soft_wrap=True)
