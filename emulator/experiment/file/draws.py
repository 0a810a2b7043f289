"""Draws the values of an experiment's keys from the ranges of its `draw:` part."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from random import Random
from typing import Any, Final

from emulator.files.quantities import RATE_UNITS

_QUANTITY = re.compile(r"\s*(-?[0-9]+(?:\.[0-9]+)?)\s*([A-Za-z/%]+)\s*")
_RANGE = {"from", "to"}
_MEANT_AS_RANGES = ({"min", "max"}, {"low", "high"}, {"from"}, {"to"})
CHOICE = {"any"}
"""The keys of a range of which one value is drawn."""
LIST = {"number", "of"}
"""The keys of a range of which several values are drawn."""
_SMALL: Final = 0.001
"""A range of numbers that is smaller is not drawn in steps of a millionth."""
_MOST: Final = 1000
"""The most values of a list that is drawn."""


def draw(ranges: Mapping[str, Any], random: Random) -> dict[str, Any]:
    """Return a value for each key. Raises ValueError for what is no range, with its key.

    A mapping of `from` and `to` is a number between them: a whole one if both are, else one with the unit of
    both. `any` is one of a list, and so is a list that stands for a key. A mapping of `number`, which is two
    whole numbers, and `of` is a list of so many values, each drawn from one of those in `of`; mappings among
    them get a `name` if they have none. All else is drawn part by part, or stays as it is.
    """
    drawn = {}
    for key, given in ranges.items():
        try:
            if key == "faults":
                _check_faults(given)
            drawn[key] = _drawn({"any": given} if isinstance(given, list) else given, random)
        except ValueError as error:
            raise ValueError(f"{key}: {error}") from None
    return drawn


def _check_faults(given: Any) -> None:
    """Raises ValueError unless these are faults to be drawn, or lists of faults of which one is drawn."""
    lists = isinstance(given, list) and all(isinstance(each, list) for each in given)
    if not lists and not (isinstance(given, dict) and set(given) in (LIST, CHOICE)):
        raise ValueError("write how many there are and what they are drawn from: {number: [0, 3], of: [...]}")


def _drawn(given: Any, random: Random) -> Any:
    if isinstance(given, list):
        return [_drawn(each, random) for each in given]
    if not isinstance(given, dict):
        return given
    keys = set(given)
    if keys == _RANGE:
        return _between(given["from"], given["to"], random)
    if keys == CHOICE:
        if not isinstance(given["any"], list) or not given["any"]:
            raise ValueError("`any` is a list of values, one of which is drawn")
        return _drawn(random.choice(given["any"]), random)
    if keys == LIST:
        return _several(given["number"], given["of"], random)
    if keys in _MEANT_AS_RANGES:
        raise ValueError("a range has the keys `from` and `to`, such as {from: 20, to: 50}")
    return {key: _drawn(value, random) for key, value in given.items()}


def _several(number: Any, of: Any, random: Random) -> list[Any]:
    whole = isinstance(number, list) and len(number) == 2 and all(type(each) is int for each in number)
    if not whole or not 0 <= number[0] <= number[1] or not isinstance(of, list) or not of:
        raise ValueError("`number` is two whole numbers, such as [0, 3], and `of` lists what is drawn from")
    if number[1] > _MOST:
        raise ValueError(f"`number` is up to {number[1]:,}, but a list has at most {_MOST:,} drawn values")
    made = []
    for index in range(random.randint(*number)):
        value = _drawn(random.choice(of), random)
        if isinstance(value, dict):
            value = {"name": f"drawn-{index + 1}"} | value
        made.append(value)
    return made


def _between(low: Any, high: Any, random: Random) -> Any:
    if type(low) is int and type(high) is int:
        if low <= high:
            return random.randint(low, high)
    elif isinstance(low, (int, float)) and isinstance(high, (int, float)):
        if low <= high:
            drawn = random.uniform(low, high)
            return drawn if high - low < _SMALL else round(drawn, 6)
    elif isinstance(low, str) and isinstance(high, str):
        least, most = _QUANTITY.fullmatch(low), _QUANTITY.fullmatch(high)
        if least and most and least[2] == most[2] and float(least[1]) <= float(most[1]):
            return _quantity(random.uniform(float(least[1]), float(most[1])), least[2])
    raise ValueError(
        f"{low!r} to {high!r} is no range. Write two numbers, or two quantities in one unit such as "
        '"10 s" and "60 s", the lower first'
    )


def _quantity(number: float, unit: str) -> str:
    """Return the text of a quantity with six digits, or with the whole bits of a rate; quantities in
    experiment files have no exponents."""
    exact = Decimal(f"{number:.6g}")
    if unit in RATE_UNITS:
        exact = round(exact * RATE_UNITS[unit]) / RATE_UNITS[unit]
    return f"{exact:f} {unit}"
