"""The command that lists the volume claims with runs that releases have made or left."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import typer

from trellis.command.ages import age_in_words
from trellis.command.as_json import Json, say_json
from trellis.command.exits import endings
from trellis.command.on_kubernetes import cluster_errors
from trellis.command.outcome import out
from trellis.command.pod_options import Namespace

if TYPE_CHECKING:
    from trellis.command.release.claims import Claim

commands = typer.Typer(add_completion=False, rich_markup_mode=None)


@commands.command()
def claims(namespace: Namespace = None, as_json: Json = False) -> None:
    """List the volume claims with runs in a namespace, the oldest first, and name those that may go."""
    with endings(), cluster_errors():
        from trellis.command.release.claims import fields, find_claims
        from trellis.command.release.cluster import Cluster

        with contextlib.closing(Cluster(namespace)) as cluster:
            cluster.check()
            found = find_claims(cluster)
            place = cluster.namespace
        if as_json:
            say_json([fields(claim) for claim in found])
        elif found:
            _say_table(found)
        else:
            _say(f"there are no claims of releases in the namespace {place}")
        if not as_json and (old := [claim.name for claim in found if claim.overdue]):
            _say(
                f"older than storage.keepFor, and of no release: {', '.join(old)}. Delete them with what is "
                f"on them: kubectl --namespace {place} delete persistentvolumeclaim {' '.join(old)}"
            )


def _say_table(found: list[Claim]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table()
    for heading in ("claim", "release", "state"):
        table.add_column(heading, overflow="fold")
    for heading in ("size", "age", "kept for"):
        table.add_column(heading, justify="right", no_wrap=True)
    for claim in found:
        release = claim.release if claim.installed else f"{claim.release}, not installed"
        kept = "" if claim.keep_for is None else age_in_words(claim.keep_for)
        cells = (claim.name, release, claim.phase, claim.size, age_in_words(claim.age), kept)
        table.add_row(*map(Text, cells))
    out.print(table)


def _say(text: str) -> None:
    out.print(text, markup=False, soft_wrap=True)
