"""Draws the figures of `docs/systems/topics.md` from the summaries of runs of `experiments/topics.yaml`.

`python -m docs.making.topics_figures RUNDIR [RUNDIR]` writes them into `docs/images`, one for each aspect.
Each system has a mark and a 95 % confidence interval in each setting. Of a system that is in several runs the
last one counts; a run that does not vary the system is one of GossipSub, whose asterisk the page explains.
Text stays text, so that a figure is small.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import matplotlib
from matplotlib.figure import Figure

from analysis.export.style import colour, file_of, mark_ticks, marker, style

FOLDER: Final = Path(__file__).parent.parent / "images"
SYSTEMS: Final = {
    "vitis": "Vitis",
    "magnet-pastry": "Magnet",
    "scribe-pastry": "Scribe",
    "quasar-random-graph": "Quasar",
    "opt": "OPT",
    "gossipsub": "GossipSub*",
}
SETTINGS: Final = ("nothing happens", "Skype's churn", "flash crowd", "a region lost")
_SIZE: Final = (6.0, 2.3)
"""The width and height of a figure in inches."""
_TICKS: Final = (200, 500, 1000, 2000, 5000, 10_000)
_APART: Final = 0.12
"""The distance of two systems in a setting, as a share of that of two settings."""


class Aspect(NamedTuple):
    """One figure; with ticks its axis is logarithmic."""

    file: str
    measure: str
    label: str
    ticks: tuple[int, ...] = ()


class Mark(NamedTuple):
    """The mean of a measure, and half the width of its 95 % confidence interval."""

    mean: float
    half: float


ASPECTS: Final = (
    Aspect("topics-hit-ratio.svg", "hit_ratio", "hit ratio"),
    Aspect("topics-delay.svg", "delay_ms", "mean delay (ms)"),
    Aspect("topics-traffic.svg", "bytes_per_s", "bytes a second and peer", _TICKS),
    Aspect("topics-overhead.svg", "overhead", "traffic overhead (share)"),
)


def setting_of(values: Mapping[str, Any]) -> int:
    """Return the place in `SETTINGS` of a variant of the experiment."""
    if values["faults"]:
        return 3
    return 2 if "flash_crowd" in values["churn"] else 1 if values["churn"] else 0


def marks(summaries: Iterable[Mapping[str, Any]], measure: str) -> dict[tuple[str, int], Mark]:
    """Return the marks of a measure by system and place of the setting."""
    found = {}
    for summary in summaries:
        for variant in summary["variants"]:
            values, estimate = variant["values"], variant["measures"][measure]
            place = (values.get("system.name", "gossipsub"), setting_of(values))
            found[place] = Mark(estimate["mean"], estimate["ci95"] or 0.0)
    return found


def draw(aspect: Aspect, of: Mapping[tuple[str, int], Mark]) -> bytes:
    """Return the figure of an aspect as SVG."""
    with style():
        matplotlib.rcParams.update({"svg.fonttype": "none", "font.family": "sans-serif"})
        figure = Figure(figsize=_SIZE, layout="constrained")
        axes = figure.subplots()
        for number, (system, title) in enumerate(SYSTEMS.items()):
            shift = (number - (len(SYSTEMS) - 1) / 2) * _APART
            here = [(place + shift, of[system, place]) for place in range(len(SETTINGS))]
            axes.errorbar(
                [at for at, _ in here],
                [mark.mean for _, mark in here],
                [mark.half for _, mark in here],
                fmt=marker(number),
                color=colour(number),
                label=title,
                capsize=2,
                elinewidth=0.8,
            )
        if aspect.ticks:
            axes.set_yscale("log")
            mark_ticks(axes, [(tick, f"{tick:,}") for tick in aspect.ticks], "y")
        axes.set_ylabel(aspect.label)
        axes.set_xticks(range(len(SETTINGS)), SETTINGS)
        axes.grid(axis="y")
        figure.legend(loc="outside upper center", ncols=len(SYSTEMS))
        return file_of(figure, "svg")


def main(folders: Iterable[str]) -> None:
    """Write the figures of these run directories."""
    summaries = [json.loads((Path(folder) / "summary.json").read_text()) for folder in folders]
    for aspect in ASPECTS:
        (FOLDER / aspect.file).write_bytes(draw(aspect, marks(summaries, aspect.measure)))


if __name__ == "__main__":
    main(sys.argv[1:])
