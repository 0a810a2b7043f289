"""Options `key=value` that replace values of an experiment file."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.experiment.file.document import Document, ExperimentError, Place, Problem, plain, read_value
from emulator.experiment.file.keys import fill_kinds
from emulator.experiment.file.spec import ExperimentSpec
from emulator.experiment.file.variants import change, keys_of
from emulator.files.yaml_text import DEEPEST

_LONGEST_SHOWN = 200
"""The most characters of an option that are shown."""


def apply_options(document: Document, options: Sequence[str]) -> list[Problem]:
    """Set each key, and take back the places of what it replaces. Values are typed as in YAML.

    A key that the file varies is no longer varied, nor is what the file varies together with it.
    """
    problems = []
    for option in options:
        place = Place(f"--set {option if len(option) <= _LONGEST_SHOWN else option[:_LONGEST_SHOWN]}")
        key, equals, text = option.partition("=")
        key = key.strip()
        if not equals or not all(key.split(".")):
            text = "has to be key=value, such as peers=2000 or system.parameters.friends=4"
            problems.append(Problem(place, "", text))
            continue
        try:
            if key.count(".") >= DEEPEST:
                raise ValueError(f"is nested deeper than {DEEPEST} levels")
            value = plain(read_value(text, str(place)))
            _set(document, key, value, place)
        except ExperimentError as error:
            problems += [Problem(place, key, problem.text) for problem in error.problems]
        except ValueError as error:
            problems.append(Problem(place, key, str(error)))
    return problems


def _set(document: Document, key: str, value: object, place: Place) -> None:
    """Set a dotted key in the document. Raises ValueError if the key cannot be set."""
    vary = document.values.get("vary")
    head, _, varied = key.partition(".")
    if head == "vary" and varied:
        if not isinstance(vary, dict):
            vary = document.values["vary"] = {}
        keys = set(keys_of(varied))
        for other in [name for name in vary if name != varied and not keys.isdisjoint(keys_of(name))]:
            del vary[other]
        vary[varied] = value
        _note(document, ("vary", varied), place)
        return
    if isinstance(vary, dict):
        for entry in vary:
            for other in keys_of(entry):
                if f"{key}.".startswith(f"{other}.") and key != other:
                    text = f'is a part of "{other}", which the file varies. Set vary.{entry} instead'
                    raise ValueError(text)
        for entry in [e for e in vary if any(f"{name}.".startswith(f"{key}.") for name in keys_of(e))]:
            del vary[entry]
    fill_kinds(ExperimentSpec, document.values)
    change(document.values, key, value)
    _note(document, tuple(key.split(".")), place)


def _note(document: Document, key: tuple[str, ...], place: Place) -> None:
    for old in [old for old in document.places if old[: len(key)] == key]:
        del document.places[old]
    document.places[key] = place
    for length in range(1, len(key)):
        document.places.setdefault(key[:length], place)
