"""Tells what an experiment would do: the sizes of its trials, and what they are expected to take."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trellis.command.outcome import out

if TYPE_CHECKING:
    from emulator.experiment.file.variants import Trial
    from emulator.experiment.plan.check_plans import Checked
    from emulator.experiment.plan.load import Load
    from trellis.expected_cost import Cost


_LONGEST = 120.0
"""The seconds after which no further variant is tried."""
_NAMED = 3
"""The most variants that are named for one reason."""


def prospect(trials: Sequence[Trial], checked: Checked, tries: bool) -> dict[str, Any]:
    """Return for JSON what the trials would do.

    `sizes` has the least and the most rows of each table of a plan, of the plans that were drawn; `trial_s`
    the shortest and the longest trial time; `rtt_ms` is as of `expected_rtts`. `expected` has processor time
    and memory: the trials whose costs are known, the sum of their processor time, the most memory of one
    trial, the factor within which processor time was what trials took (`within`, the largest of those that
    were not tried; None if all were), the systems that are taken for the mean
    of others (`as_others`), in `not_counted` the keys of these whose effect is in neither, the systems of
    the rest, and in `why_not` why nothing is known of their variants.
    With `tries`, each of these and of those that are taken for the mean of others is tried with few peers;
    `tried` has those that were, and `not_tried` the rest, each with the reason.
    """
    from trellis.expected_rtts import expected_rtts

    names = dict.fromkeys(name for sizes in checked.sizes.values() for name in sizes)
    rows = {name: [sizes.get(name, 0) for sizes in checked.sizes.values()] for name in names}
    costs, why_not, not_tried, are_tried = _costs(trials, checked.loads, tries)
    known = [cost for cost in costs if cost is not None]
    lasts = [trial.spec.phases.end for trial in trials]
    return {
        "sizes": {name: [min(of), max(of)] for name, of in rows.items()},
        "trial_s": [min(lasts), max(lasts)],
        "rtt_ms": expected_rtts(trials),
        "expected": {
            "trials": len(known),
            "processor_s": round(sum(cost.processor_s for cost in known), 1) if known else None,
            "memory_bytes": round(max(cost.memory_bytes for cost in known)) if known else None,
            "within": max((cost.within for cost in known if cost.within), default=None),
            "as_others": sorted(
                {t.spec.system.name for t, cost in zip(trials, costs, strict=True) if cost and cost.as_others}
            ),
            "not_counted": _not_counted(trials, costs, are_tried),
            "not_measured": sorted(
                {t.spec.system.name for t, cost in zip(trials, costs, strict=True) if cost is None}
            ),
            "why_not": why_not,
        }
        | ({"tried": are_tried, "not_tried": not_tried} if tries else {}),
    }


def _not_counted(trials: Sequence[Trial], costs: Sequence[Cost | None], tried: Sequence[str]) -> list[str]:
    """Return the keys whose effect is in no cost of trials that were not tried."""
    from trellis.expected_cost import not_counted

    told = (
        trial.spec
        for trial, cost in zip(trials, costs, strict=True)
        if cost is not None and trial.variant.name not in tried
    )
    return sorted({key for spec in told for key in not_counted(spec)})


def _costs(
    trials: Sequence[Trial], loads: Mapping[str, Load], tries: bool
) -> tuple[list[Cost | None], dict[str, str], dict[str, str], list[str]]:
    """Return what each trial is expected to take, why nothing is known of variants, why such could not be
    tried, and which were; the seeds of a variant take the same."""
    from trellis.expected_cost import NotKnown, expected_cost

    began = time.monotonic()
    found: dict[str, Cost | None] = {}
    why_not: dict[str, str] = {}
    not_tried: dict[str, str] = {}
    are_tried: list[str] = []
    for trial in trials:
        name = trial.variant.name
        if name in found:
            continue
        found[name] = None
        try:
            found[name] = expected_cost(trial.spec, loads.get(trial.name))
        except NotKnown as reason:
            why_not[name] = str(reason)
        known = found[name]
        if tries and (known is None or known.as_others):
            from trellis.tried_cost import NotTried, tried_cost

            try:
                if time.monotonic() - began >= _LONGEST:
                    raise NotTried(f"the {_LONGEST:g} s in which variants are tried were over")
                found[name] = tried_cost(trial.spec)
                why_not.pop(name, None)
                are_tried.append(name)
            except NotTried as reason:
                not_tried[name] = str(reason)
    return [found[trial.variant.name] for trial in trials], why_not, not_tried, are_tried


def say_prospect(trials: Sequence[Trial], checked: Checked, tries: bool) -> None:
    """Print what the trials would do."""
    told = prospect(trials, checked, tries)
    sizes = ", ".join(
        f"{_range(*of)} {name if max(of) != 1 else name.removesuffix('s')}"
        for name, of in told["sizes"].items()
    )
    out.print(f"a trial: {sizes}; {_range(*told['trial_s'])} s of trial time", markup=False, soft_wrap=True)
    expected = told["expected"]
    lines = []
    if rtts := told["rtt_ms"]:
        low, middle, high = (_rtt(*of) for of in rtts.values())
        lines.append(f"RTTs between two peers: the median is {middle}; nine in ten are from {low} to {high}")
    if expected["trials"]:
        memory = expected["memory_bytes"] / 2**30
        some = f" of {expected['trials']:,} of {len(trials):,} trials"
        whose = some if expected["trials"] < len(trials) else ""
        source = ", in part from trials with few peers" if expected.get("tried") else ""
        left_out = ", ".join(expected["not_counted"])
        others = expected["as_others"]
        which = f": {_named(others)} not measured, and taken for the mean of others" if others else ""
        whose_factor = "those not tried " if expected.get("tried") else ""
        off = (
            f" ({whose_factor}within a factor of {within:.3g}{which})"
            if (within := expected["within"])
            else ""
        )
        lines.append(
            f"expected{whose}{source}: {_seconds(expected['processor_s'])} of processor time in all{off}, "
            f"{memory:.2g} GiB at most for a trial{f'; not counted: {left_out}' if left_out else ''}"
        )
    lines += _reasons("cannot say what these take", expected["why_not"])
    if (expected["why_not"] or expected["as_others"]) and not tries:
        lines.append("--measure tries them with few peers")
    lines += _reasons("not tried", expected.get("not_tried", {}))
    out.print("\n".join(lines), markup=False, soft_wrap=True)


def _named(names: Sequence[str]) -> str:
    """Return a few of the names with their verb."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more} {'was' if len(names) == 1 else 'were'}"


def _reasons(what: str, why: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each reason that variants have, which names some of them."""
    for reason in dict.fromkeys(why.values()):
        names = [name for name, of_name in why.items() if of_name == reason]
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        yield f"{what}: {', '.join(names[:_NAMED])}{more}: {reason}"


def _range(least: float, most: float) -> str:
    return f"{least:,.6g}" if least == most else f"{least:,.6g} to {most:,.6g}"


def _rtt(least: float, most: float) -> str:
    """Return the RTT in words, of which there may be others in other variants."""
    return f"{least:.3g} ms" if least == most else f"{least:.3g} ms ({most:.3g} ms in another variant)"


def _seconds(time: float) -> str:
    """Return a time in seconds, from two minutes on in minutes, from two hours on in hours."""
    if time < 120:
        return f"{time:.2g} s" if time < 10 else f"{time:.0f} s"
    return f"{time / 60:.0f} min" if time < 7200 else f"{time / 3600:.1f} h"
