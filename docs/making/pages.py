"""The pages of `docs/reference` by their names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from docs.making.command_page import command_page
from docs.making.experiment_page import experiment_page, parameters_page
from docs.making.measures_page import measures_page

FOLDER: Final = Path(__file__).parent.parent / "reference"
PAGES: Final[dict[str, Callable[[], str]]] = {
    "experiment.md": experiment_page,
    "parameters.md": parameters_page,
    "command.md": command_page,
    "measures.md": measures_page,
}
