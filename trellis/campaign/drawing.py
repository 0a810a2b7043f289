"""Makes one experiment of many draws: each draw is a variant with a seed of its own."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from emulator.contract.random_streams import stream
from emulator.experiment.file.document import ExperimentError, Place, Problem, read_document
from emulator.experiment.file.draws import draw
from emulator.experiment.file.load import load
from emulator.experiment.file.resolved import resolved_yaml
from emulator.experiment.file.spec import ExperimentSpec
from emulator.experiment.file.variants import trials as trials_of
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.plan.undrawable import Undrawable

_DRAWN = re.compile(r"vary\.[^\[]*\[\d+\](?:\[(?P<place>\d+)\])?(?P<below>.*)")
"""The key of a problem of a draw: which trial, which of the keys, and what is below."""

_MOST_DRAWS = 50
"""The most draws of a trial, if no plan can be made of the first."""


def draws_of(
    spec: ExperimentSpec, trials: int, again: Mapping[int, int] | None = None
) -> dict[str, list[Any]]:
    """Return the `vary` of a campaign: its keys with commas between them, and their values in each trial.

    The draw of a trial depends on its seed alone, which is the experiment's for the first one and grows by
    one; `again` has how often it was drawn before. Raises ValueError for what is no range.
    """
    rows = []
    for seed in range(spec.seed, spec.seed + trials):
        drawn = draw(spec.draw, stream(seed, "campaign", (again or {}).get(seed, 0)))
        rows.append([seed, *(drawn[key] for key in spec.draw)])
    return {",".join(["seed", *spec.draw]): rows}


def campaign_of(spec: ExperimentSpec, file: Path, trials: int) -> ExperimentSpec:
    """Return the experiment of `file` with as many draws as there are to be trials, checked as any other.

    A draw of which no plan can be made, such as two faults of a kind that hit a peer at a time, is drawn
    again. Raises ExperimentError for ranges that are none, for a draw that cannot be run, and where nothing
    could break.
    """
    if not spec.draw:
        text = "has to name keys and their ranges, such as {network.loss: {from: 0 %, to: 5 %}}"
        raise ExperimentError([Problem(_place(file, ("draw",)), "draw", text)])
    if "seed" in spec.draw:
        text = "each trial has a seed of its own, from `seed` of the file on. Leave it out"
        raise ExperimentError([Problem(_place(file, ("draw", "seed")), "draw.seed", text)])
    if spec.vary or spec.repeat != 1:
        key = "vary" if spec.vary else "repeat"
        text = "has no place beside `draw`, which makes the trials. Draw the key, too"
        raise ExperimentError([Problem(_place(file, (key,)), key, text)])
    if spec.faults and "faults" in spec.draw:
        text = "would be left out, as `draw.faults` takes their place. Move them into its `of`"
        raise ExperimentError([Problem(_place(file, ("faults",)), "faults", text)])
    if spec.runtime.kind != "virtual" or spec.draw.keys() & {"runtime", "runtime.kind"}:
        text = "campaigns run on the virtual clock. Leave it out"
        raise ExperimentError([Problem(_place(file, ("runtime", "kind")), "runtime.kind", text)])
    if not spec.expect and spec.invariants is None:
        text = "nothing is expected that could break. Add `expect` or `invariants`"
        raise ExperimentError([Problem(Place(str(file)), "expect", text)])
    again: Counter[int] = Counter()
    unsure: Collection[int] = range(spec.seed, spec.seed + trials)
    while True:
        drawn = _checked(spec, file, trials, again)
        refused = _without_plan(drawn, unsure)
        if not refused:
            return drawn
        unsure = refused.keys()
        again.update(unsure)
        if max(again.values()) > _MOST_DRAWS:
            texts = {f"draw.{key}: {text}" for found in refused.values() for key, text in found}
            told = f"has a trial without a plan in {_MOST_DRAWS} draws: {'; '.join(sorted(texts)[:3])}"
            raise ExperimentError([Problem(_place(file, ("draw",)), "draw", told)])


def _place(file: Path, key: tuple[str, ...]) -> Place:
    """Return the line of a key or of the part around it, the file alone if an option gave it."""
    places = read_document(file).places
    return places.get(key) or places.get(key[:1]) or Place(str(file))


def _checked(spec: ExperimentSpec, file: Path, trials: int, again: Mapping[int, int]) -> ExperimentSpec:
    try:
        vary = draws_of(spec, trials, again)
    except ValueError as error:
        key = str(error).partition(":")[0]
        raise ExperimentError([Problem(_place(file, ("draw", key)), "draw", str(error))]) from None
    with tempfile.TemporaryDirectory() as folder:
        draft = Path(folder) / "campaign.yaml"
        draft.write_text(resolved_yaml(spec.model_copy(update={"vary": vary, "draw": {}})))
        try:
            return load(draft, is_written=True)
        except ExperimentError as error:
            problems = [_of_range(problem, list(spec.draw), file) for problem in error.problems]
            raise ExperimentError(problems) from None


def _without_plan(drawn: ExperimentSpec, seeds: Collection[int]) -> dict[int, list[tuple[str, str]]]:
    """Return those of the seeds of whose trial no plan can be drawn, with keys and problems."""
    refused = {}
    for trial in trials_of(drawn):
        if trial.spec.seed in seeds:
            try:
                draw_plan(trial.spec)
            except Undrawable as error:
                refused[trial.spec.seed] = error.problems
    return refused


def _of_range(problem: Problem, keys: list[str], file: Path) -> Problem:
    """Return the problem of a draw as one of the range that it came from."""
    form = _DRAWN.fullmatch(problem.key)
    if form is None and problem.key.startswith("vary."):
        unknown = next((key for key in keys if f'"{key}"' in problem.text), "")
        return Problem(_place(file, ("draw", unknown)), "draw", problem.text)
    if form is None:
        return Problem(Place(str(file)), problem.key, f"{problem.text} (as it was drawn)")
    key = "seed" if form["place"] in (None, "0") else keys[int(form["place"]) - 1]
    return Problem(_place(file, ("draw", key)), f"draw.{key}{form['below']}", problem.text)
