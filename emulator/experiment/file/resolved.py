"""The `experiment.yaml` of a run directory: an experiment in which nothing is left to defaults."""

from __future__ import annotations

from emulator.experiment.file.spec import ExperimentSpec
from emulator.experiment.file.variants import variants, varied_keys
from emulator.files.yaml_text import write_yaml

_FIRST = ("name", "title", "claims", "expect", "system")
_LAST = ("seed", "repeat", "vary", "draw")


def resolved_yaml(spec: ExperimentSpec) -> str:
    """Return the experiment file with every default written out; loading it gives an equal spec.

    Where the system itself is varied, a comment has its parameters for each variant.
    """
    values = spec.model_dump(mode="json")
    for key in ("expect", "draw"):
        if not values[key]:
            del values[key]
    middle = [key for key in values if key not in _FIRST + _LAST]
    ordered = {key: values[key] for key in (*_FIRST, *middle, *_LAST) if key in values}
    text = write_yaml(ordered)
    if {"system", "system.name"} & varied_keys(spec.vary):
        systems = {variant.name: variant.spec.system.model_dump(mode="json") for variant in variants(spec)}
        text += "\n# The system of each variant, every default written out:\n"
        text += "".join(f"# {line}\n" for line in write_yaml(systems).splitlines())
    return text
