"""The command `init`: it asks what is to be compared, and writes a commented experiment file."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from trellis.command.exits import UserError, endings
from trellis.command.outcome import out

commands = typer.Typer(add_completion=False, rich_markup_mode=None)

_ATTRIBUTES: Final = "{price: [0, 1000], volume: [0, 1000]}"
_WORKLOADS: Final = {
    "topics": """\
  # Each peer subscribes to 20 of 500 topics; peers have like interests (docs/experiment-file.md has others).
  subscriptions: {kind: high, topics: 500, buckets: 20, per_peer: 20}
  # Peers publish this many events in the measure phase.
  publications: {events: 300}
""",
    "content": f"""\
  # Subscriptions are boxes in the space of these attributes, so large that 20 peers want an event on average.
  subscriptions: {{kind: boxes, attributes: {_ATTRIBUTES}, per_peer: 3, interested: 20}}
  # Peers publish this many events in the measure phase.
  publications: {{events: 300, publisher: any}}
""",
    "lookups": """\
  # Lookups of random keys a second, in the measure phase, by all peers together.
  lookups: {rate: 25}
""",
    "values": """\
  # So many values are put before the measure phase, in which peers together ask for so many a second.
  values: {count: 200, gets: 20}
""",
    "membership": """\
  # Peers tell who is up: churn or faults below are what they have to notice.
  membership: {}
""",
    "broadcast": """\
  # Messages a second that are for every peer, and their size in bytes.
  broadcast: {rate: 0.5, bytes: 1000}
""",
}
"""The example of a workload, by the kind that a system serves."""
_PEERS: Final = (2, 200_000)
_SEEDS: Final = (1, 1000)
"""The bounds of the peers and of the seeds that an experiment may have."""


class Churn(StrEnum):
    """The ways in which peers come and go."""

    NONE = "none"
    POISSON = "poisson"
    SKYPE = "skype"


_CHURN: Final = {
    Churn.NONE: """\
# Nobody comes or goes. For churn, write such as this (docs/churn.md has other models):
# churn:
#   model: {kind: poisson, mean_session: 300 s, mean_gap: 60 s}
""",
    Churn.POISSON: """\
# Peers are up and away for exponential times of these means (docs/churn.md has other models).
churn:
  model: {kind: poisson, mean_session: 300 s, mean_gap: 60 s}
""",
    Churn.SKYPE: """\
# Peers come and go as Skype's supernodes did, in a trace that is played 60 times as fast (docs/churn.md). As
# there, about a third of `peers` is up at a time, and many never come in a short trial: ask for three times
# as many.
churn:
  model: {kind: skype, compress: 60}
