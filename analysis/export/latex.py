"""Text and tables for LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from analysis.charts.numerals import MINUS, THIN_SPACE

_SPECIAL: Final = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
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
_FIRST: Final = f"0123456789+-{MINUS}\N{EM DASH}\N{INFINITY}"
"""A number begins with one of these signs."""
_LONG: Final = 45
"""The most letters of a column that is not folded."""
_PAGE: Final = 45
"""The most rows of a table that is not continued on the next page."""


def escaped(text: str) -> str:
    """Return a text as LaTeX prints it. Letters stay as they are: the document reads UTF-8."""
    return "".join(_SPECIAL.get(letter, letter) for letter in text)


def comment(text: str) -> str:
    """Return a text as a line of comment."""
    return "% " + " ".join(text.split())


def booktabs(columns: Sequence[str], rows: Sequence[Sequence[str]], said: str) -> str:
    """Return a table in the form of the package `booktabs`, after the comment `said`.

    A row of one text is a heading of those below it. Columns of numbers are set to the right, and long texts
    are folded. A table longer than a page is one of the package `longtable`, which has to be in one column.
    """
    whole = [row for row in rows if len(row) == len(columns)]
    form = "".join(_form([row[index] for row in whole], len(columns)) for index in range(len(columns)))
    kind, packages = ("longtable", "booktabs,longtable") if len(rows) > _PAGE else ("tabular", "booktabs")
    lines = [
        comment(said),
        comment(f"It needs \\usepackage{{{packages}}}."),
        f"\\begin{{{kind}}}{{{form}}}",
        r"\toprule",
        _row(columns),
        r"\midrule",
        *([r"\endhead"] if kind == "longtable" else []),
    ]
    for row in rows:
        if len(row) == 1 and len(columns) > 1:
            if lines[-1] not in (r"\midrule", r"\endhead"):
                lines.append(r"\addlinespace")
            lines.append(f"\\multicolumn{{{len(columns)}}}{{l}}{{\\emph{{{escaped(row[0])}}}}} \\\\")
        else:
            lines.append(_row(row))
    return "\n".join([*lines, r"\bottomrule", f"\\end{{{kind}}}", ""])


def _row(cells: Sequence[str]) -> str:
    return " & ".join(escaped(cell) for cell in cells) + r" \\"


def _form(cells: Sequence[str], columns: int) -> str:
    """Return the letter of a column: l, r, or p with its width."""
    if max(map(len, cells), default=0) > _LONG:
        return f"p{{{1 / max(columns, 2):.2f}\\linewidth}}"
    return "r" if any(cells) and all(cell[:1] in _FIRST for cell in cells) else "l"
