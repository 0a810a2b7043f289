"""The commands about queues of releases: queue, pause, resume."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from trellis.command.ages import age_in_words
from trellis.command.as_json import Json, say_json
from trellis.command.exits import endings
from trellis.command.on_kubernetes import cluster_errors
from trellis.command.outcome import out
from trellis.command.pod_options import Namespace

if TYPE_CHECKING:
    from trellis.command.release.cluster import Cluster
    from trellis.command.release.queues import Queued

commands = typer.Typer(add_completion=False, rich_markup_mode=None)

Name = Annotated[str, typer.Argument(metavar="RELEASE", help="The name of a release in a queue.")]


@commands.command()
def queue(
    name: Annotated[
        str | None, typer.Argument(metavar="[QUEUE]", help="The name of a queue. Default: all.")
    ] = None,
    namespace: Namespace = None,
    as_json: Json = False,
) -> None:
    """List the releases that wait for each other in a namespace, in the order in which they run."""
    with _cluster(namespace) as cluster:
        from trellis.command.release.queues import fields, queued

        found = queued(cluster, name)
        if as_json:
            say_json([fields(each) for each in found])
        elif found:
            _say_table(found)
        else:
            which = f"the queue {name}" if name else "no queue"
            there = f"there is no release in {which}" if name else "there is no release in a queue"
            _say(
                f"{there} of the namespace {cluster.namespace}. Put one there: trellis run FILE --on "
                "kubernetes --queue"
            )


@commands.command()
def pause(name: Name, namespace: Namespace = None) -> None:
    """Pause a release in a queue: its running trial ends, then its pods go, and its place is free."""
    _ask(name, namespace, True)
    _say(
        f"{name} pauses when its running trial has ended; a sweep on the virtual clock pauses at once, and "
        f"its unfinished trials begin anew. See: trellis queue; go on with: trellis resume {name}"
    )


@commands.command()
def resume(name: Name, namespace: Namespace = None) -> None:
    """Let a paused release wait for its turn again; finished trials are kept."""
    _ask(name, namespace, False)
    _say(f"{name} waits for its turn. See: trellis queue")


def _ask(name: str, namespace: str | None, paused: bool) -> None:
    with _cluster(namespace) as cluster:
        from trellis.command.release.queues import set_paused

        set_paused(cluster, name, paused)


@contextlib.contextmanager
def _cluster(namespace: str | None) -> Iterator[Cluster]:
    with endings(), cluster_errors():
        from trellis.command.release.cluster import Cluster

        with contextlib.closing(Cluster(namespace)) as cluster:
            cluster.check()
            yield cluster


def _say_table(found: list[Queued]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table()
    for heading in ("queue", "release", "state"):
        table.add_column(heading, overflow="fold")
    for heading in ("priority", "in line", "age"):
        table.add_column(heading, justify="right", no_wrap=True)
    for each in found:
        line = "" if each.line is None else str(each.line)
        cells = (each.queue, each.entry.release, each.told, str(each.entry.priority), line)
        table.add_row(*map(Text, (*cells, age_in_words(each.age))))
    out.print(table)


def _say(text: str) -> None:
    out.print(text, markup=False, soft_wrap=True)
