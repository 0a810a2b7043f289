"""`trellis run FILE --on spark://...`: trials on the virtual clock as tasks of Spark."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from trellis.command.exits import UserError

if TYPE_CHECKING:
    from emulator.experiment.file.spec import ExperimentSpec
    from emulator.experiment.run.directory import RunDirectory
    from emulator.trials.sweep import Update

RUNTIMES = ("virtual", "processes", "kubernetes")
_MASTER = re.compile(r"local(\W.*)?|\w+://.*")


def is_master(where: str | None) -> bool:
    """Return whether `--on` names a cluster of Spark and not a runtime. Raises UserError if it names
    neither."""
    if where is None or where in RUNTIMES:
        return False
    if _MASTER.fullmatch(where):
        return True
    raise UserError(f"--on {where}: write {', '.join(RUNTIMES)}, or a master of Spark: spark://host:7077")


def need_master(where: str) -> None:
    """Raises UserError unless this is a cluster of Spark that answers."""
    if not _MASTER.fullmatch(where):
        raise UserError(
            f"--on {where}: a campaign runs on this machine without --on, or on a master of Spark: "
            "spark://host:7077"
        )
    check_master(where)


def refuse_all_but_virtual(spec: ExperimentSpec) -> None:
    """Raises UserError if a trial would run in real time."""
    from emulator.experiment.file.variants import trials

    others = sorted({trial.spec.runtime.kind for trial in trials(spec)} - {"virtual"})
    if others:
        raise UserError(
            f"{spec.name} has trials with runtime.kind {', '.join(others)}: Spark runs those on the virtual "
            "clock. Add --set runtime.kind=virtual, or leave out --on"
        )


def check_spark() -> None:
    """Raises UserError if the analysis could not start Spark here."""
    from analysis.engine.readiness import why_unable

    if why := why_unable():
        raise UserError(f"the analysis cannot start Spark here: {why}")


def check_master(master: str) -> None:
    """Raises UserError if there is no such cluster."""
    from analysis.engine.executors import ClusterError
    from trellis.on_spark.master import find_address

    try:
        find_address(master)
    except ClusterError as error:
        raise UserError(str(error)) from None


def run_on_master(
    master: str,
    directory: RunDirectory,
    spec: ExperimentSpec,
    jobs: int | None,
    update: Callable[[Update], None],
    command: str,
) -> list[Update]:
    """Run trials as `run_sweep` does, on the executors of a cluster. Raises UserError if it has none."""
    from analysis.engine.executors import ClusterError
    from trellis.on_spark.driver import run_on_executors
    from trellis.on_spark.master import session_on

    try:
        with session_on(master, jobs) as spark:
            return run_on_executors(directory, spec, spark, update, command, jobs)
    except ClusterError as error:
        raise UserError(str(error)) from None
