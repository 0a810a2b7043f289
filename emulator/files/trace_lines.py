"""The lines of trace and matrix files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from emulator.files.reading import open_regular
from emulator.files.trace_error import TraceError

_LARGEST_FILE = 8 << 30
"""The most bytes of a file: twice a matrix of 20,000 hosts."""
_LONGEST_LINE = 16 << 20
"""The most bytes of a line."""
MOST_DIGITS = 18


def numbered_lines(file: Path) -> Iterator[tuple[int, str]]:
    """Yield the stripped lines that are neither empty nor comments, with their numbers from 1 on.

    Raises TraceError if this is no file, too large, or no text.
    """
    try:
        with open_regular(file, _LARGEST_FILE) as lines:
            number = 0
            while line := lines.readline(_LONGEST_LINE + 1):
                number += 1
                if len(line) > _LONGEST_LINE:
                    raise TraceError(file, number, f"is longer than the {_LONGEST_LINE:,} bytes of a line")
                text = line.decode().strip()
                if text and not text.startswith("#"):
                    yield number, text
    except OSError as error:
        raise TraceError(file, 0, f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TraceError(file, number, "is not a text file in UTF-8") from error


def whole_number(word: str) -> int:
    """Return a number of at most 18 plain digits, perhaps with a sign.

    Raises ValueError for any other text.
    """
    digits = word.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= MOST_DIGITS):
        raise ValueError(f"{shown(word)} is not a whole number of at most {MOST_DIGITS} digits")
    return int(word)


def shown(text: str) -> str:
    """Return the beginning of a text, in quotes."""
    return repr(text if len(text) <= 40 else f"{text[:37]}...")
