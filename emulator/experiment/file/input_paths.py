"""The paths of the files that an experiment names."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from emulator.experiment.file.document import Document, Key, Problem
from emulator.experiment.file.draws import CHOICE, LIST
from emulator.experiment.file.keys import Alternatives, fields, files, members_of, types_at
from emulator.experiment.file.spec import ExperimentSpec
from emulator.experiment.file.variants import keys_of

_LONGEST_SHOWN = 300
_VARIABLE = re.compile(r"\$\{(\w+)\}")


def resolve_files(document: Document, folder: Path, check: bool) -> list[Problem]:
    """Make the names of files absolute: `${NAME}` from the environment, the rest from `folder`.

    A name that begins with a variable, or stands in an option, is relative to the current folder. With
    `check`, a file has to be there.
    """
    problems = []
    for key in named_files(document.values):
        *above, last = key
        here = document.values
        for part in above:
            here = here[part]  # type: ignore[index]
        base = folder if document.place(key).line else Path.cwd()
        try:
            here[last] = _resolved(here[last], base, check)  # type: ignore[index]
        except ValueError as error:
            problems.append(document.problem(key, str(error)))
    return problems


def named_files(values: dict[str, Any]) -> list[Key]:
    """Return the keys of all files, including those in `vary` and `draw`."""
    found = list(files((ExperimentSpec,), values))
    vary = values.get("vary")
    for name, choices in vary.items() if isinstance(vary, dict) else ():
        types_ = [types_at(ExperimentSpec, tuple(varied.split("."))) for varied in keys_of(name)]
        for i, choice in enumerate(choices if isinstance(choices, list) else ()):
            place = ("vary", name, i)
            if len(types_) == 1:
                found += files(types_[0], choice, place)
            elif isinstance(choice, list):
                for position, (under, value) in enumerate(zip(types_, choice, strict=False)):
                    found += files(under, value, (*place, position))
    ranges = values.get("draw")
    for name, given in ranges.items() if isinstance(ranges, dict) else ():
        types_of_key = types_at(ExperimentSpec, tuple(name.split(".")))
        if isinstance(given, list):
            for i, choice in enumerate(given):
                found += _drawn_files(types_of_key, choice, ("draw", name, i))
        else:
            found += _drawn_files(types_of_key, given, ("draw", name))
    return found


def _drawn_files(types_: Alternatives, given: Any, key: Key) -> Iterator[Key]:
    """Yield the keys that name files under a range from which a value of these types is drawn."""
    if isinstance(given, str) and Path in types_:
        yield key
    elif isinstance(given, list):
        for index, each in enumerate(given):
            yield from _drawn_files(members_of(types_), each, (*key, index))
    elif isinstance(given, dict) and set(given) in (CHOICE, LIST):
        name, drawn = ("any", types_) if set(given) == CHOICE else ("of", members_of(types_))
        for index, each in enumerate(given[name] if isinstance(given[name], list) else ()):
            yield from _drawn_files(drawn, each, (*key, name, index))
    elif isinstance(given, dict):
        for name, under in fields(types_).items():
            if name in given:
                yield from _drawn_files(under, given[name], (*key, name))


def _resolved(name: str, base: Path, check: bool) -> str:
    """Return the absolute path. Raises ValueError that says what is missing."""
    unset = [variable for variable in _VARIABLE.findall(name) if variable not in os.environ]
    if unset:
        raise ValueError(
            f'is "{name}", but the environment variable {unset[0]} is not set. '
            f"Set it to the folder that holds the file, or give the path with --set"
        )
    if name.startswith("${"):
        base = Path.cwd()
    given = Path(_VARIABLE.sub(lambda match: os.environ[match[1]], name))
    try:
        path = base / given.expanduser()
    except RuntimeError:
        text = f'is "{_shortened(name)}", but {_shortened(given.parts[0])} has no home here. Check the path'
        raise ValueError(text) from None
    if check and (what := _no_file(path)):
        raise ValueError(f'is "{_shortened(name)}", but {what}: {_shortened(str(path))}. Check the path')
    return str(path)


def _no_file(path: Path) -> str:
    """Return why the path is no readable file, or an empty text."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return "there is no such file"
    except OSError as error:
        return f"it cannot be read ({error.strerror})"
    except ValueError as error:
        return f"no file can have that name ({error})"
    if stat.S_ISDIR(mode):
        return "is a folder, not a file"
    return "" if stat.S_ISREG(mode) else "is a pipe or a device, not a file"


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST_SHOWN else f"{name[:_LONGEST_SHOWN]}..."
