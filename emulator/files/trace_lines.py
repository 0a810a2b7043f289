"""The lines of trace and matrix files."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from pathlib import Path

from emulator.files.compressed import DAMAGE, name_of, open_content
from emulator.files.trace_error import TraceError

_LARGEST_FILE = 8 << 30
"""The most bytes of a file: twice a matrix of 20,000 hosts."""
_LONGEST_LINE = 16 << 20
"""The most bytes of a line."""
MOST_DIGITS = 18
_FIRST_COMMENTS = 10


def numbered_lines(file: Path, comments: list[str] | None = None) -> Iterator[tuple[int, str]]:
    """Yield the stripped lines that are neither empty nor comments, with their numbers from 1 on.

    The first comments are added to `comments`.

    The file may be compressed (gz, xz, bz2, or a zip of one file) and begin with a byte order mark. Raises
    TraceError if this is no file, too large, damaged, or no text.
    """
    number = size = 0
    try:
        with open_content(file, _LARGEST_FILE) as lines:
            while line := lines.readline(_LONGEST_LINE + 1):
                number += 1
                size += len(line)
                if len(line) > _LONGEST_LINE:
                    raise TraceError(file, number, f"is longer than the {_LONGEST_LINE:,} bytes of a line")
                if size > _LARGEST_FILE:
                    raise TraceError(file, number, f"has more than {_LARGEST_FILE:,} bytes up to here")
                if number == 1:
                    line = _first_line(line, file)
                text = line.decode().strip()
                if "\r" in text:
                    mend = "Save it with line feeds, such as by `tr '\\r' '\\n'`"
                    raise TraceError(file, number, f"has carriage returns inside the line. {mend}")
                if text and not text.startswith("#"):
                    yield number, text
                elif comments is not None and text and len(comments) < _FIRST_COMMENTS:
                    comments.append(text)
    except DAMAGE as error:
        what = str(error) or type(error).__name__
        raise TraceError(
            file, number, f"cannot be uncompressed from here on: {what}. Get it again"
        ) from error
    except OSError as error:
        raise TraceError(file, 0, f"cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        mend = "Save it as UTF-8"
        raise TraceError(file, number, f"is not a text file in UTF-8. {mend}") from error


def _first_line(line: bytes, file: Path) -> bytes:
    """Return the first line without its byte order mark.

    Raises TraceError for a mark of another encoding, and for what is compressed again or an archive.
    """
    if (name := name_of(line)) is not None:
        raise TraceError(file, 1, f"holds a {name} file, which is not read. Unpack it")
    if line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise TraceError(file, 1, "is not a text file in UTF-8 but in UTF-16. Save it as UTF-8")
    return line.removeprefix(codecs.BOM_UTF8)


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
