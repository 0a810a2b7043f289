"""Sizes that are written with a unit where an experiment has a whole number of bytes."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, Final

from emulator.experiment.file.document import Key

_FORM: Final = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*")
_BYTES: Final = {"": 1, "b": 1, "bytes": 1} | {
    f"{prefix}{ending}b": base**power
    for ending, base in (("", 1000), ("i", 1024))
    for power, prefix in enumerate("kmg", start=1)
}
"""The bytes of each unit, in small letters."""
_LONGEST: Final = 30
_EXAMPLE: Final = 131_072


def is_size(key: Key) -> bool:
    """Return whether the value of a key is a number of bytes, or a range of them."""
    return any(str(part).endswith("bytes") for part in key[-2:])


def whole_bytes(given: Any) -> int:
    """Return the bytes of a size such as "128 kB" or 131072; an example of a size for what is none."""
    form = _FORM.fullmatch(given) if isinstance(given, str) and len(given) <= _LONGEST else None
    if form is not None and form[2].lower() in _BYTES:
        return int(Decimal(form[1]) * _BYTES[form[2].lower()])
    return given if type(given) is int and given >= 0 else _EXAMPLE
