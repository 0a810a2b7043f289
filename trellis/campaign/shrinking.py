"""The search for a smaller trial that still fails as the first one does (Zeller, Hildebrandt: Simplifying and
Isolating Failure-Inducing Input, IEEE TSE 28(2), 2002)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import NamedTuple

from trellis.campaign.cuts import Values, cuts

_SEEDS = 5
"""The seeds with which each cut is tried: a smaller trial has other draws than a larger one."""


class Smaller(NamedTuple):
    """A trial that was made smaller."""

    values: Values
    tried: int
    """The number of trials that were run for it."""
    is_least: bool
    """This is true if no cut is left after which it fails; false if the budget ended before."""


def shrink(
    values: Values,
    fails: Callable[[Values], bool | None],
    budget: int,
    tell: Callable[[str], None],
    settles_less: bool = True,
) -> Smaller:
    """Leave out of `values` what a failure does not need, by at most `budget` trials.

    `fails` says whether a trial with these values still is not as expected, None if there can be no such
    trial. `tell` gets a word for each cut that was made. With `settles_less` the phases before the measure
    phase may be shorter, too.

    A round tries each cut with one seed, the largest ones first, and a cut that was not possible not again in
    this round. The next round takes the next seed. The search ends after a round of each seed without
    a cut.
    """
    tried, later, idle = set[str](), 0, 0
    while idle < _SEEDS:
        useless, made = set[str](), 0
        while True:
            for cut in cuts(values, settles_less):
                candidate = cut.values | {"seed": values.get("seed", 1) + later}
                known = json.dumps(candidate, sort_keys=True)
                if cut.key in useless or known in tried:
                    continue
                if len(tried) == budget:
                    return Smaller(values, budget, False)
                outcome = fails(candidate)
                if outcome is not None:
                    tried.add(known)
                if outcome:
                    tell(cut.word)
                    values, made = candidate, made + 1
                    break
                useless.add(cut.key)
            else:
                break
        idle = 0 if made else idle + 1
        later = (later + 1) % _SEEDS
    return Smaller(values, len(tried), True)
