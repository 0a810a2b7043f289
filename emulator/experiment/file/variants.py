"""The trials of an experiment: every combination of the values in `vary`, with every seed."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from emulator.experiment.file.document import plain
from emulator.experiment.file.keys import fields, fill_kinds, types_at
from emulator.experiment.file.spec import ExperimentSpec, TrialSpec

MAX_TRIALS = 10_000
_READ_INTO_CLASSES = ("network.bandwidth.table", "network.bandwidth.nodes")
"""The keys of files that become classes of links."""
_MAX_NAME = 100


@dataclass(frozen=True, slots=True)
class Variant:
    """One combination of values. `values` are the varied keys with their values in this variant."""

    name: str
    values: dict[str, Any]
    spec: TrialSpec


@dataclass(frozen=True, slots=True)
class Trial:
    """One variant with one seed."""

    name: str
    """The trial's name `<variant>-<seed>`, which is safe in file systems."""
    variant: Variant
    spec: TrialSpec


def keys_of(entry: str) -> tuple[str, ...]:
    """Return the dotted keys that an entry of `vary` changes: one, or several with commas between them."""
    return tuple(key.strip() for key in entry.split(",")) if "," in entry else (entry,)


def varied_keys(vary: Iterable[str]) -> set[str]:
    """Return all dotted keys that the entries of `vary` change."""
    return {key for entry in vary for key in keys_of(entry)}


def chosen_values(vary: Mapping[str, list[Any]], which: Sequence[int]) -> dict[str, Any]:
    """Return the varied keys of a variant with their values; `which` says which value of each entry
    it has."""
    chosen: dict[str, Any] = {}
    for (entry, values), i in zip(vary.items(), which, strict=True):
        keys = keys_of(entry)
        chosen.update(zip(keys, values[i] if len(keys) > 1 else [values[i]], strict=True))
    return chosen


def combinations(vary: Mapping[str, list[Any]]) -> Iterator[tuple[int, ...]]:
    """Yield for each variant which value of each entry of `vary` it has; the last entry changes fastest."""
    return itertools.product(*(range(len(values)) for values in vary.values()))


def count_variants(vary: Mapping[str, list[Any]]) -> int:
    return math.prod(len(values) for values in vary.values())


def change(values: dict[str, Any], key: str, value: Any) -> None:
    """Set a dotted key in plain values; keys that a changed `kind` does not know are dropped, and so are
    classes of links that were read from another file.

    Raises ValueError if a part of the key is a value where a mapping is needed.
    """
    *above, last = key.split(".")
    here = values
    for part in above:
        if here.get(part) is None:
            here[part] = {}
        here = here[part]
        if not isinstance(here, dict):
            raise ValueError(f'"{part}" is a value and has no keys')
    if last == "kind" and here.get("kind") != value:
        known = fields(types_at(ExperimentSpec, tuple(above)), value)
        for name in [name for name in here if known and name not in known]:
            del here[name]
    if key.startswith(_READ_INTO_CLASSES):
        values["network"]["bandwidth"].pop("classes", None)
    here[last] = plain(value)


def variant_values(base: Mapping[str, Any], chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plain values of one variant: a trial's keys of `base`, with `chosen` set."""
    values: dict[str, Any] = {name: plain(base[name]) for name in TrialSpec.model_fields if name in base}
    for key, value in chosen.items():
        change(values, key, value)
    fill_kinds(TrialSpec, values)
    take_read_rates(values, base.get("rates_read"))
    return values


def sources_of_rates(values: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the word, "table" or "nodes", and the keys of a file from which plain values have rates."""
    network = values.get("network")
    bandwidth = network.get("bandwidth") if isinstance(network, dict) else None
    if not isinstance(bandwidth, dict):
        return
    for word in ("table", "nodes"):
        source = bandwidth.get(word)
        if isinstance(source, dict) and source.get("file"):
            yield word, source


def take_read_rates(values: dict[str, Any], read: Any) -> None:
    """Put the classes of links of a file that was read before in the place of the file.

    `read` is what plain values have as `rates_read`, which may be anything.
    """
    for word, source in [*sources_of_rates(values)]:
        for each in read if isinstance(read, list) else ():
            if isinstance(each, dict) and "classes" in each and each.get(word) == source:
                bandwidth = values["network"]["bandwidth"]
                bandwidth["classes"] = plain(each["classes"])
                source["file"] = None
                break


def variants(spec: ExperimentSpec) -> list[Variant]:
    """Return all variants, in the order of the file. The spec has been checked by `load`."""
    base = spec.model_dump(mode="json")
    chosen = [chosen_values(spec.vary, which) for which in combinations(spec.vary)]
    specs = []
    for choice in chosen:
        values = variant_values(base, choice)
        values["system"]["parameters"] = complete_parameters(values["system"])
        specs.append(TrialSpec.model_validate_json(json.dumps(values)))
    names = _names([(s.system.name, choice) for s, choice in zip(specs, chosen, strict=True)])
    return [Variant(*parts) for parts in zip(names, chosen, specs, strict=True)]


def complete_parameters(system: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a system, with every default written out.

    The parameters of a system that no package offers here stay as they are, because a run directory has every
    default written out. Raises pydantic.ValidationError.
    """
    from emulator.contract.registry import SYSTEMS

    if system["name"] not in SYSTEMS:
        return dict(system.get("parameters") or {})
    model = SYSTEMS[system["name"]].parameters
    given = json.dumps(system.get("parameters") or {})
    return model.model_validate_json(given, strict=True).model_dump(mode="json")


def trials(spec: ExperimentSpec) -> list[Trial]:
    """Return all trials: for each variant one for each seed."""
    return [
        Trial(f"{variant.name}-{seed}", variant, variant.spec.model_copy(update={"seed": seed}))
        for variant in variants(spec)
        for seed in range(variant.spec.seed, variant.spec.seed + spec.repeat)
    ]


def _names(systems: list[tuple[str, dict[str, Any]]]) -> list[str]:
    """Return a readable name for each variant, all different even where a file system ignores case."""
    names: list[str] = []
    taken: set[str] = set()
    for system, choice in systems:
        parts = [_safe(system)]
        # All that a campaign draws for a trial comes from its seed.
        told = {"seed": choice["seed"]} if "seed" in choice else choice
        for key, value in told.items():
            if key not in ("system", "system.name"):
                parts.append(_part(key, value))
            elif isinstance(value, dict):
                parts += [_part(name, given) for name, given in (value.get("parameters") or {}).items()]
        name = ".".join(parts)
        if len(name) > _MAX_NAME:
            name = f"{name[: _MAX_NAME - 9]}.{hashlib.sha256(name.encode()).hexdigest()[:8]}"
        distinct = next(n for n in _numbered(name) if n.lower() not in taken)
        taken.add(distinct.lower())
        names.append(distinct)
    return names


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}.{i}" for i in itertools.count(2))


def _part(key: str, value: Any) -> str:
    short = key.rpartition(".")[2]
    text = _safe(_text(value))
    return text if short == "kind" or isinstance(value, dict) else f"{_safe(short)}={text}"


def _text(value: Any) -> str:
    if isinstance(value, dict):
        rest = [f"{name}={_text(part)}" for name, part in value.items() if name not in ("kind", "name")]
        return ".".join([str(part) for part in (value.get("kind") or value.get("name"),) if part] + rest)
    if isinstance(value, list):
        return "+".join(_text(part) for part in value)
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    is_path = isinstance(value, str) and "/" in value and not value.endswith("bit/s")
    return PurePath(value).stem if is_path else str(value)


def _safe(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._=+]+", "-", text.replace(" ", "")).strip("-.") or "none"
