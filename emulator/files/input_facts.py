"""Facts that a reader tells of an input: what it found, and what it left out, filled in or merged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Facts:
    """Sentences about one input. A warning is a fact that may mean that the input is not what was meant."""

    said: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def __add__(self, other: Facts) -> Facts:
        return Facts((*self.said, *other.said), (*self.warnings, *other.warnings))

    def __bool__(self) -> bool:
        return bool(self.said or self.warnings)


NOTHING = Facts()
"""The facts of an input of which there is nothing to tell."""


def counted(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun, such as "1 pair" or "2,500 pairs"."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def told(sentences: Iterable[str | None]) -> tuple[str, ...]:
    """Return the sentences that there are."""
    return tuple(sentence for sentence in sentences if sentence)
