"""Writes the moving picture of the README, from a recording of the quickstart.

`python -m docs.making.moving_picture` runs it, in a minute or two. The picture is an SVG that moves by CSS
alone. Each frame is a screen of the terminal, shown for as long as it stood there; waits are cut to
`_LONGEST` seconds. Who asks for reduced motion sees the last frame.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from itertools import groupby, pairwise
from pathlib import Path
from typing import Final

from docs.making.recording import COLUMNS, Cell, Screen, record

PICTURE: Final = Path(__file__).parent.parent / "images" / "quickstart.svg"
_EXPERIMENT: Final = "experiments/quickstart.yaml"
_LEAST, _LONGEST, _LAST = 0.25, 1.0, 4.0
"""The seconds that a frame is shown at least and at most, and those of the last one."""
_FRAMES: Final = 60
"""The most frames; of more, those at equal distances are shown."""
_CELL, _LINE, _EDGE = 8.4, 20, 16
"""The width of a character, the height of a line and the margin, in pixels at 14 px."""
_COLOURS: Final = {
    "1": "#e06c75",
    "2": "#7ec699",
    "3": "#e5c07b",
    "4": "#82aaff",
    "5": "#d7a6ff",
    "6": "#7fdbe6",
}
"""The colours of a terminal by the last digit of their number, on a dark ground."""
_TEXT: Final = "#e6e6e0"

Frame = tuple[float, list[list[Cell]]]
"""The seconds for which a screen is shown, and its lines."""


def frames(pieces: Iterable[tuple[float, str]], command: str) -> list[Frame]:
    """Return what the screen showed below its prompt, with waits shortened."""
    prompt: list[Cell] = [(character, "") for character in f"$ {command}"]
    screen = Screen()
    seen: list[tuple[float, list[list[Cell]]]] = [(0.0, [prompt])]
    for at, text in pieces:
        screen.write(text)
        shown = [prompt, *(list(line) for line in screen.lines)]
        if at - seen[-1][0] < _LEAST and len(seen) > 1:
            seen[-1] = (seen[-1][0], shown)
        elif _gist(shown) != _gist(seen[-1][1]):
            seen.append((at, shown))
    every = -(-len(seen) // _FRAMES)
    kept = [*seen[:-1:every], seen[-1]]
    waits = [min(after[0] - before[0], _LONGEST) for before, after in pairwise(kept)]
    return [(wait, lines) for wait, (_, lines) in zip([*waits, _LAST], kept, strict=True)]


def _gist(lines: Sequence[Sequence[Cell]]) -> str:
    """Return what a screen says without what turns while nothing happens: spinners and seconds."""
    return re.sub(r"[\u2800-\u28ff]|\d+:[\d:\u2026]+", "", "\n".join(_words(line) for line in lines))


def _words(line: Sequence[Cell]) -> str:
    return "".join(character for character, _ in line).rstrip()


def picture(shown: Sequence[Frame], told: str) -> str:
    """Return the SVG of frames; `told` is its text for those who do not see it."""
    whole = sum(wait for wait, _ in shown)
    width = round(COLUMNS * _CELL + 2 * _EDGE)
    height = max(len(lines) for _, lines in shown) * _LINE + 2 * _EDGE
    rules, groups, at = [], [], 0.0
    for number, (wait, lines) in enumerate(shown):
        low, high = (f"{100 * moment / whole:.2f}%" for moment in (at, at + wait))
        last = number == len(shown) - 1
        rest = "" if last else f"{high},to{{visibility:hidden}}"
        first = "" if number == 0 else "from{visibility:hidden}"
        rules.append(f"@keyframes f{number}{{{first}{low}{{visibility:visible}}{rest}}}")
        rules.append(f"#f{number}{{animation-name:f{number}}}")
        texts = "".join(_line(line, row) for row, line in enumerate(lines))
        groups.append(f'<g id="f{number}" class="{"last" if last else "frame"}">{texts}</g>')
        at += wait
    style = (
        f"text{{font:14px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:{_TEXT};"
        "white-space:pre}"
        f"g{{animation:{whole:.1f}s step-end infinite}}.frame{{visibility:hidden}}"
        "@media(prefers-reduced-motion:reduce){g{animation:none!important}.frame{display:none}}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-labelledby="told"><title id="told">{escape(told)}</title>'
        f"<style>{style}{''.join(rules)}</style>"
        f'<rect x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="8" '
        f'fill="#1c2126" stroke="#6b7680"/>{"".join(groups)}</svg>\n'
    )


def _line(line: Sequence[Cell], row: int) -> str:
    """Return the text of a line, with a part for each style; nothing for an empty line."""
    column, parts = 0, []
    for style, cells in groupby(line, key=lambda cell: cell[1]):
        text = "".join(character for character, _ in cells)
        if text.strip():
            x = _EDGE + column * _CELL
            parts.append(
                f'<text x="{x:g}" y="{_EDGE + 14 + row * _LINE}"{_fill(style)} '
                f'textLength="{len(text.rstrip()) * _CELL:g}">{escape(text.rstrip())}</text>'
            )
        column += len(text)
    return "".join(parts)


def _fill(style: str) -> str:
    """Return the attribute for the colour that a terminal was told, such as "1;32" or "38;5;237"."""
    numbers = style.split(";")
    if "38" in numbers:
        return ' style="fill:#7d8790"' if numbers[-1] in ("237", "8") else ' style="fill:#f0718f"'
    colour = next((_COLOURS.get(n[-1]) for n in numbers if len(n) == 2 and n[0] in "39"), None)
    return f' style="fill:{colour}"' if colour else ""


if __name__ == "__main__":
    says = f"trellis run {_EXPERIMENT}"
    of = frames(record([".venv/bin/trellis", "run", _EXPERIMENT]), says)
    end = " ".join(_words(line) for line in of[-1][1][1:]).strip()
    PICTURE.write_text(picture(of, f"A terminal runs {says}. At the end it says: {end}"))
