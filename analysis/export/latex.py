"""Text and tables for LaTeX."""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import wrap
from typing import Final

from analysis.charts.numerals import MINUS, THIN_SPACE

_SPECIAL: Final = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "|": r"\textbar{}",
    "[": "{[}",  # otherwise a row that begins so is an option of the break before it
    "*": "{*}",  # so is this
    "\N{MICRO SIGN}": r"$\mu$",
    "\N{LESS-THAN OR EQUAL TO}": r"$\leq$",
    "\N{GREATER-THAN OR EQUAL TO}": r"$\geq$",
    "\N{ALMOST EQUAL TO}": r"$\approx$",
    "\N{RIGHTWARDS ARROW}": r"$\rightarrow$",
    "\N{CHECK MARK}": r"$\surd$",
    "\N{BALLOT X}": r"$\times$",
    "\N{DEGREE SIGN}": r"$^\circ$",
    THIN_SPACE: r"\,",
    MINUS: "$-$",
    "\N{NO-BREAK SPACE}": "~",
    "\N{PLUS-MINUS SIGN}": r"$\pm$",
    "\N{MULTIPLICATION SIGN}": r"$\times$",
    "\N{INFINITY}": r"$\infty$",
    "\N{EM DASH}": "---",
    "\N{EN DASH}": "--",
    "\N{RIGHT SINGLE QUOTATION MARK}": "'",
    "\n": " ",
}
_COMPARED: Final = re.compile("<=|>=")
_FIRST: Final = f"0123456789+-{MINUS}\N{EM DASH}\N{INFINITY}"
"""A number begins with one of these signs."""
_LONG: Final = 45
"""The most letters of a column that is not folded."""
_LINE, _GAP = 76, 3
"""The letters of a line of text, and of the gap beside a column. Folded columns have what others leave."""
_LEAST: Final = 10
"""The least letters of a folded column."""
_TELLING: Final = 2
"""The most columns that each part of a table has."""
_PAGE: Final = 45
"""The most rows of a table that is not continued on the next page."""


def escaped(text: str) -> str:
    """Return a text as LaTeX prints it. Letters stay as they are: the document reads UTF-8."""
    return "".join(_SPECIAL.get(letter, letter) for letter in _COMPARED.sub(_compared, text))


def _compared(found: re.Match[str]) -> str:
    return "\N{LESS-THAN OR EQUAL TO}" if found[0] == "<=" else "\N{GREATER-THAN OR EQUAL TO}"


def comment(text: str) -> str:
    """Return a text as a line of comment."""
    return "% " + " ".join(text.split())


def booktabs(columns: Sequence[str], rows: Sequence[Sequence[str]], said: str) -> str:
    """Return a table in the form of the package `booktabs`, after the comment `said`.

    A row of one text is a heading of those below it. Columns of numbers are set to the right, and long texts
    are folded. A table longer than a page is one of the package `longtable`, which has to be in one column.
    A table that is wider than a line is parted by its columns; each part has the first ones, which tell rows
    apart.
    """
    parts = _parts(columns, rows)
    told = [f" This is part {number} of {len(parts)}." for number in range(1, len(parts) + 1)]
    tables = [
        _table([columns[i] for i in part], [_of_part(row, part, columns) for row in rows], said, which)
        for part, which in zip(parts, told if len(parts) > 1 else [""], strict=True)
    ]
    return "\n\\bigskip\n".join(tables)


def _of_part(row: Sequence[str], part: Sequence[int], columns: Sequence[str]) -> Sequence[str]:
    return row if len(row) < len(columns) else [row[i] for i in part]


