"""The error of a file that Trellis wrote and that has changed since."""

from __future__ import annotations


class DamagedFile(ValueError):
    """A file of a run directory that is not what Trellis wrote; the text names it and says what to do."""
