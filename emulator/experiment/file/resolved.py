"""An experiment with nothing left to defaults: the `experiment.yaml` of a run directory."""

from __future__ import annotations

from emulator.experiment.file.spec import ExperimentSpec
from emulator.experiment.file.variants import variants, varied_keys
from emulator.files.yaml_text import write_yaml

_FIRST = ("name", "title", "claims", "system")
_LAST = ("seed", "repeat", "vary")


def resolved_yaml(spec: ExperimentSpec) -> str:
    """The experiment file with every default written out; loading it gives an equal spec.

    Where the system itself is varied, its parameters are in a comment for each variant.
    """
    values = spec.model_dump(mode="json")
    middle = [key for key in values if key not in _FIRST + _LAST]
    ordered = {key: values[key] for key in (*_FIRST, *middle, *_LAST)}
    text = write_yaml(ordered)
    if {"system", "system.name"} & varied_keys(spec.vary):
        systems = {variant.name: variant.spec.system.model_dump(mode="json") for variant in variants(spec)}
        text += "\n# The system of each variant, every default written out:\n"
        text += "".join(f"# {line}\n" for line in write_yaml(systems).splitlines())
    return text
