"""Text and tables for LaTeX."""

from __future__ import annotations

import re
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
    """
    forms = _forms(columns, [row for row in rows if len(row) == len(columns)])
    form = "".join(forms)
    kind, packages = ("longtable", "booktabs,longtable") if len(rows) > _PAGE else ("tabular", "booktabs")
    lines = [
        comment(said),
        comment(f"It needs \\usepackage{{{packages}}}."),
        f"\\begin{{{kind}}}{{{form}}}",
        r"\toprule",
        _row(columns, forms),
        r"\midrule",
        *([r"\endhead"] if kind == "longtable" else []),
    ]
    for row in rows:
        if len(row) == 1 and len(columns) > 1:
            if lines[-1] not in (r"\midrule", r"\endhead"):
                lines.append(r"\addlinespace")
            lines.append(f"\\multicolumn{{{len(columns)}}}{{l}}{{\\emph{{{escaped(row[0])}}}}} \\\\")
        else:
            lines.append(_row(row, forms))
    return "\n".join([*lines, r"\bottomrule", f"\\end{{{kind}}}", ""])


def _row(cells: Sequence[str], forms: Sequence[str]) -> str:
    texts = [
        f"\\raggedright {escaped(cell)}" if form[0] == "p" and cell else escaped(cell)
        for cell, form in zip(cells, forms, strict=True)
    ]
    end = r"\tabularnewline" if forms[-1][0] == "p" else r"\\"  # \raggedright has another \\
    return f"{' & '.join(texts)} {end}"


def _forms(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the letter of each column: l, r, or p with its width.

    Long texts are folded; if the others fill more than a line, so are all texts that are not short.
    """
    cells = [[row[index] for row in rows] for index in range(len(columns))]
    letters = [max(len(text) for text in (name, *of)) for name, of in zip(columns, cells, strict=True)]
    are_numbers = [any(of) and all(cell[:1] in _FIRST for cell in of) for of in cells]
    room = _LINE - _GAP * len(columns)
    longest = _LONG if sum(letters) <= room else 2 * _LEAST
    folded = [i for i, most in enumerate(letters) if most > longest and not are_numbers[i]]
    room -= sum(most for i, most in enumerate(letters) if i not in folded)
    forms = ["r" if number else "l" for number in are_numbers]
    for i in folded:
        share = max(room * letters[i] / sum(letters[k] for k in folded), _LEAST) / _LINE
        forms[i] = f"p{{{min(share, 1):.2f}\\linewidth}}"
    return forms
