"""The command `campaign`: trials drawn from ranges, of which those that fail are made smaller."""

from __future__ import annotations

import contextlib
import hashlib
import re
import shlex
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from emulator.files.input_facts import counted
from trellis.checked_expectations import check_expectations
from trellis.command.exits import INVALID, VALID, UserError, endings, err, readable, resumable
from trellis.command.on_spark import need_master, run_on_master
from trellis.command.outcome import out, say_summary, say_verdict
from trellis.command.steps import (
    analyze_run,
    given_command,
    judge_run,
    need_junit,
    need_writable,
    new_screen,
    report_outcome,
    report_run,
)

if TYPE_CHECKING:
    from emulator.experiment.file.spec import ExperimentSpec
    from emulator.experiment.run.directory import RunDirectory

commands = typer.Typer(add_completion=False, rich_markup_mode=None)
_TRIALS, _SHRINK, _BUDGET = 100, 3, 200
"""The numbers of trials that are drawn, are made smaller, and are tried for each of these, where the command
does not say."""
_SMALLER = "smaller"
"""The folder of a campaign's run directory with the experiments that were made smaller."""


@commands.command()
def campaign(
    target: Annotated[
        Path, typer.Argument(metavar="FILE", help="An experiment file with draw:, or a campaign to resume.")
    ],
    trials: Annotated[
        int | None, typer.Option("--trials", min=1, max=10_000, help="Trials to draw.  [default: 100]")
    ] = None,
    options: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override a key. Repeatable.")
    ] = None,
    folder: Annotated[
        Path, typer.Option("--out", metavar="FOLDER", help="Where run directories are made.")
    ] = Path("runs"),
    jobs: Annotated[
        int | None, typer.Option("--jobs", min=1, help="Trials at once. Default: the cores.")
    ] = None,
    master: Annotated[
        str | None,
        typer.Option(
            "--on",
            metavar="MASTER",
            help="A master of Spark whose executors run the trials: spark://host:7077.",
        ),
    ] = None,
    shrink: Annotated[
        int, typer.Option("--shrink", min=0, help="Failing trials to make smaller, one of each kind first.")
    ] = _SHRINK,
    budget: Annotated[
        int, typer.Option("--budget", min=1, help="Trials to try at most for each that is made smaller.")
    ] = _BUDGET,
    junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Write the outcome as JUnit XML.")
    ] = None,
) -> None:
    """Run trials drawn from the ranges of a file, and make what fails smaller."""
    with endings():
        from emulator.trials.sweep import default_jobs, run_sweep

        need_junit(junit)
        if master is not None:
            need_master(master)
        directory, spec = _find_campaign(target, options or [], folder, trials)
        screen = new_screen()
        given = (("--on", master, None), ("--jobs", jobs, None), ("--junit", junit, None))
        others = (("--shrink", shrink, _SHRINK), ("--budget", budget, _BUDGET))
        again = [
            word for name, value, usual in (*given, *others) if value != usual for word in (name, str(value))
        ]
        with resumable(directory, "campaign", again):
            count, on = len(next(iter(spec.vary.values()))), f" on {master}" if master else ""
            command = given_command(directory)
            with screen.step(f"running {spec.name} in {directory.path}{on}", count) as step:
                if master:
                    outcomes = run_on_master(master, directory, spec, jobs, step.update, command)
                else:
                    outcomes = run_sweep(directory, spec, jobs or default_jobs(spec), step.update, command)
            if all(outcome.state == "failed" for outcome in outcomes):
                say_verdict(False, [f"{o.trial}: {why}" for o in outcomes for why in o.reasons], directory)
                raise typer.Exit(INVALID)
            is_whole = directory.tables.exists()
            if is_whole:
                analyze_run(directory, screen)
            else:
                judge_run(directory, screen)
            with readable(directory):
                if is_whole:
                    report_run(directory, screen)
                report_outcome(directory, junit)
                status = say_summary(directory)
            if not is_whole:
                _say_how_to_see_all(directory)
            if status != VALID and shrink:
                _make_smaller(directory, spec, shrink, budget)
        raise typer.Exit(status)


def _find_campaign(
    target: Path, options: list[str], folder: Path, trials: int | None
) -> tuple[RunDirectory, ExperimentSpec]:
    from emulator.experiment.file.load import load
    from emulator.experiment.run.runs import create_run, open_run
    from trellis.campaign.drawing import campaign_of

    if target.is_dir():
        if options:
            raise UserError(f"--set changes an experiment file, and {target} is a campaign. Start a new one")
        if trials is not None:
            raise UserError(f"--trials is for an experiment file, and {target} has its trials. Leave it out")
        directory, spec = open_run(target)
        if not spec.vary:
            path = shlex.quote(str(target))
            raise UserError(f"{path} is no campaign, because nothing of it was drawn. Use trellis run {path}")
        need_writable(directory)
        return directory, spec
    spec = load(target, options)
    drawn = campaign_of(spec, target, trials or _TRIALS)
    check_expectations(drawn, target, options)
    return create_run(drawn, folder), drawn


