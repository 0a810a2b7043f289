"""Conditions on measures that an experiment expects of each trial, or of a part of it, such as
"hit_ratio >= 0.99 from 10 s after split"."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Final

from pydantic import AfterValidator

from emulator.experiment.file.trial_part import TrialPart

_FORM = re.compile(
    r"\s*(?P<measure>[a-z][a-z0-9_]*|state\.[A-Za-z0-9_./ -]*[A-Za-z0-9_])"
    r"\s*(?P<comparison><=|>=|==|<|>)"
    r"\s*(?P<number>-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)"
    r"\s*(?P<unit>%|[A-Za-z]+)?"
    r"(?:\s+(?P<part>(?:before|during|after|from|until)\s.*\S))?\s*"
)
_OUT_OF_ORDER = re.compile(
    r"\s*(?P<measure>\S+)\s+(?P<part>(?:before|during|after|from|until)\s[^<>=]*[^<>=\s])"
    r"\s*(?P<comparison>[<>=].*)"
)
_IN_WORDS = re.compile(
    r"\s*(?:(?P<statistic>mean|median|p50|p90|p99|max) )?(?P<words>[a-z]+(?: [a-z]+)*)\s*(?P<rest>[<>=].*)"
)
_LONGEST: Final = 200
_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
}
_UNITS: Mapping[str, tuple[str, Decimal]] = {
    "%": ("share", Decimal("0.01")),
    "us": ("ms", Decimal("0.001")),
    "ms": ("ms", Decimal(1)),
    "s": ("ms", Decimal(1000)),
    "min": ("ms", Decimal(60_000)),
}
"""The units that a number may have: that of the measure, and how many of it one is."""
_OF_SECONDS: Final = Decimal("0.001")
"""How many s a ms is, for measures in s."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """One condition on a measure."""

    text: str
    measure: str
    comparison: str
    number: float
    unit: str
    """The unit of the number as it is written; empty where it is the measure's own."""
    part: TrialPart | None = None
    """The part of the trial whose operations count; None if all do."""

    @classmethod
    def parse(cls, text: str) -> Expectation:
        """Return the condition that a text says. Raises ValueError for any other text."""
        form = _FORM.fullmatch(text) if len(text) <= _LONGEST else None
        if form is None:
            raise ValueError(
                "an expectation is a measure, one of <=, >=, ==, < and >, and a number, such as "
                '"hit_ratio >= 99 %", and perhaps a part of the trial, such as "from 10 s after split"'
                + (_in_order(text) or _in_one_word(text))
            )
        unit = form["unit"] or ""
        if unit and unit not in _UNITS:
            raise ValueError(f'"{unit}" is no unit of an expectation. Use {", ".join(_UNITS)}, or none')
        try:
            part = None if form["part"] is None else TrialPart.parse(" ".join(form["part"].split()))
        except ValueError as error:
            raise ValueError(f"an expectation is of a whole trial or of a part, but {error}") from None
        return cls(text.strip(), form["measure"], form["comparison"], float(form["number"]), unit, part)

    def misfit(self, unit: str) -> str:
        """Return what is wrong with the number or its unit for a measure in `unit`, or ""."""
        if unit == "share" and not self.unit and self.number > 1:
            return f"{self.measure} is a share, of which 1 is all. Write {self.number:g} %"
        if not self.unit or _UNITS[self.unit][0] == ("ms" if unit == "s" else unit):
            return ""
        of = f"is in {unit}" if unit else "has no unit"
        return f"{self.measure} {of}, not in {self.unit}"

    def holds(self, measured: float, unit: str) -> bool:
        """Return whether a value of the measure, in the measure's `unit`, is as expected."""
        number = self.number
        if self.unit:
            # In binary, 57 times 0.01 is more than 0.57, which a measure of 57 in 100 is.
            scale = _OF_SECONDS if unit == "s" else 1
            number = float(Decimal(repr(number)) * _UNITS[self.unit][1] * scale)
        return _COMPARISONS[self.comparison](measured, number)


def _in_order(text: str) -> str:
    """Return how to write a condition whose part of the trial stands before the comparison."""
    form = _OUT_OF_ORDER.fullmatch(text) if len(text) <= _LONGEST else None
    if form is None:
        return ""
    part = " ".join(form["part"].split()).replace(" to ", " until ")
    ordered = f"{form['measure']} {form['comparison'].strip()} {part}"
    try:
        Expectation.parse(ordered)
    except ValueError:
        return ""
    return f'. Write "{ordered}"'


def _in_one_word(text: str) -> str:
    """Return how to write a condition on a measure that is named in words, such as "p99 delay"."""
    form = _IN_WORDS.fullmatch(text) if len(text) <= _LONGEST else None
    if form is None:
        return ""
    measure = form["words"].replace(" ", "_")
    measure += "_ms" if measure.endswith("delay") else ""
    statistic = {"mean": None, "p50": "median"}.get(form["statistic"], form["statistic"])
    written = f"{measure}_{statistic} {form['rest']}" if statistic else f"{measure} {form['rest']}"
    if written == text:
        return ""
    try:
        Expectation.parse(written)
    except ValueError:
        return ""
    return f'. Write "{written}"'


def _checked(text: str) -> str:
    return Expectation.parse(text).text


Expected = Annotated[str, AfterValidator(_checked)]
"""The text of an expectation."""
