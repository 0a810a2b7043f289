"""What a package brings and cannot be had: it is told, and the rest is made without it."""

from __future__ import annotations

from dataclasses import dataclass

_LONGEST = 400
_TRACEBACK = "Traceback (most recent call last)"


class Unfit(Exception):
    """Something of a package is not what its door takes; the text says what is wrong with it."""


class NoTable(Unfit, KeyError):
    """A table is not there."""

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something of a package that was refused, or failed."""

    package: str
    """The distribution with its version, such as "swim-fd 0.1.0"."""
    text: str
    """What it is, of which package, what is wrong with it, and how to mend it where that is known."""

    @classmethod
    def of(cls, package: str, what: str, error: BaseException) -> Trouble:
        """`what`, such as 'the table "detections"', failed."""
        return cls(package, f"{what} of the package {package}: {said(error)}")


def said(error: BaseException) -> str:
    """An error of somebody else's code in one line, no longer than a reader wants it."""
    told = str(error).split("JVM stacktrace")[0].strip()
    if _TRACEBACK in told:
        # A process of Python that ran a function of the package for Spark: its last line says what happened.
        told = told.splitlines()[-1]
    words = " ".join(told.split())
    text = words if isinstance(error, Unfit) else f"{type(error).__name__}: {words}"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
