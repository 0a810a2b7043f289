"""Runs in an object store: the command `upload`, and what `fetch`, `runs` and `history` do with them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from emulator.experiment.run.object_store import BadPlace, Place, open_place
from trellis.command.ages import age_in_words
from trellis.command.as_json import say_json
from trellis.command.exits import INVALID, UserError, endings, err
from trellis.command.outcome import out, say_summary

if TYPE_CHECKING:
    from emulator.experiment.run.kept_runs import KeptRun

commands = typer.Typer(add_completion=False, rich_markup_mode=None)

_STANDING = ("state", "verdict", "trials")
_BULK = ("trials/", "tables/", "report/")
"""The folders without which `history` does."""


@commands.command()
def upload(
    directory: Annotated[Path, typer.Argument(metavar="RUNDIR", help="A run directory.")],
    to: Annotated[str, typer.Argument(metavar="PLACE", help="Where to, such as s3://bucket/prefix.")],
) -> None:
    """Copy a run directory to an object store. One that was broken off goes on.

    Credentials come from the variables AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and
    AWS_ENDPOINT_URL.
    """
    with endings():
        from emulator.experiment.run.kept_runs import upload as send
        from emulator.experiment.run.runs import open_run
        from trellis.command.local_runs import about_of

        run = open_run(directory)[0]
        with _place(to) as place, _counted(f"uploading {directory}") as watch:
            kept = send(run, place, run.path.resolve().name, about_of(run), watch)
        out.print(f"uploaded: {kept.place.address}", markup=False, soft_wrap=True)


def fetch_kept(address: str, folder: Path) -> None:
    """Bring a run home from an object store, and say how it is. Raises UserError, OSError and typer.Exit."""
    from emulator.experiment.run.kept_runs import download, kept_run

    with _place(address) as place, _counted(f"fetching {address}") as watch:
        home = download(kept_run(place), folder, watch)
    if home.summary.is_file():
        raise typer.Exit(say_summary(home))
    out.print(f"not analyzed yet\nrun: {home.path}", markup=False, soft_wrap=True)
    raise typer.Exit(INVALID)


def say_kept(address: str, as_json: bool) -> None:
    """List the runs in a place, the youngest first. Raises UserError."""
    from emulator.experiment.run.kept_runs import kept_runs

    with _place(address) as place:
        found = sorted(kept_runs(place), key=_uploaded, reverse=True)
    if as_json:
        say_json([_fields(kept) for kept in found])
    elif found:
        rows = [(each.name, *_standing(each.about, bool(each.files)), *_size_and_age(each)) for each in found]
        _say_table(rows, "run", *_STANDING, "size", "uploaded")
    else:
        out.print(f"there are no runs in {address}", markup=False, soft_wrap=True)


def say_earlier(name: str, namespace: str | None, as_json: bool) -> None:
    """List the earlier runs of a release with a schedule. Raises UserError."""
    from trellis.command.on_kubernetes import cluster_errors
    from trellis.command.release.cluster import Cluster
    from trellis.command.release.release import Release

    with cluster_errors(), closing(Cluster(namespace)) as cluster:
        cluster.check()
        found = Release(cluster, name).earlier_runs()
    if as_json:
        say_json(found)
    elif found:
        _say_table([(str(each["run"]), *_standing(each)) for each in found], "run", *_STANDING)
    else:
        out.print(f"{name} has no earlier runs", markup=False, soft_wrap=True)


@contextmanager
def summaries_of(address: str) -> Iterator[Path]:
    """Give a folder with the runs of a place, of which only what `history` reads was fetched.

    Raises UserError.
    """
    from emulator.experiment.run.kept_runs import download, kept_runs

    with tempfile.TemporaryDirectory(prefix="trellis-") as folder:
        with _place(address) as place:
            for kept in kept_runs(place):
                if "summary.json" in kept.files:
                    download(kept, Path(folder), lambda count: None, _tells)
        yield Path(folder)


def _tells(path: str) -> bool:
    return not path.startswith(_BULK)


@contextmanager
def _place(address: str) -> Iterator[Place]:
    """Open a place; its errors are those of the user."""
    try:
        yield open_place(address)
    except BadPlace as error:
        raise UserError(str(error)) from None


@contextmanager
def _counted(title: str) -> Iterator[Callable[[int], None]]:
    from trellis.command.terminal import Screen

    with Screen(err).step(title, 0) as step:
        yield lambda count: step.note(f"{count / 1e6:.1f} MB")


def _uploaded(kept: KeptRun) -> str:
    return str(kept.about.get("uploaded", ""))


def _fields(kept: KeptRun) -> dict[str, Any]:
    return {"run": kept.place.address, "whole": bool(kept.files), "bytes": kept.bytes, **kept.about}


def _say_table(rows: Iterable[tuple[str, ...]], *headings: str) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table()
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    out.print(table)


def _standing(about: Mapping[str, Any], whole: bool = True) -> tuple[str, str, str]:
    trials = f"{about['trials_ended']} of {about['trials']}" if "trials" in about else ""
    return str(about.get("state", "")) if whole else "not whole", str(about.get("verdict", "")), trials


def _size_and_age(kept: KeptRun) -> tuple[str, str]:
    return f"{kept.bytes / 1e6:,.1f} MB", _age(kept)


def _age(kept: KeptRun) -> str:
    try:
        since = datetime.now(UTC) - datetime.fromisoformat(_uploaded(kept))
    except (ValueError, TypeError):
        return ""
    return f"{age_in_words(max(0.0, since.total_seconds()))} ago"
