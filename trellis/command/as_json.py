"""The option `--json` of commands that show a table, and how these print JSON."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs, instead of text.")]


def say_json(value: Any) -> None:
    """Print a value as one JSON document. Raises ValueError for NaN and infinity, which JSON lacks."""
    typer.echo(json.dumps(value, indent=2, allow_nan=False))