def _parts(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[list[int]]:
    """Return the columns of each part, as many in a part as fit a line, after those that tell rows apart."""
    whole = [row for row in rows if len(row) == len(columns)]
    first = list(range(_telling(whole, len(columns))))
    parts: list[list[int]] = []
    for i in range(len(first), len(columns)):
        part = [*(parts[-1] if parts else first), i]
        if parts and _width([columns[k] for k in part], [[row[k] for k in part] for row in whole]) > _LINE:
            parts.append([*first, i])
        else:
            parts[-1:] = [part]
    return parts or [first]


def _telling(rows: Sequence[Sequence[str]], columns: int) -> int:
    """Return the number of first columns that tell rows apart; 1 if more than a few would be needed."""
    for count in range(1, min(_TELLING, columns - 1) + 1):
        if len({tuple(row[:count]) for row in rows}) == len(rows):
            return count
    return 1


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], said: str, which: str) -> str:
    """Return one part of a table; `which` says of the others."""
    whole = [row for row in rows if len(row) == len(columns)]
    forms = _forms(columns, whole)
    kind, packages = ("longtable", "booktabs,longtable") if len(rows) > _PAGE else ("tabular", "booktabs")
    lines = [
        comment(said),
        comment(f"It needs \\usepackage{{{packages}}}.{which}"),
        f"\\begin{{{kind}}}{{{''.join(forms)}}}",
        r"\toprule",
        _head(columns, whole, forms),
        r"\midrule",
        *([r"\endhead"] if kind == "longtable" else []),
    ]
    for row in rows:
        if len(row) == 1 and len(columns) > 1:
            if lines[-1] not in (r"\midrule", r"\endhead"):
                lines.append(r"\addlinespace")
            lines.append(f"\\multicolumn{{{len(columns)}}}{{l}}{{\\emph{{{escaped(row[0])}}}}} \\\\")
        else:
            lines.append(_row([escaped(cell) for cell in row], forms))
    return "\n".join([*lines, r"\bottomrule", f"\\end{{{kind}}}", ""])


def _head(columns: Sequence[str], rows: Sequence[Sequence[str]], forms: Sequence[str]) -> str:
    """Return the row of headings. Those of numbers are stacked where the table is crowded."""
    cells, stacked = [], _headings(columns, rows)
    for lines, form in zip(stacked, forms, strict=True):
        text = r" \\ ".join(map(escaped, lines))
        cells.append(text if len(lines) == 1 or form != "r" else f"\\shortstack[r]{{{text}}}")
    return _row(cells, forms)


def _row(cells: Sequence[str], forms: Sequence[str]) -> str:
    texts = [
        f"\\raggedright {cell}" if form[0] == "p" and cell else cell
        for cell, form in zip(cells, forms, strict=True)
    ]
    end = r"\tabularnewline" if forms[-1][0] == "p" else r"\\"  # \raggedright has another \\
    return f"{' & '.join(texts)} {end}"


def _are_numbers(rows: Sequence[Sequence[str]], index: int) -> bool:
    of = [row[index] for row in rows]
    return any(of) and all(cell[:1] in _FIRST for cell in of)


def _longest(name: str, rows: Sequence[Sequence[str]], index: int) -> int:
    return max(len(text) for text in (name, *(row[index] for row in rows)))


def _room(columns: Sequence[str]) -> int:
    """Return the letters that the columns may have together."""
    return _LINE - _GAP * len(columns)


def _headings(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the lines of each heading: of numbers several, if the table would be wider than a line."""
    crowded = sum(_longest(name, rows, i) for i, name in enumerate(columns)) > _room(columns)
    return [
        wrap(name, max(_longest("", rows, i), _LEAST), break_long_words=False, break_on_hyphens=False)
        if crowded and name and _are_numbers(rows, i)
        else [name]
        for i, name in enumerate(columns)
    ]


def _letters(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[list[int], list[int]]:
    """Return the most letters of each column, and the columns whose texts are folded.

    Long texts are folded; if the others fill more than a line, so are all texts that are not short.
    """
    room = _room(columns)
    crowded = sum(_longest(name, rows, i) for i, name in enumerate(columns)) > room
    headings = _headings(columns, rows)
    letters = [_longest(max(lines, key=len), rows, i) for i, lines in enumerate(headings)]
    longest = 2 * _LEAST if crowded else _LONG
    folded = [i for i, most in enumerate(letters) if most > longest and not _are_numbers(rows, i)]
    room -= sum(most for i, most in enumerate(letters) if i not in folded)
    together = sum(letters[i] for i in folded)
    shares = {i: max(room * letters[i] // together, _LEAST) for i in folded}
    return [shares.get(i, most) for i, most in enumerate(letters)], folded


def _width(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """Return the letters of a line of the table, with the gaps."""
    return sum(_letters(columns, rows)[0]) + _GAP * len(columns)


def _forms(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the letter of each column: l, r, or p with its width."""
    letters, folded = _letters(columns, rows)
    forms = ["r" if _are_numbers(rows, i) else "l" for i in range(len(columns))]
    for i in folded:
        forms[i] = f"p{{{min(letters[i] / _LINE, 1):.2f}\\linewidth}}"
    return forms
