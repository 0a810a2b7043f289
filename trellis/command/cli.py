"""The command `trellis`."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Callable
from importlib.metadata import version
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from emulator.compiler.finder import WHY_INTERPRETED
from trellis.checked_expectations import check_expectations
from trellis.command import pod_options as pods
from trellis.command.arguments import TARGET, Options, Target
from trellis.command.campaign_command import commands as campaign_commands
from trellis.command.claims_command import commands as claims_commands
from trellis.command.compare_command import commands as compare_commands
from trellis.command.exits import (
    INVALID,
    VALID,
    UserError,
    endings,
    last_resort,
    readable,
    resumable,
    say_error,
)
from trellis.command.export_command import commands as export_commands
from trellis.command.figures_command import commands as figures_commands
from trellis.command.history_command import commands as history_commands
from trellis.command.init_command import commands as init_commands
from trellis.command.inputs import (
    InputWarnings,
    draw_or_refuse,
    refuse_draws,
    say_inputs,
    say_refused,
)
from trellis.command.kept_commands import commands as kept_commands
from trellis.command.on_kubernetes import refuse_pods, run_in_pods, wants_pods
from trellis.command.on_spark import (
    check_master,
    check_spark,
    is_master,
    refuse_all_but_virtual,
    run_on_master,
)
from trellis.command.outcome import need_summary, out, say_summary, say_verdict, was_ended
from trellis.command.package_commands import commands as package_commands
from trellis.command.package_commands import say_displaced
from trellis.command.queue_commands import commands as queue_commands
from trellis.command.releases import commands as release_commands
from trellis.command.run_commands import commands as run_commands
from trellis.command.schema_command import commands as schema_commands
from trellis.command.steps import (
    analyze_run,
    given_command,
    kept_analysis,
    need_junit,
    need_writable,
    new_screen,
    report_run,
)
from trellis.command.trace_commands import check_trace_page
from trellis.command.trace_commands import commands as trace_commands
from trellis.command.usage import Commands
from trellis.command.validate_command import commands as validate_commands

if TYPE_CHECKING:
    from emulator.experiment.file.spec import ExperimentSpec
    from emulator.experiment.run.directory import RunDirectory

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(release_commands)
app.add_typer(queue_commands)
app.add_typer(claims_commands)
app.add_typer(package_commands)
app.add_typer(trace_commands)
app.add_typer(campaign_commands)
app.add_typer(compare_commands)
app.add_typer(export_commands)
app.add_typer(run_commands)
app.add_typer(kept_commands)
app.add_typer(validate_commands)
app.add_typer(schema_commands)
app.add_typer(init_commands)
app.add_typer(history_commands)
app.add_typer(figures_commands)


def _say_version(asked: bool) -> None:
    if asked:
        protocols = f"interpreted: {WHY_INTERPRETED}" if WHY_INTERPRETED else "compiled"
        out.print(f"trellis {version('trellis')} (protocols {protocols})", markup=False, soft_wrap=True)
        raise typer.Exit


@app.callback()
def _options(
    asked: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_say_version, is_eager=True)
    ] = False,
) -> None:
    """Run peer-to-peer overlays and publish/subscribe systems as real programs."""


Run = Annotated[Path, typer.Argument(metavar="RUNDIR", help="A run directory.")]
Check = Annotated[
    bool, typer.Option("--check", help="Check that protocols keep their contract; the same as runtime.check.")
]
Junit = Annotated[
    Path | None,
    typer.Option("--junit", metavar="FILE", help="Write the outcome as JUnit XML: trials and expectations."),
]
Out = Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where run directories are made.")]


@app.command()
def run(
    target: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help=f"{TARGET.rstrip('.')} to resume."),
    ] = None,
    options: Options = None,
    folder: Out = Path("runs"),
    resume: Annotated[
        Path | None,
        typer.Option("--resume", metavar="RUNDIR", help="Go on with this run; finished trials are kept."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", min=1, help="Trials at once. Default: the cores; 1 in real time.")
    ] = None,
    check: Check = False,
    junit: Junit = None,
    where: pods.Where = None,
    release: pods.Release = None,
    namespace: pods.Namespace = None,
    chart: pods.Chart = None,
    values: pods.Values = None,
    chart_set: pods.ChartSettings = None,
    image_prefix: pods.ImagePrefix = None,
    image_tag: pods.ImageTag = None,
    keep: pods.Keep = False,
    queued: pods.Queued = False,
    start_limit: pods.StartLimit = pods.START_LIMIT,
    patience: pods.Patience = pods.PATIENCE,
) -> None:
    """Plan, run, analyze and report an experiment."""
    with endings():
        from analysis.early_start import EarlySpark
        from emulator.experiment.file.package_experiments import locate
        from emulator.experiment.file.variants import trials
        from emulator.trials.sweep import Update, default_jobs, run_sweep

        need_junit(junit)
        of_helm = chart, tuple(values or ()), tuple(chart_set or ()), image_prefix, image_tag
        in_pods = pods.PodOptions(release, namespace, *of_helm, keep, start_limit, patience, queued)
        target = locate(target) if target else None
        master = where if is_master(where) else None
        options = [*([f"runtime.kind={where}"] if where and not master else []), *(options or [])]
        options += ["runtime.check=true"] if check else []
        if target is not None and resume is None and not master and wants_pods(target, where, options):
            raise typer.Exit(run_in_pods(target, options, folder, in_pods))
        if in_pods != pods.PodOptions():
            raise UserError("an option for runs in pods is given. Add --on kubernetes, or leave it out")
        if master:
            check_master(master)

        def refuse(spec: ExperimentSpec) -> None:
            (refuse_all_but_virtual if master else refuse_pods)(spec)
            check_spark()

        directory, spec = _find_run(target, options, folder, resume, refuse)
        screen = new_screen()
        if WHY_INTERPRETED:
            typer.echo(f"the protocols are interpreted, which is slower: {WHY_INTERPRETED}", err=True)
        every, command = trials(spec), given_command(directory)
        at_once = jobs or default_jobs(spec)
        here = not master and all(trial.spec.runtime.kind == "virtual" for trial in every)
        on = f" on {master}" if master else ""
        with resumable(directory), EarlySpark(directory, len(every), at_once, virtual=here) as early:
            warnings = InputWarnings(directory)
            typer.echo(f"watch it: trellis open {shlex.quote(str(directory.path))}", err=True)
            with screen.step(f"running {spec.name} in {directory.path}{on}", len(every)) as step:

                def watch(update: Update) -> None:
                    step.update(update)
                    early.update(update)
                    warnings.update(update)

                if master:
                    outcomes = run_on_master(master, directory, spec, jobs, watch, command)
                else:
                    outcomes = run_sweep(directory, spec, at_once, watch, command)
            sound = all(outcome.state == "valid" or was_ended(outcome.reasons or ()) for outcome in outcomes)
            status = VALID if sound else INVALID
            say_refused(outcomes, directory, spec, *_written(target, directory, options))
            reasons = [f"{o.trial}: {why}" for o in outcomes for why in o.reasons or ()]
            if all(outcome.state == "failed" for outcome in outcomes):
                say_verdict(False, reasons, directory)
            else:
                if not all(outcome.kept for outcome in outcomes) or not kept_analysis(directory, screen):
                    analyze_run(directory, screen, early)
                with readable(directory):
                    report_run(directory, screen, junit)
                    said = say_summary(directory)
                    status = said if status == VALID else INVALID
        raise typer.Exit(status)


@app.command()
def plan(target: Target, options: Options = None, folder: Out = Path("runs")) -> None:
    """Draw the plans of all trials into a run directory, without running them."""
    with endings():
        from emulator.experiment.file.package_experiments import locate
        from emulator.experiment.file.variants import trials
        from emulator.experiment.plan.inputs_file import read_inputs
        from emulator.trials.sweep import Update, about, prepare

        target = locate(target)
        directory, spec = _find_run(target, options or [], folder, None, refuse_pods)
        file, given = _written(target, directory, options)
        screen = new_screen()
        every = trials(spec)
        with resumable(directory), screen.step(f"planning {spec.name}", len(every)) as step:
            for trial in every:
                there = directory.trial(trial.name)
                if not there.status.exists():
                    prepare(there, about(trial, given_command(directory)))
                draw_or_refuse(trial, there, file, given)
                step.update(Update(trial.name, "planned"))
        say_inputs({trial.name: read_inputs(directory.trial(trial.name).plan) for trial in every})
        out.print(
            f"run it with: trellis run {shlex.quote(str(directory.path))}", markup=False, soft_wrap=True
        )


@app.command()
def analyze(target: Run) -> None:
    """Make the tables and summary.json of a run from its telemetry."""
    with endings():
        directory = _open(target)
        check_spark()
        analyze_run(directory, new_screen())
        raise typer.Exit(say_summary(directory))


@app.command()
def report(
    target: Run,
    junit: Junit = None,
    events: Annotated[
        list[int] | None,
        typer.Option("--event", metavar="NUMBER", help="Draw how this event spread. Repeatable."),
    ] = None,
    traces_at: Annotated[
        str,
        typer.Option(
            "--traces-at",
            metavar="ADDRESS",
            help="Link drawn events to their traces, such as http://localhost:16686/trace/{trace}.",
        ),
    ] = "",
) -> None:
    """Write the report of an analyzed run."""
    with endings():
        need_junit(junit)
        if traces_at:
            check_trace_page(traces_at)
        directory = _open(target)
        need_summary(directory)
        with readable(directory):
            report_run(directory, new_screen(), junit, events or (), traces_at)
            status = say_summary(directory)
        raise typer.Exit(status)


def _find_run(
    target: Path | None,
    options: list[str],
    folder: Path,
    resume: Path | None,
    refuse: Callable[[ExperimentSpec], None],
) -> tuple[RunDirectory, ExperimentSpec]:
    from emulator.experiment.file.load import load
    from emulator.experiment.run.runs import check_same, create_run, open_run

    say_displaced()
    if target is not None and target.is_dir():
        if resume is not None and resume.resolve() != target.resolve():
            raise UserError(f"{target} and {resume} are two run directories. Name one")
        target, resume = None, target
    if resume is None:
        if target is None:
            raise UserError("name an experiment file or a run directory, such as experiments/quickstart.yaml")
        spec = load(target, options)
        refuse_draws(spec, target)
        check_expectations(spec, target, options)
        refuse(spec)
        return create_run(spec, folder), spec
    directory, spec = open_run(resume)
    need_writable(directory)
    refuse(spec)
    _need_systems(spec)
    if target is not None:
        check_same(directory, spec, load(target, options), target)
    elif options:
        raise UserError(
            f"--set and --check change an experiment file, and {resume} is a run. Start a new run from a file"
        )
    return directory, spec


def _need_systems(spec: ExperimentSpec) -> None:
    from emulator.contract.registry import SYSTEMS
    from emulator.experiment.file.variants import variants

    missing = {variant.spec.system.name for variant in variants(spec)} - set(SYSTEMS)
    if missing:
        raise UserError(f"no package here has the system {', '.join(sorted(missing))}. Install it")


def _open(path: Path) -> RunDirectory:
    """Return a run directory that is going to be written."""
    from emulator.experiment.run.runs import open_run

    directory = open_run(path)[0]
    need_writable(directory)
    return directory


def _written(
    target: Path | None, directory: RunDirectory, options: list[str] | None
) -> tuple[Path, list[str]]:
    """Return the file in which the user wrote the experiment of a run, and the options over it."""
    if target is None or target.is_dir():
        return directory.experiment, []
    return target, options or []


def main() -> None:
    """Run the command. Exit status: 0 valid, 1 invalid or failed, 2 bad input, 3 not as expected, 130
    interrupted."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names of files need not be text
    try:
        app()
    except Exception as error:
        say_error(last_resort(error))
        sys.exit(INVALID)
