"""`trellis run FILE --on kubernetes`: from an experiment file to a report, in pods."""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from emulator.files.input_facts import counted
from trellis.checked_expectations import check_expectations
from trellis.command.exits import INTERRUPTED, INVALID, VALID, UserError, err
from trellis.command.inputs import refuse_draws, warn
from trellis.command.outcome import say_summary, say_verdict
from trellis.command.pod_options import PodOptions

if TYPE_CHECKING:
    from emulator.experiment.file.spec import ExperimentSpec
    from emulator.experiment.run.directory import RunDirectory
    from trellis.command.release.cluster import Cluster
    from trellis.command.release.helm import Helm, Installation
    from trellis.command.release.release import Release

_NAME = re.compile(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?")


@contextlib.contextmanager
def cluster_errors() -> Iterator[None]:
    """Turn errors of the cluster into errors of the user, so that they are told alike."""
    from trellis.command.release.errors import ReleaseError

    try:
        yield
    except ReleaseError as error:
        raise UserError(str(error)) from None


def wants_pods(target: Path, where: str | None, sets: list[str]) -> bool:
    """Return whether an experiment file is for pods. Errors in the file are told later, when it is loaded."""
    from trellis.command.release.experiment_for_pods import runtime_kind

    return target.is_file() and (where == "kubernetes" or runtime_kind(target, sets) == "kubernetes")


def refuse_pods(spec: ExperimentSpec) -> None:
    """Raises UserError if a trial would need pods."""
    from emulator.experiment.file.variants import trials

    if any(trial.spec.runtime.kind == "kubernetes" for trial in trials(spec)):
        raise UserError(
            "trials with runtime.kind kubernetes cannot be run here. Run the experiment file with "
            "--on kubernetes; a run directory that was fetched can be analyzed: trellis analyze RUNDIR"
        )


def run_in_pods(file: Path, sets: list[str], folder: Path, options: PodOptions) -> int:
    """Install a release, follow it to its report, bring the run home, and remove the release.

    Returns the exit status of the command. Raises UserError, ExperimentError and OSError.
    """
    from emulator.experiment.file.resolved import resolved_yaml
    from trellis.command.release.cluster import Cluster
    from trellis.command.release.experiment_for_pods import load_for_pods, runtime_kind
    from trellis.command.release.helm import Helm, Installation
    from trellis.command.release.helm_chart import find_chart, image_settings

    with cluster_errors():
        spec = load_for_pods(file, sets)
        refuse_draws(spec, file)
        check_expectations(spec, file, sets)
        if spec.runtime.kind == "kubernetes" and runtime_kind(file, ()) == "virtual":
            warn(
                f"{file} says runtime.kind: virtual, and peers run in pods instead. To run its trials on the "
                "virtual clock in the cluster, add --set runtime.kind=virtual"
            )
        chart = find_chart(options.chart)
        for values in options.values:
            if not values.is_file():
                raise UserError(f"{values}: there is no such file")
        name = _release_name(options.release, spec.name)
        cluster = Cluster(options.namespace)
        with contextlib.closing(cluster):
            cluster.check()
            helm = Helm(cluster.namespace)
            queue = ("queue.enabled=true",) if options.queued else ()
            settings = (*image_settings(options.image_prefix, options.image_tag), *queue, *options.settings)
            installation = Installation(name, chart, resolved_yaml(spec), options.values, settings)
            again = ["trellis", "run", str(file), "--on", "kubernetes", "--release", name]
            again += [part for option in sets for part in ("--set", option)]
            if options.namespace:
                again += ["--namespace", options.namespace]
            conductor = "analysis" if spec.runtime.kind == "virtual" else "coordinator"
            course = _Course(cluster, helm, installation, options, shlex.join(again), conductor)
            return course.submit() if options.queued else course.run(spec, folder)


class _Course:
    """One run in pods."""

    def __init__(
        self,
        cluster: Cluster,
        helm: Helm,
        installation: Installation,
        options: PodOptions,
        again: str,
        conductor: str,
    ) -> None:
        from trellis.command.release.release import Release
        from trellis.command.release.waiting import Waiting
        from trellis.command.terminal import Screen

        self._helm = helm
        self._installation = installation
        self._options = options
        self._again = again
        self._release = Release(cluster, installation.release)
        self._waiting = Waiting(self._release, options.patience, conductor)
        self._screen = Screen(err)
        self._began = False
        """This is true if there may be data on the volume."""

    def run(self, spec: ExperimentSpec, folder: Path) -> int:
        from trellis.command.release.errors import ReleaseError

        name, place = self._release.name, self._release.cluster.namespace
        self._refuse_existing()
        self._began = bool(self._release.claims())
        if self._began:
            self._screen.say(f"going on with what is on the volume of {name}")
        try:
            why = self._follow(spec)
            with self._screen.step(f"fetching the run directory of {name}", 0) as step:
                home = self._release.fetch(folder, lambda count: step.note(f"{count / 1e6:.1f} MB"))
        except KeyboardInterrupt:
            self._screen.say(f"interrupted: the run of {name} in {place} has not ended")
            self._leave()
            raise typer.Exit(INTERRUPTED) from None
        except (ReleaseError, OSError):
            self._leave()
            raise
        self._finish()
        return _say(home, why)

    def submit(self) -> int:
        """Install the release and leave it in its queue. Raises ReleaseError."""
        self._refuse_existing()
        name, place = self._release.name, self._release.cluster.namespace
        with contextlib.closing(self._helm.install(self._installation)) as installing:
            title = f"putting the release {name} into the queue of the namespace {place}"
            with self._screen.step(title, 0) as step:
                self._waiting.installed(installing, step.note)
        self._screen.say(
            f"{name} runs when its turn comes, whether this machine is on or not. See its place: "
            f"trellis queue --namespace {place}; bring its run home: {self._command('fetch')}; remove it: "
            f"{self._command('stop')}"
        )
        return VALID

    def _refuse_existing(self) -> None:
        known = self._helm.release(self._release.name)
        if known is not None:
            name, place = self._release.name, self._release.cluster.namespace
            raise UserError(
                f"there is a release {name} in the namespace {place} already ({known.get('status')}). "
                f"Look at it: trellis status {name}; remove it: trellis stop {name}; "
                f"or choose another name with --release"
            )

    def _follow(self, spec: ExperimentSpec) -> str:
        """Follow the release until its report exists. Returns why there will be none, or ""."""
        from emulator.experiment.file.variants import trials

        name, place = self._release.name, self._release.cluster.namespace
        hosts = getattr(spec.runtime, "hosts", None)
        what = f"{counted(hosts, 'pod')} of peers" if hosts else "trials on the virtual clock"
        installing = self._helm.install(self._installation)
        with contextlib.closing(installing):
            title = f"installing the release {name} in the namespace {place}, {what}"
            with self._screen.step(title, 0) as step:
                self._waiting.start(installing, step.note, self._options.start_limit)
        self._began = True
        with self._screen.step(f"running {spec.name} as the release {name}", len(trials(spec))) as step:
            self._waiting.end(step.update, step.note)
        with self._screen.step("analyzing in the cluster", 0):
            return self._waiting.report()

    def _finish(self) -> None:
        """Remove the release after the run is home, or keep all of it if that was asked for."""
        from trellis.command.release.errors import ReleaseError
        from trellis.command.release.removal import delete_claims, uninstall

        name = self._release.name
        if self._options.keep:
            self._screen.say(f"the release {name} is kept. Remove it with: {self._command('stop')}")
            return
        try:
            with self._screen.step(f"removing the release {name}", 0) as step:
                claims = uninstall(self._helm, self._release, step.note)
                delete_claims(self._release, claims)
            if claims:
                self._screen.say(f"deleted the volume claim {', '.join(claims)}: all that it held is fetched")
        except (ReleaseError, KeyboardInterrupt) as error:
            why = str(error) or "interrupted"
            self._screen.say(f"{name} could not be removed: {why}. Remove it with: {self._command('stop')}")

    def _leave(self) -> None:
        """Keep what the run can be resumed with, because it is not home, and say how to resume."""
        from trellis.command.release.errors import ReleaseError
        from trellis.command.release.removal import delete_claims, uninstall

        name = self._release.name
        if self._options.keep:
            self._screen.say(
                f"the release {name} is kept. Look at it: {self._command('status')}; bring its run home: "
                f"{self._command('fetch')}; remove it: {self._command('stop')}"
            )
            return
        try:
            with self._screen.step(f"removing the release {name}", 0) as step:
                claims = uninstall(self._helm, self._release, step.note)
                if not self._began:
                    delete_claims(self._release, claims)
        except (ReleaseError, KeyboardInterrupt) as error:
            why = str(error) or "interrupted"
            self._screen.say(f"{name} could not be removed: {why}. Remove it with: {self._command('stop')}")
            return
        if self._began and claims:
            place = self._release.cluster.namespace
            self._screen.say(
                f"the volume claim {', '.join(claims)} stays, with the trials that are finished. "
                f"Go on with: {self._again}\n"
                f"or delete it with: kubectl --namespace {place} delete pvc {' '.join(claims)}"
            )

    def _command(self, verb: str) -> str:
        return command(verb, self._release)


def command(verb: str, release: Release) -> str:
    """Return a command for the same release."""
    return f"trellis {verb} {release.name} --namespace {release.cluster.namespace}"


def _say(home: RunDirectory, why: str) -> int:
    if why:
        say_verdict(False, [f"{why}. Analyze it here: trellis analyze {home.path}"], home)
        return INVALID
    if home.summary.is_file():
        return say_summary(home)
    statuses = [(trial.name, trial.read_status()) for trial in home.trials()]
    reasons = [f"{name}: {reason}" for name, status in statuses for reason in status.get("reasons") or ()]
    say_verdict(False, reasons, home)
    return INVALID


def _release_name(given: str | None, experiment: str) -> str:
    """Return a name that is short, because names of objects begin with it, and different for any two runs."""
    if given is None:
        return f"{'' if experiment[0].isalpha() else 'run-'}{experiment[:20]}-{datetime.now():%m%d-%H%M%S}"
    if not _NAME.fullmatch(given):
        raise UserError(
            f"--release {given}: a name has small letters, digits and -, begins with a letter, "
            f"and has at most 40 characters"
        )
    return given
