"""Reports of what a package brings and cannot be used; everything else is made without it."""

from __future__ import annotations

from dataclasses import dataclass

FAILURES = (Exception, SystemExit)
"""The errors of a package's code that the analysis survives."""
_LONGEST = 400
_TRACEBACK = "Traceback (most recent call last)"


class Unfit(Exception):
    """A package brings something that its group does not take; the text says what is wrong with it."""


class NoTable(Unfit, KeyError):
    """A table is not there."""

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True, slots=True)
class Trouble:
    """The report of something of a package that was refused, or failed."""

    package: str
    """The distribution with its version, such as "swim-fd 0.1.0"."""
    text: str
    """The text: what it is, of which package, what is wrong with it, and how to mend it where that
    is known."""

    @classmethod
    def of(cls, package: str, what: str, error: BaseException) -> Trouble:
        """Return the report that `what`, such as 'the table "detections"', failed."""
        return cls(package, f"{what} of the package {package}: {said(error)}")


def said(error: BaseException) -> str:
    """Return an error of a package's code in one line that is short enough to read."""
    told = str(error).split("JVM stacktrace")[0].strip()
    if _TRACEBACK in told:
        # A Python process that ran a function of the package for Spark failed: its last line says what
        # happened.
        told = told.splitlines()[-1]
    words = " ".join(told.split())
    text = words if isinstance(error, Unfit) else f"{type(error).__name__}: {words}"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
