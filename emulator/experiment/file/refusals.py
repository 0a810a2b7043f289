"""Problems that only the drawing of a plan shows, each where the experiment has the key to change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from emulator.experiment.file.document import WRITTEN, Document, Key, Problem, read_document
from emulator.experiment.file.input_paths import named_files, resolve_files
from emulator.experiment.file.overrides import apply_options
from emulator.experiment.file.variants import keys_of


class Refusals:
    """The places of an experiment's keys, in its file and in options over it."""

    def __init__(self, path: Path, options: Sequence[str] = ()) -> None:
        """Read the file once more. Raises ExperimentError if it cannot be read."""
        self._document = read_document(path, room=WRITTEN)
        apply_options(self._document, options)
        resolve_files(self._document, path.parent.resolve(), check=False)

    def problem(self, key: str, text: str, file: Path | None = None) -> Problem:
        """Return what a plan was refused for at a dotted key.

        If `file` is at fault, the key is the one that names it.
        """
        parts = tuple(int(part) if part.isdigit() else part for part in key.split("."))
        places = [*_naming(self._document, file), *_varying(self._document, parts), parts]
        return self._document.problem(places[0], text)


def _naming(document: Document, file: Path | None) -> Iterator[Key]:
    if file is not None:
        for key in named_files(document.values):
            here: object = document.values
            for part in key:
                here = here[part]  # type: ignore[index]
            if here == str(file):
                yield key


def _varying(document: Document, key: Key) -> Iterator[Key]:
    """Yield the entries of `vary` that give the key its value."""
    vary = document.values.get("vary")
    for entry in vary if isinstance(vary, dict) else ():
        for varied in keys_of(entry):
            parts = tuple(varied.split("."))
            if key[: len(parts)] == parts:
                yield ("vary", entry)
