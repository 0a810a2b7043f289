"""The command that prints the JSON schema of experiment files."""

from __future__ import annotations

import typer

from trellis.command.as_json import say_json
from trellis.command.exits import endings

commands = typer.Typer(add_completion=False, rich_markup_mode=None)


@commands.command()
def schema() -> None:
    """Print the JSON schema of experiment files, by which editors complete and check keys."""
    with endings():
        from emulator.experiment.file.json_schema import experiment_schema

        say_json(experiment_schema())
