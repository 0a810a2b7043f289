"""A value of an experiment that is wrong, and the check that another value in its place would be accepted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from emulator.experiment.file.document import Key, plain
from emulator.experiment.file.keys import fill_kinds, models, types_at


@dataclass(frozen=True, slots=True)
class Wrong:
    """A value that is wrong: its key, and the experiment that has it."""

    key: Key
    model: type[BaseModel]
    values: Mapping[str, Any]
    """All values of the experiment."""

    @property
    def named(self) -> tuple[str, ...]:
        """The key without positions in lists."""
        return tuple(part for part in self.key if not isinstance(part, int))

    @property
    def value(self) -> Any:
        """The value; None if there is none."""
        return at(self.values, self.key)

    @property
    def is_of_experiment(self) -> bool:
        """This is true if the key is one of a whole experiment, and not one of a system's parameters."""
        return {"system", "workload"} <= self.model.model_fields.keys()

    @property
    def is_optional(self) -> bool:
        """This is true if the key may be left out."""
        owners = models(types_at(self.model, self.key[:-1]))
        name = str(self.key[-1])
        infos = [owner.model_fields[name] for owner in owners if name in owner.model_fields]
        return bool(infos) and not any(info.is_required() for info in infos)

    def is_mended_by(self, value: Any, key: Key | None = None) -> bool:
        """This is true if fewer values are wrong with this one at the key, or at another."""
        return self._number_with(value, key) < _number_wrong(self.model, self.values)

    def has_room_for(self, value: Any, key: Key) -> bool:
        """This is true if no more values are wrong with this one at another key."""
        return self._number_with(value, key) <= _number_wrong(self.model, self.values)

    def _number_with(self, value: Any, key: Key | None) -> int:
        values = plain(self.values)
        above, last = (key or self.key)[:-1], (key or self.key)[-1]
        here: Any = values
        for part in above:
            if isinstance(here, dict) and here.get(part) is None:
                here[part] = {}
            here = at(here, (part,))
        if isinstance(here, dict):
            here[str(last)] = plain(value)
        elif isinstance(here, list) and isinstance(last, int):
            here[last] = plain(value)
        fill_kinds(self.model, values)
        return _number_wrong(self.model, values)


def at(values: Any, key: Key) -> Any:
    """Return the value at a key; None if there is none."""
    for part in key:
        inside = isinstance(values, Mapping) and part in values
        inside = inside or (isinstance(values, list) and isinstance(part, int) and part < len(values))
        values = values[part] if inside else None
    return values


def _number_wrong(model: type[BaseModel], values: Mapping[str, Any]) -> int:
    try:
        model.model_validate_json(json.dumps(values), strict=True)
    except ValidationError as error:
        return error.error_count()
    return 0


def written(value: Any) -> str:
    """Return a value as a file may have it in one line: `{share: 0.5}`."""
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10_000, allow_unicode=True)
    return text.removesuffix("\n").removesuffix("...").removesuffix("\n")
