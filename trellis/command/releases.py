"""The commands for a running release: status, logs, stop, fetch, open. The first and the last take a run
directory, too."""

from __future__ import annotations

import contextlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from emulator.experiment.run.object_store import is_place
from emulator.files.input_facts import counted
from trellis.command.ages import age_in_words
from trellis.command.as_json import Json, say_json
from trellis.command.exits import INVALID, UserError, endings, err
from trellis.command.kept_commands import fetch_kept
from trellis.command.on_kubernetes import cluster_errors, command
from trellis.command.outcome import out, say_summary
from trellis.command.pod_options import Namespace
from trellis.command.run_status import no_run, open_report, run_directory, show_run, trial_lines
from trellis.command.watching import View, Watch, show, watch

if TYPE_CHECKING:
    from emulator.trials.run_progress import Standing
    from trellis.command.release.helm import Helm
    from trellis.command.release.release import Release, Workload
    from trellis.command.terminal import Step

commands = typer.Typer(rich_markup_mode=None)

Name = Annotated[str, typer.Argument(metavar="RELEASE", help="The name of a release.")]
NameOrRun = Annotated[
    str, typer.Argument(metavar="RELEASE|RUNDIR", help="The name of a release, or a run directory.")
]
_MAX_PODS = 20
_AWAY_LIMIT = 60.0
"""The seconds for which a cluster that is watched may not answer."""


@commands.command()
def status(
    name: NameOrRun, namespace: Namespace = None, as_json: Json = False, watched: Watch = False
) -> None:
    """Show how far a run directory or a release is, and what holds it up."""
    with endings():
        if as_json and watched:
            raise UserError(
                "--json prints one document, so it does not go with --watch. Leave one of them out"
            )
        if (path := run_directory(name, namespace)) is not None:
            show_run(path, as_json, watched)
            return
    with _release(name, namespace, or_run=not namespace) as (helm, release):
        if as_json:
            say_json(_fields(release, helm))
        elif watched:
            watch(_patient(lambda: _view(release, helm)))
        else:
            show(_view(release, helm))


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
    name: Annotated[
        str,
        typer.Argument(metavar="RELEASE|PLACE", help="The name of a release, or s3://bucket/prefix/run."),
    ],
    namespace: Namespace = None,
    folder: Annotated[
        Path, typer.Option("--out", metavar="FOLDER", help="Where the run directory is made.")
    ] = Path("runs"),
    earlier: Annotated[
        str, typer.Option("--run", metavar="RUN", help="An earlier run of a schedule; see trellis runs.")
    ] = "",
) -> None:
    """Bring the run directory of a release home, or one from an object store."""
    if is_place(name):
        with endings():
            fetch_kept(name, folder)
        return
    with _release(name, namespace) as (helm, release):
        if helm.release(name) is None and not release.workloads():
            raise UserError(_unknown(release))
        with _step(f"fetching the run directory of {name}") as step:
            home = release.fetch(folder, lambda count: step.note(f"{count / 1e6:.1f} MB"), earlier)
        if home.summary.is_file():
            raise typer.Exit(say_summary(home))
        _say("not analyzed yet")
        _say(f"run: {home.path}")
        raise typer.Exit(INVALID)


@commands.command(name="open")
def open_(
    name: NameOrRun,
    namespace: Namespace = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser.")] = True,
) -> None:
    """Show the report of a run directory in a browser, or that of a release, or how far it is, until
    Ctrl-C."""
    if (path := run_directory(name, namespace)) is not None:
        with endings():
            open_report(path, browser)
        return
    from trellis.command.release.relay import Relay

    with _release(name, namespace, or_run=not namespace) as (helm, release):
        if helm.release(name) is None and not release.workloads():
            raise UserError(_unknown(release))
        with Relay(release.results) as relay:
            _say(f"{name} is at {relay.address} until Ctrl-C")
            if browser:
                typer.launch(relay.address)
            with contextlib.suppress(KeyboardInterrupt):
                relay.serve()


def _fields(release: Release, helm: Helm) -> dict[str, Any]:
    """Return a release for JSON. Raises UserError if there is none, nor a claim that one has left."""
    known, workloads, claims = helm.release(release.name), release.workloads(), release.claims()
    if known is None and not workloads and not claims:
        raise UserError(_unknown(release))
    standing = release.standing()
    return {
        "release": release.name,
        "helm": None if known is None else str(known["status"]),
        "workloads": [{"name": w.name, "ready": w.ready, "wanted": w.wanted} for w in workloads],
        "claims": {str(c["metadata"]["name"]): str(c["status"]["phase"]) for c in claims},
        "pods": dict(Counter(str(row["Status"]) for row in release.pods())),
        "problems": _problems(release, workloads),
        "standing": json.loads(standing.to_json()) if standing else None,
    }


