"""The amount of something that may go wrong: a number, or a share of the whole."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer

_PERCENT = re.compile(r"\s*(\d{1,3}(?:\.\d{1,9})?)\s*%\s*")
_MOST = 10**9


@dataclass(frozen=True, slots=True)
class Amount:
    """An amount: either `number` or, if `percent` is given, that share of the whole."""

    number: int = 0
    percent: Decimal | None = None

    def of(self, whole: int) -> float:
        """Return how many of `whole` the amount is; a limit below 1 allows none."""
        return self.number if self.percent is None else float(self.percent * whole / 100)

    def __str__(self) -> str:
        return str(self.number) if self.percent is None else f"{self.percent.normalize():f} %"


def parse_amount(value: Any) -> Amount:
    """Return an amount such as 3 or "1 %". Raises ValueError for anything else."""
    if isinstance(value, Amount):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST:
        return Amount(value)
    form = _PERCENT.fullmatch(value) if isinstance(value, str) else None
    if form is None or Decimal(form[1]) > 100:
        raise ValueError('a number from 0 on, or a share from 0 % to 100 %, such as 3 or "1 %", is needed')
    return Amount(percent=Decimal(form[1]))


def plain_amount(amount: Amount) -> int | str:
    """Return the amount as an experiment file has it."""
    return amount.number if amount.percent is None else str(amount)


Allowance = Annotated[Amount, BeforeValidator(parse_amount), PlainSerializer(plain_amount)]
"""An amount, written as a number or with a percent sign."""
