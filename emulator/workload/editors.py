"""Editors of an encyclopedia and their articles: read from a file, or drawn with the marginals of one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from emulator.files.trace_error import TraceError

Pairs = tuple[NDArray[np.int32], NDArray[np.int32]]
"""The editor and the article of each subscription."""


def load_editors(file: Path) -> Pairs:
    """Return editors and articles, each numbered in the order of its first line `page,editor` in the file.

    The first line is a heading. A pair that is there twice counts once. Raises TraceError for a missing or
    empty file or a line that is not two whole numbers.
    """
    editors: dict[int, int] = {}
    articles: dict[int, int] = {}
    pairs: dict[tuple[int, int], None] = {}
    try:
        with file.open(encoding="utf-8") as lines:
            next(lines, None)
            for line, text in enumerate(lines, 2):
                words = text.strip().split(",")
                if words == [""]:
                    continue
                try:
                    page, editor = map(int, words)
                except ValueError as error:
                    told = f"{text.strip()!r} is not two whole numbers, `page,editor`"
                    raise TraceError(file, line, told) from error
                pair = editors.setdefault(editor, len(editors)), articles.setdefault(page, len(articles))
                pairs[pair] = None
    except OSError as error:
        raise TraceError(file, 0, f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TraceError(file, 0, "is not a text file") from error
    if not pairs:
        raise TraceError(file, 0, "has no pair of page and editor")
    table = np.array(list(pairs), dtype=np.int32)
    return table[:, 0], table[:, 1]


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
        while pair in taken:
            pair = (int(random.integers(editors)), article)
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