""",
}


@commands.command()
def init(
    file: Annotated[Path, typer.Argument(metavar="[FILE]", help="The file to write.")] = Path(
        "experiment.yaml"
    ),
    system: Annotated[
        list[str] | None,
        typer.Option("--system", metavar="NAME", help="A system to compare. Repeatable. Asked for if none."),
    ] = None,
    peers: Annotated[
        int | None, typer.Option("--peers", min=_PEERS[0], max=_PEERS[1], help="Asked for, or 200.")
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option("--seeds", min=_SEEDS[0], max=_SEEDS[1], help="Trials of each system. Asked for, or 5."),
    ] = None,
    churn: Annotated[Churn | None, typer.Option("--churn", help="Asked for, or none.")] = None,
) -> None:
    """Ask what is to be compared, and write a commented experiment file."""
    with endings():
        if file.exists():
            raise UserError(f"{file} is there already. Name another file, or remove it")
        asks = sys.stdin.isatty()
        if not system and not asks:
            raise UserError("no system is named. Add --system NAME; `trellis systems` lists the names")
        names = system or _asked_systems()
        kind, schema = _kind_of(names), _needs_schema(names)
        if asks:
            peers = peers or typer.prompt("How many peers?", 200, value_proc=_number(*_PEERS))
            seeds = seeds or typer.prompt("How many seeds of each system?", 5, value_proc=_number(*_SEEDS))
            churn = churn or typer.prompt("How do peers come and go?", Churn.NONE, type=Churn)
        _write(file, _text(file.stem, names, kind, schema, peers or 200, seeds or 5, churn or Churn.NONE))
        name = shlex.quote(str(file))
        out.print(f"wrote {file}", markup=False, soft_wrap=True)
        out.print(f"check it:  trellis validate {name}", markup=False, soft_wrap=True)
        out.print(f"run it:    trellis run {name}", markup=False, soft_wrap=True)


def _asked_systems() -> list[str]:
    from emulator.contract.registry import SYSTEMS

    out.print(f"systems: {', '.join(SYSTEMS)}", markup=False, soft_wrap=True)
    question = "Which systems are to be compared? Names with spaces between"
    names: list[str] = typer.prompt(question, "vitis rvr", value_proc=_names)
    return names


def _names(answer: str) -> list[str]:
    """Return the systems of an answer. Raises BadParameter, upon which the question is asked again."""
    names = re.split(r"[\s,]+", answer.strip())
    try:
        _kind_of(names)
    except UserError as error:
        raise typer.BadParameter(str(error)) from None
    return names


def _number(least: int, most: int) -> Callable[[object], int]:
    """Return what makes an answer a number of this range. It raises BadParameter, as `_names` does."""

    def read(answer: object) -> int:
        try:
            number = int(str(answer))
        except ValueError:
            number = least - 1
        if not least <= number <= most:
            raise typer.BadParameter(f"{answer} is no whole number from {least} to {most:,}. Write one")
        return number

    return read


def _kind_of(names: list[str]) -> str:
    """Return the kind of workload that all these systems serve."""
    from emulator.contract.registry import SYSTEMS
    from emulator.experiment.file.keys import suggestion

    for name in names:
        if name not in SYSTEMS:
            raise UserError(f'no system is called "{name}". {suggestion(name, SYSTEMS)}')
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"{name} is named {names.count(name)} times. Name each system once")
    serves = {name: SYSTEMS[name].serves for name in names}
    if len(set(serves.values())) > 1:
        told = ", ".join(f"{name} serves {kind}" for name, kind in serves.items())
        raise UserError(f"these systems have no workload in common: {told}. Name others")
    kind = serves[names[0]]
    if kind not in _WORKLOADS:
        raise UserError(
            f'there is no example of the workload "{kind}" here. The package of {names[0]} may have ready '
            "experiments: trellis experiments"
        )
    return kind


def _needs_schema(names: list[str]) -> list[str]:
    """Return those of the systems whose peers all have to know the attributes of events."""
    from emulator.contract.registry import SYSTEMS

    return [name for name in names if SYSTEMS[name].schema is not None]


def _text(
    name: str, systems: list[str], kind: str, schema: list[str], peers: int, seeds: int, churn: Churn
) -> str:
    """Return an experiment file."""
    return f"""\
# yaml-language-server: $schema=trellis.schema.json
# (`trellis schema > trellis.schema.json` makes that file; an editor completes and checks keys by it.)
name: {re.sub("[^a-z0-9-]+", "-", name.lower()).strip("-") or "experiment"}
title: {", ".join(systems)}

# Peers of a trial, and trials of each system: one for each seed. Several seeds tell a difference from chance.
peers: {peers}
repeat: {seeds}

{_systems(systems, schema)}
# Delays between peers, made like those that King measured (docs/inputs.md has matrices, regions and files).
network:
  latency: {{kind: king}}

workload:
{_WORKLOADS[kind]}
{_CHURN[churn]}
# Peers join, find their places, are measured, and have a while for what is still on its way.
phases: {{join: 30 s, settle: 60 s, measure: 120 s, drain: 20 s}}
"""


def _systems(names: list[str], schema: list[str]) -> str:
    def parameters(name: str) -> str:
        return f"{{attributes: {_ATTRIBUTES}}}" if name in schema else "{}"

    if len(names) == 1:
        return f"system: {{name: {names[0]}, parameters: {parameters(names[0])}}}\n"
    lines = ["# What is compared. `trellis systems NAME` tells a system's parameters.", "vary:"]
    if schema:
        lines.append('  "system.name, system.parameters":')
        lines += [f"    - [{name}, {parameters(name)}]" for name in names]
    else:
        lines.append(f"  system.name: [{', '.join(names)}]")
    return "\n".join(lines) + "\n"


def _write(file: Path, text: str) -> None:
    """Write a file that is a valid experiment. Raises UserError if it could not be one."""
    from emulator.experiment.file.document import ExperimentError
    from emulator.experiment.file.load import load

    try:
        file.write_text(text)
    except OSError as error:
        raise UserError(f"{file} cannot be written: {error.strerror}") from None
    try:
        load(file, [])
    except ExperimentError as error:
        file.unlink()
        of_systems = all(problem.key.startswith(("system", "vary")) for problem in error.problems)
        what = "these systems do not go together" if of_systems else "such an experiment cannot be run"
        told = "; ".join(f"{problem.key}: {problem.text}" for problem in error.problems)
        raise UserError(f"{what}: {told}") from None