def _make_smaller(directory: RunDirectory, spec: ExperimentSpec, most: int, budget: int) -> None:
    """Make trials that are not as expected smaller, and write each as an experiment file."""
    from emulator.experiment.file.variants import trials
    from emulator.experiment.run.directory import write_whole
    from emulator.experiment.run.summary_file import read_summary
    from trellis.campaign.replay import Failure, Replay, experiment_text
    from trellis.campaign.shrinking import shrink

    every = {trial.name: trial for trial in trials(spec)}
    into = directory.path / _SMALLER
    into.mkdir(exist_ok=True)
    with _judgement() as judge:
        replay = Replay(judge)
        for expectation, name in _failing(read_summary(directory))[:most]:
            text, trial = expectation["text"], every[name]
            file = into / _name_of_smaller(name, text)
            if not file.exists():
                err.print(f"making {name} smaller, which breaks: {text}", markup=False, soft_wrap=True)
                if is_invariant := not expectation["measure"]:
                    failure = Failure.of_invariant(text, directory, trial)
                else:
                    failure = Failure(text, False)
                left = shrink(
                    trial.spec.model_dump(mode="json"),
                    partial(replay.fails, failure),
                    budget,
                    lambda word: err.print(f"  {word}", markup=False, soft_wrap=True),
                    settles_less=is_invariant,
                )
                _say_tried(left.tried, left.is_least)
                title, short = f"{spec.title or spec.name}: {text}", f"{spec.name[:50]}-smaller"
                write_whole(file, experiment_text(short, title, failure, left.values, to_its_end=True))
            _say_smaller(text, file)


def _name_of_smaller(trial: str, expectation: str) -> str:
    """Return the name of the file of a trial that was made smaller, another one for each expectation."""
    words = re.sub("[^a-z0-9]+", "-", expectation.lower()).strip("-")[:60]
    digest = hashlib.sha256(expectation.encode()).hexdigest()[:8]
    return f"{trial[:100]}-{words}-{digest}.yaml"


def _say_tried(trials: int, is_least: bool) -> None:
    """Print how many trials it took, and whether more might be left out."""
    text = f"  {counted(trials, 'trial')} tried: no cut is left after which it fails"
    if not is_least:
        text = (
            f"  {counted(trials, 'trial')} tried, which is the budget: more may be left out. Raise --budget"
        )
    err.print(text, markup=False, soft_wrap=True)


def _say_how_to_see_all(directory: RunDirectory) -> None:
    """Print how to get the measures of all trials, and their page."""
    path = shlex.quote(str(directory.path))
    out.print(
        f"all measures of these trials, and their report: trellis analyze {path}; trellis report {path}",
        markup=False,
        soft_wrap=True,
    )


def _say_smaller(expectation: str, file: Path) -> None:
    """Print how small the trial is, and the command that shows it. Raises UserError for a damaged file."""
    from emulator.experiment.file.document import ExperimentError
    from emulator.experiment.file.load import load

    try:
        spec = load(file, check_files=False)
    except ExperimentError as error:
        what = f"{error}\n{shlex.quote(str(file))} is damaged"
        raise UserError(f"{what}: remove it, and the campaign makes it again") from None
    size = f"{counted(spec.peers, 'peer')} and {counted(len(spec.faults), 'fault')}"
    see = f"trellis run {shlex.quote(str(file))}"
    out.print(f"breaks {expectation} with {size}: {see}", markup=False, soft_wrap=True)


def _failing(summary: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], str]]:
    """Return expectations with a trial each that does not meet them: each expectation once, then again."""
    found = [
        (place, expectation, one["trial"])
        for expectation in summary.get("expectations") or ()
        for place, one in enumerate(expectation["broken"])
    ]
    found.sort(key=lambda each: each[0])
    return [(expectation, trial) for _, expectation, trial in found]


@contextlib.contextmanager
def _judgement() -> Iterator[Any]:
    """Give a function that judges a run, which starts Spark when it is first called."""
    from analysis.engine.spark_session import spark_session
    from analysis.judging import judge

    with contextlib.ExitStack() as stack:
        sessions: list[Any] = []

        def judged(run: RunDirectory) -> Mapping[str, Any]:
            if not sessions:
                sessions.append(stack.enter_context(spark_session(optimize=False)))
            return judge(run, lambda standing: None, sessions[0])

        yield judged