def _patient(look: Callable[[], View]) -> Callable[[], View]:
    """Return a look that tells when the cluster does not answer; after a minute it raises Unreachable."""
    from trellis.command.release.errors import Unreachable

    answered = time.monotonic()

    def patient_look() -> View:
        nonlocal answered
        try:
            view = look()
        except Unreachable as error:
            if time.monotonic() - answered > _AWAY_LIMIT:
                raise
            return View([str(error)], ended=False)
        answered = time.monotonic()
        return view

    return patient_look


def _view(release: Release, helm: Helm) -> View:
    """Return a release in lines. Raises UserError if there is none, nor a claim that one has left."""
    name = release.name
    workloads, claims, known = release.workloads(), release.claims(), helm.release(name)
    if known is None and not workloads:
        if not claims:
            raise UserError(_unknown(release))
        names = ", ".join(str(claim["metadata"]["name"]) for claim in claims)
        return View([f"{name} is not installed; its volume claim {names} is there"], ended=True)
    if known is None:
        lines = [f"release {name}: not installed by Helm, found by its labels"]
    else:
        lines = [f"release {name}: {known['status']}, {known['chart']}, since {known['updated'][:19]}"]
    lines += [f"  {w.name}: {w.ready} of {counted(w.wanted, 'pod')} ready" for w in workloads]
    lines += [f"  {claim['metadata']['name']}: {claim['status']['phase']}{_old(claim)}" for claim in claims]
    lines += _queue_lines(release, workloads)
    if counts := Counter(str(row["Status"]) for row in release.pods()):
        lines.append("  pods: " + ", ".join(f"{count:,} {state}" for state, count in counts.most_common()))
    lines += [f"  ! {problem}" for problem in _problems(release, workloads)]
    standing = release.standing()
    lines += _standing_lines(release, standing)
    reported = standing is not None and standing.reported
    why = release.analysis().get("Failed")
    if why:
        lines.append(_failed_analysis(release, why))
    lines += [f"  {told}" for told in release.uploads(workloads)]
    gone = not reported and not any(w.component == "analysis" for w in workloads)
    if gone and (schedule := release.schedule()):
        lines.append(f"  schedule {schedule}: no run has begun yet")
        return View(lines, ended=False)
    if gone:
        lines.append(_gone_analysis(release))
    trials_over = standing is not None and standing.ended
    return View(lines, ended=reported or (trials_over and (gone or bool(why))))


@contextlib.contextmanager
def _release(name: str, namespace: str | None, or_run: bool = False) -> Iterator[tuple[Helm, Release]]:
    """Give a release. If the name might be that of a run directory, an error of the cluster says that it is
    none."""
    with endings(), cluster_errors(), contextlib.ExitStack() as stack:
        from trellis.command.release.cluster import Cluster
        from trellis.command.release.errors import ReleaseError
        from trellis.command.release.helm import Helm
        from trellis.command.release.release import Release

        try:
            cluster = stack.enter_context(contextlib.closing(Cluster(namespace)))
            cluster.check()
        except ReleaseError as error:
            if not or_run:
                raise
            raise UserError(f"{no_run(name)}. If {name} is a release: {error}") from None
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


def _problems(release: Release, workloads: Sequence[Workload]) -> list[str]:
    from trellis.command.release.lookout import Lookout

    return [problem.told(release.name) for problem in Lookout(release, 0.0).look(workloads)]


def _old(claim: dict[str, Any]) -> str:
    from trellis.command.release.claims import age_of

    age = age_of(claim)
    return "" if age is None else f", {age_in_words(age)} old"


def _queue_lines(release: Release, workloads: Sequence[Workload]) -> Iterator[str]:
    if not any(workload.component == "queue" for workload in workloads):
        return
    from trellis.command.release.queues import queued

    for each in queued(release.cluster):
        if each.entry.release == release.name:
            line = f", {each.line} in line" if each.line is not None else ""
            yield f"  queue {each.queue}: {each.told}{line}, priority {each.entry.priority}"


def _standing_lines(release: Release, standing: Standing | None) -> Iterator[str]:
    if standing is None:
        yield "the results service does not answer yet"
        return
    yield from trial_lines(standing)
    if not standing.trials:
        return
    if standing.reported:
        yield f"the report is there. Bring it home: {command('fetch', release)}"
    elif standing.ended:
        yield "all trials have ended; the analysis has not"
