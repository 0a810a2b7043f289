"""The style of figures for a paper, with which matplotlib writes the same bytes each time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any, Final

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

COLOURS: Final = ("#0a5f8a", "#b8480c", "#2c7a4b", "#8a3f8f", "#8a6a00", "#b02a5b", "#3d4fb5", "#555d63")
"""The colours of series, those of the report's page on paper."""
DASHES: Final = (
    *("", "7 4", "2 3", "10 3 2 3"),
    *("14 4", "4 2", "10 3 2 3 2 3", "1.5 6"),
)
"""The dashes and gaps of series, in half points; a line without any is drawn through."""
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "p", "X")
HATCHES: Final = ("", "////", "\\\\\\\\", "||||", "----", "xxxx", "++++", "....")
INK: Final = "#1d2226"
RULE: Final = "#d9d5ca"
PAPER: Final = (0, (4, 2))
"""The dashes around the values that a paper's number allows."""
PAPER_REACH: Final = 0.3
"""The half height of these dashes at a bar, as a share of its row."""
SOFT: Final = "#5b646b"

FONT_SIZE: Final = 8.0
"""The size (points) of text, as captions of papers have it."""
LINE: Final = FONT_SIZE * 1.35 / 72
"""The height (inches) of a line of text."""
_LETTER: Final = FONT_SIZE * 0.5 / 72
"""The mean width (inches) of a letter."""
_KEY: Final = 0.45
"""The width (inches) of the sample of a line in a legend, with its gaps."""

_SETTINGS: Final[Any] = {
    "font.family": ["STIXGeneral", "DejaVu Sans"],
    "font.size": FONT_SIZE,
    "axes.labelsize": FONT_SIZE,
    "axes.linewidth": 0.6,
    "axes.edgecolor": SOFT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.labelsize": FONT_SIZE,
    "ytick.labelsize": FONT_SIZE,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "grid.color": RULE,
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.1,
    "lines.markersize": 3.6,
    "hatch.linewidth": 0.6,
    "legend.fontsize": FONT_SIZE,
    "legend.frameon": False,
    "legend.borderaxespad": 0.0,
    "figure.constrained_layout.h_pad": 0.02,
    "figure.constrained_layout.w_pad": 0.02,
    "text.parse_math": False,
    "svg.hashsalt": "trellis",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
    "path.simplify": False,
}
"""The settings of matplotlib. Text is never read as formulas, as names may have a dollar sign. Fonts are
those that come with matplotlib, and are embedded in a PDF as publishers ask for them (TrueType)."""


@contextmanager
def style() -> Iterator[None]:
    """Have matplotlib draw in this style, whatever the settings of the user or of a folder are."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        yield


def file_of(figure: Figure, kind: str) -> bytes:
    """Return a figure as a file: `svg` or `pdf`. No date is in it. To be called in `style`."""
    nothing = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}[kind]
    buffer = BytesIO()
    figure.savefig(buffer, format=kind, metadata=nothing)
    return buffer.getvalue()


def colour(number: int) -> str:
    """Return the colour of a series or a bar."""
    return COLOURS[number % 8]


def dash(number: int) -> tuple[float, tuple[float, ...] | None]:
    """Return the dashes of a series, as matplotlib takes them. They differ again after eight colours."""
    pattern = DASHES[(number + number // 8) % 8]
    return 0, tuple(float(part) / 2 for part in pattern.split()) or None


def marker(number: int) -> str:
    """Return the marker of a series."""
    return MARKERS[(number + number // 8 * 2) % 8]


def legend_columns(labels: list[str], width: float) -> int:
    """Return how many labels fit beside each other into a width (inches)."""
    longest = max(map(len, labels)) * _LETTER + _KEY
    return max(min(int(width / longest), len(labels)), 1)


def letters(width: float) -> int:
    """Return how many letters fit into a width (inches)."""
    return max(int(width / _LETTER), 10)


def legend_height(labels: list[str], width: float) -> float:
    """Return the height (inches) of a legend in a width (inches); a label may have several lines."""
    columns = legend_columns(labels, width)
    rows = -(-len(labels) // columns)
    lines = max(label.count("\n") + 1 for label in labels)
    return rows * lines * LINE * 1.15


_UNITS: Final = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72.27}
LEAST_WIDTH, MOST_WIDTH = 0.5, 40.0
"""The least and the most width (inches) of a figure."""


def inches(text: str) -> float:
    """Return a width such as "3.33in", "8.5 cm", "84 mm" or "240pt" (TeX's points) in inches.

    Raises ValueError, which says what may be written.
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*(in|cm|mm|pt)\s*", str(text))
    if found is None:
        raise ValueError(f'"{text}" is no width. Write a number and in, cm, mm or pt, such as 3.33in')
    width = float(found[1]) * _UNITS[found[2]]
    if not LEAST_WIDTH <= width <= MOST_WIDTH:
        raise ValueError(f"{text} is not between {LEAST_WIDTH:g} and {MOST_WIDTH:g} inches")
    return width


def mark_ticks(axes: Axes, ticks: list[tuple[float, str]], which: str) -> None:
    """Write the ticks of the report's page, values with their texts, at the axis "x" or "y"."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_ticks([at for at, _ in ticks], [text for _, text in ticks])
    axis.set_ticks([], minor=True)
