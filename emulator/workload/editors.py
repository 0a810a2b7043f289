"""Editors of an encyclopedia and their articles: read from a file, or drawn with the marginals of one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from emulator.files.input_facts import Facts, counted, told
from emulator.files.trace_error import TraceError
from emulator.files.trace_lines import numbered_lines, shown, whole_number

_EDITORS, _PAGES = ("editor", "user", "contributor", "author"), ("page", "article", "title")
"""Parts of the headings of the two columns."""
_TRIES = 100_000
"""The most draws of an editor who does not have the article; then the first such editor gets it."""
Pairs = tuple[NDArray[np.int32], NDArray[np.int32]]
"""The editor and the article of each subscription."""


@dataclass(frozen=True, slots=True)
class Edits:
    """The pairs of a file, and what is told of it."""

    pairs: Pairs
    facts: Facts


def load_editors(file: Path) -> Edits:
    """Return editors and articles, each numbered in the order of its first line `page,editor` in the file.

    A first line that is not two numbers is a heading. A pair that is there twice counts once. Raises
    TraceError for a missing or empty file or a line that is not two whole numbers.
    """
    editors: dict[int, int] = {}
    articles: dict[int, int] = {}
    pairs: dict[tuple[int, int], None] = {}
    heading, lines = "", 0
    for line, text in numbered_lines(file):
        words = [word.strip().strip('"') for word in text.split(";" if ";" in text else ",")]
        try:
            page, editor = map(whole_number, words)
        except ValueError as error:
            if not (lines or heading) and len(words) == 2 and not any(_is_number(word) for word in words):
                heading = text
                if _is_of(words[0], _EDITORS) or _is_of(words[1], _PAGES):
                    mend = "Swap the columns: a line is `page,editor`"
                    text = f"the heading {shown(text)} names the editor before the page"
                    raise TraceError(file, line, f"{text}. {mend}") from None
                continue
            told_of = f"{shown(text)} is not two whole numbers, `page,editor`"
            raise TraceError(file, line, told_of) from error
        lines += 1
        pair = editors.setdefault(editor, len(editors)), articles.setdefault(page, len(articles))
        pairs[pair] = None
    if not pairs:
        raise TraceError(file, 0, "has no pair of page and editor")
    table = np.array(list(pairs), dtype=np.int32)
    said = told(
        (
            f"{file.name}: {counted(len(editors), 'editor')} of {counted(len(articles), 'article')}, "
            f"{counted(len(pairs), 'pair')}",
            f"the heading {shown(heading)} is left out" if heading else None,
            f"{counted(lines - len(pairs), 'line')} that repeat a pair count once"
            if lines > len(pairs)
            else None,
        )
    )
    return Edits((table[:, 0], table[:, 1]), Facts(said))


def _is_of(heading: str, names: tuple[str, ...]) -> bool:
    return any(name in heading.lower() for name in names)


def _is_number(word: str) -> bool:
    return bool(word) and not set(word) - set("0123456789+-.eE")


def sample_articles(held: Pairs, articles: int, random: np.random.Generator) -> Pairs:
    """Return the editors of this many random articles, and which of these they edit (Magnet, section 4.5).

    Raises ValueError if there are fewer articles.
    """
    editor, article = held
    known = int(article.max()) + 1
    if articles > known:
        raise ValueError(f"{articles} articles, but there are only {known}")
    chosen = np.full(known, -1)
    chosen[random.permutation(known)[:articles]] = np.arange(articles)
    kept = chosen[article] >= 0
    numbers = np.unique(editor[kept], return_inverse=True)[1]
    return numbers.astype(np.int32), chosen[article[kept]].astype(np.int32)


def draw_editors(editors: int, articles: int, mean: float, most: int, random: np.random.Generator) -> Pairs:
    """Return interests with these marginals and no correlation: one article of an editor says nothing of the
    others.

    An article has 1 to `most` editors by the quantiles of a power law whose exponent gives `mean`; every
    editor has an article, as far as there are enough. Raises ValueError if no exponent gives that mean.
    """
    sizes = np.arange(1, min(most, editors) + 1, dtype=np.float64)
    weight = np.power(sizes, -_exponent(sizes, mean))
    quantiles = (np.arange(articles) + 0.5) / articles
    of = np.searchsorted(np.cumsum(weight) / weight.sum(), quantiles) + 1
    slots = np.repeat(np.arange(articles), of)
    random.shuffle(slots)
    taken: set[tuple[int, int]] = set()
    first = random.permutation(editors).tolist()
    for article in slots.tolist():
        pair = (first.pop() if first else int(random.integers(editors)), article)
        for _ in range(_TRIES):
            if pair not in taken:
                break
            pair = (int(random.integers(editors)), article)
        else:
            pair = (next(editor for editor in range(editors) if (editor, article) not in taken), article)
        taken.add(pair)
    table = np.array(sorted(taken), dtype=np.int32)
    return table[:, 0], table[:, 1]


def _exponent(sizes: NDArray[np.float64], mean: float) -> float:
    """Return the exponent of the power law over these sizes that has this mean."""
    low, high = 0.0, 10.0
    if not _mean(sizes, high) < mean < _mean(sizes, low):
        raise ValueError(f"no power law from 1 to {len(sizes)} has a mean of {mean:g}")
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _mean(sizes, middle) > mean else (low, middle)
    return low


def _mean(sizes: NDArray[np.float64], exponent: float) -> float:
    weight = np.power(sizes, -exponent)
    return float((sizes * weight).sum() / weight.sum())
