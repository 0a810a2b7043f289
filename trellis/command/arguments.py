"""Arguments that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

TARGET = "An experiment file (of a package: package:name.yaml), or a run directory."
Target = Annotated[Path, typer.Argument(metavar="FILE", help=TARGET)]
Options = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a key, such as peers=2000. Repeatable."),
]
