"""The page's style: colours that can be read, and names that fit on a phone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from analysis.report import page as pages

STYLE = (Path(pages.__file__).parent / "templates" / "style.css").read_text()
LIGHT, DARK = re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)[:2]
READABLE = 4.5
"""The contrast that WCAG asks of text."""
Colour = tuple[float, float, float]


def linear(page: str, name: str) -> Colour:
    digits = re.search(rf"--{name}: #([0-9a-f]{{6}})", page)
    assert digits
    parts = [int(digits[1][i : i + 2], 16) / 255 for i in (0, 2, 4)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return red, green, blue


def oklab(colour: Colour) -> Colour:
    red, green, blue = colour
    long = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue) ** (1 / 3)
    middle = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue) ** (1 / 3)
    short = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    )


def of_oklab(lightness: float, a: float, b: float) -> Colour:
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    middle = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return (
        4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * middle + 1.7076147010 * short,
    )


def contrast(one: Colour, other: Colour) -> float:
    dark, light = sorted(0.2126 * red + 0.7152 * green + 0.0722 * blue for red, green, blue in (one, other))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("page", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("step", range(9))
def test_the_number_in_a_cell_of_a_heat_map_can_be_read(page: str, step: int) -> None:
    found = re.search(rf"\.h{step} \{{ --share: (\d+)% \}}", STYLE)
    on_paper = re.search(r"^(.*) \{ color: var\(--paper\) \} \.scale", STYLE, re.MULTILINE)
    assert found and on_paper
    share, paper = int(found[1]) / 100, linear(page, "paper")
    mixed = [
        share * c + (1 - share) * p for c, p in zip(oklab(linear(page, "c0")), oklab(paper), strict=True)
    ]
    text = paper if f".h{step}" in on_paper[1].split(", ") else linear(page, "ink")
    assert contrast(of_oklab(*mixed), text) >= READABLE


def test_the_name_of_a_trial_in_a_sentence_breaks_on_a_phone() -> None:
    lead = re.search(r"^\.lead \{(.*)\}", STYLE, re.MULTILINE)
    assert lead and "overflow-wrap: anywhere" in lead[1]


def test_a_long_name_in_a_text_breaks_instead_of_making_the_page_wider() -> None:
    body = re.search(r"^body \{(.*?)\}", STYLE, re.MULTILINE)
    assert body and "overflow-wrap: break-word" in body[1]
