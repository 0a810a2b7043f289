"""The commands for a running release: status, logs, stop, fetch, open."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from emulator.files.input_facts import counted
from trellis.command.exits import INVALID, UserError, endings, err
from trellis.command.on_kubernetes import cluster_errors, command
from trellis.command.outcome import out, say_summary
from trellis.command.pod_options import Namespace

if TYPE_CHECKING:
    from emulator.trials.run_progress import Standing
    from trellis.command.release.helm import Helm
    from trellis.command.release.release import Release
    from trellis.command.terminal import Step

commands = typer.Typer(rich_markup_mode=None)

Name = Annotated[str, typer.Argument(metavar="RELEASE", help="The name of a release.")]
_MAX_TRIALS = 20
_MAX_PODS = 20


@commands.command()
def status(name: Name, namespace: Namespace = None) -> None:
    """Show how far a release is, and what holds it up."""
    with _release(name, namespace) as (helm, release):
        known = helm.release(name)
        workloads = release.workloads()
        claims = release.claims()
        there = known is not None or bool(workloads)
        if not there and not claims:
            raise UserError(_unknown(release))
        if not there:
            names = ", ".join(str(claim["metadata"]["name"]) for claim in claims)
            _say(f"{name} is not installed; its volume claim {names} is there")
            return
        if known is None:
            _say(f"release {name}: not installed by Helm, found by its labels")
        else:
            _say(f"release {name}: {known['status']}, {known['chart']}, since {known['updated'][:19]}")
        for workload in workloads:
            _say(f"  {workload.name}: {workload.ready} of {counted(workload.wanted, 'pod')} ready")
        for claim in claims:
            _say(f"  {claim['metadata']['name']}: {claim['status']['phase']}")
        _say_pods(release)
        _say_problems(release)
        standing = release.standing()
        _say_standing(release, standing)
        if why := release.analysis().get("Failed"):
            _say(_failed_analysis(release, why))
        if not (standing and standing.reported) and not any(w.component == "analysis" for w in workloads):
            _say(_gone_analysis(release))


@commands.command()
def logs(
    name: Name,
    namespace: Namespace = None,
    component: Annotated[
        str | None,
        typer.Option("--component", help="peers, coordinator, collector, churn, analysis or results."),
    ] = None,
    pod: Annotated[str | None, typer.Option("--pod", help="Of this pod alone.")] = None,
    lines: Annotated[int, typer.Option("--tail", min=1, max=100_000, help="Last lines of each pod.")] = 50,
) -> None:
    """Print what the pods of a release said last."""
    with _release(name, namespace) as (helm, release):
        names = [str(row["Name"]) for row in release.pods(component)]
        if not names and helm.release(name) is None:
            raise UserError(_unknown(release))
        if pod is not None:
            if pod not in names:
                raise UserError(f"{name} has no pod {pod}. It has: {', '.join(names[:_MAX_PODS]) or 'none'}")
            names = [pod]
        if not names:
            what = f"{name} has no pods of {component}" if component else f"{name} has no pods"
            raise UserError(f"{what}. See what there is: {command('status', release)}")
        for each in names[:_MAX_PODS]:
            for line in release.logs(each, lines).splitlines():
                _say(line if len(names) == 1 else f"{each}: {line}")
        if len(names) > _MAX_PODS:
            err.print(f"{counted(len(names) - _MAX_PODS, 'more pod')}; choose one with --pod", markup=False)


@commands.command()
def stop(name: Name, namespace: Namespace = None) -> None:
    """Remove a release; the volume with its results stays."""
    from trellis.command.release.removal import uninstall

    with _release(name, namespace) as (helm, release):
        there = helm.release(name) is not None
        if not there and release.workloads():
            raise UserError(
                f"{name} was not installed by Helm, so whatever applied it has to remove it, such as kubectl "
                "delete with the same manifests, or the tool that follows your repository"
            )
        if not there and not release.pods() and not release.claims():
            raise UserError(_unknown(release))
        with _step(f"removing the release {name}") as step:
            claims = uninstall(helm, release, step.note)
        _say(f"{name} is removed" if there else f"{name} was not installed")
        if claims:
            place = release.cluster.namespace
            _say(
                f"its volume claim {', '.join(claims)} stays, with its results. "
                f"Delete it with: kubectl --namespace {place} delete pvc {' '.join(claims)}"
            )


@commands.command()
def fetch(
    name: Name,
    namespace: Namespace = None,
    folder: Annotated[
        Path, typer.Option("--out", metavar="FOLDER", help="Where the run directory is made.")
    ] = Path("runs"),
) -> None:
    """Bring the run directory of a release home."""
    with _release(name, namespace) as (helm, release):
        if helm.release(name) is None and not release.workloads():
            raise UserError(_unknown(release))
        with _step(f"fetching the run directory of {name}") as step:
            home = release.fetch(folder, lambda count: step.note(f"{count / 1e6:.1f} MB"))
        if home.summary.is_file():
            raise typer.Exit(say_summary(home))
        _say("not analyzed yet")
        _say(f"run: {home.path}")
        raise typer.Exit(INVALID)


@commands.command(name="open")
def open_(
    name: Name,
    namespace: Namespace = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser.")] = True,
) -> None:
    """Show the report of a release, or how far it is, in a browser, until Ctrl-C."""
    from trellis.command.release.relay import Relay

    with _release(name, namespace) as (helm, release):
        if helm.release(name) is None and not release.workloads():
            raise UserError(_unknown(release))
        with Relay(release.results) as relay:
            _say(f"{name} is at {relay.address} until Ctrl-C")
            if browser:
                typer.launch(relay.address)
            with contextlib.suppress(KeyboardInterrupt):
                relay.serve()


@contextlib.contextmanager
def _release(name: str, namespace: str | None) -> Iterator[tuple[Helm, Release]]:
    with endings(), cluster_errors():
        from trellis.command.release.cluster import Cluster
        from trellis.command.release.helm import Helm
        from trellis.command.release.release import Release

        with contextlib.closing(Cluster(namespace)) as cluster:
            cluster.check()
            yield Helm(cluster.namespace), Release(cluster, name)


def _unknown(release: Release) -> str:
    place = release.cluster.namespace
    message = f"there is no release {release.name} in the namespace {place}"
    if claims := [str(claim["metadata"]["name"]) for claim in release.claims()]:
        return (
            f"{message}, but its volume claim {', '.join(claims)} is there. Run the experiment again with "
            f"--release {release.name}: it goes on with what is on the volume"
        )
    return f"{message}. See which there are: helm list --namespace {place}"


def _gone_analysis(release: Release) -> str:
    return (
        f"  ! the Job {release.name}-analysis is gone, so there will be no report. Make it anew: helm "
        f"upgrade {release.name} charts/trellis --reuse-values --namespace {release.cluster.namespace}; or "
        f"bring the run home and analyze it there: {command('fetch', release)}"
    )


def _failed_analysis(release: Release, why: str) -> str:
    return (
        f"  ! the analysis has failed for good ({why}). It said last: {release.last_words('analysis')}. "
        f"Bring the run home and analyze it there: {command('fetch', release)}, then trellis report"
    )


def _step(title: str) -> AbstractContextManager[Step]:
    from trellis.command.terminal import Screen

    return Screen(err).step(title, 0)


def _say(text: str) -> None:
    out.print(text, markup=False, soft_wrap=True)


def _say_pods(release: Release) -> None:
    counts = Counter(str(row["Status"]) for row in release.pods())
    if counts:
        _say("  pods: " + ", ".join(f"{count:,} {state}" for state, count in counts.most_common()))


def _say_problems(release: Release) -> None:
    from trellis.command.release.lookout import Lookout

    for problem in Lookout(release, 0.0).look(release.workloads()):
        _say(f"  ! {problem.told(release.name)}")


def _say_standing(release: Release, standing: Standing | None) -> None:
    from trellis.command.terminal import told

    if standing is None:
        _say("the results service does not answer yet")
        return
    if not standing.trials:
        _say(standing.problem or "no trial has begun yet")
        return
    counts = ", ".join(f"{count} {state}" for state, count in standing.counts.items())
    _say(f"experiment {standing.experiment}: {counted(len(standing.trials), 'trial')}, {counts}")
    telling = [trial for trial in standing.trials if trial.state != "planned"]
    for trial in telling[-_MAX_TRIALS:]:
        running = trial.state == "running" and trial.progress is not None
        text = told(trial.progress, None) if running and trial.progress else "; ".join(trial.reasons)
        _say(f"  {trial.trial}: {trial.state}{': ' if text else ''}{text}")
    if standing.reported:
        _say(f"the report is there. Bring it home: {command('fetch', release)}")
    elif standing.ended:
        _say("all trials have ended; the analysis has not")
