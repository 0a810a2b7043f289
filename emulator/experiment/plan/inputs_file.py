"""Writes and reads `inputs.json`, which tells how an experiment's inputs were used in a plan.

The file tells of the files that were read, of shares of peers, and of peers that are left out. It lies beside
the plan's tables, and is missing if there is nothing to tell.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from emulator.contract.mistakes import code_of
from emulator.experiment.file.spec import TrialSpec
from emulator.files.damage import DamagedFile
from emulator.files.input_facts import Facts, counted
from emulator.files.reading import read_regular
from emulator.files.trace_error import TraceError
from emulator.workload.content_patterns import BoxPattern
from emulator.workload.social import Groups

if TYPE_CHECKING:
    from emulator.experiment.plan.tables import Plan

INPUTS = "inputs.json"
"""The name of the file."""
_LARGEST = 1 << 20
_MANY = 0.25
"""The share of peers without interests from which on a warning says so."""


def facts_of(spec: TrialSpec, plan: Plan, of_workload: Facts) -> dict[str, Facts]:
    """Return what is told of each input, by its key; nothing of an input of which there is nothing to tell.

    Raises TraceError for a bad latency file.
    """
    churn, crowd = spec.churn, spec.churn.flash_crowd
    base = spec.peers - (crowd.peers if crowd else 0)
    found = dict[str, Facts]()
    for key, latency in spec.network.latencies():
        with code_of(latency, "told no facts of its matrix", ValueError, TraceError):
            found[key] = Facts() + latency.facts(spec.seed)
    with code_of(churn.model, "told no facts of its sessions", ValueError, TraceError):
        of_churn = Facts() + churn.model.facts(base, spec.phases.end)
    found |= {
        "churn.model": of_churn + _never_up(plan, spec.peers),
        "churn.crash": _crash(spec, plan),
        "workload": _shares(spec),
        f"workload.{spec.workload.kind.key}": of_workload + _without_interests(plan),
    }
    return {key: facts for key, facts in found.items() if facts}


def write_inputs(inputs: Mapping[str, Facts], directory: Path) -> None:
    """Write what is told, if there is anything, into the folder of a plan."""
    if inputs:
        told = {key: {"said": facts.said, "warnings": facts.warnings} for key, facts in inputs.items()}
        (directory / INPUTS).write_text(
            json.dumps(told, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
        )


def read_inputs(directory: Path) -> dict[str, Facts]:
    """Return what is told of the inputs of the plan in this folder. Raises DamagedFile."""
    path = directory / INPUTS
    if not path.exists():
        return {}
    try:
        told: dict[str, Any] = json.loads(read_regular(path, _LARGEST))
        return {
            key: Facts(tuple(map(str, facts["said"])), tuple(map(str, facts["warnings"])))
            for key, facts in told.items()
        }
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, OSError) as error:
        raise DamagedFile(f"{path} is damaged ({type(error).__name__}). Remove it") from None


def _never_up(plan: Plan, peers: int) -> Facts:
    away = peers - len(np.unique(_column(plan.sessions, "peer")))
    if not away:
        return Facts()
    are = "is" if away == 1 else "are"
    return Facts((f"{away:,} of {counted(peers, 'peer')} {are} never up in the trial",))


def _crash(spec: TrialSpec, plan: Plan) -> Facts:
    """Return a warning if the crash hits nobody."""
    crash = spec.churn.crash
    if crash is None:
        return Facts()
    start, end = _column(plan.sessions, "start_s"), _column(plan.sessions, "end_s")
    cut = int(np.count_nonzero(end == crash.at))
    if cut:
        return Facts((f"{counted(cut, 'peer crashes', 'peers crash')} at {crash.at:g} s",))
    up = int(np.count_nonzero((start < crash.at) & (end > crash.at)))
    if not up:
        return Facts((), (f"nobody crashes: no peer is up at {crash.at:g} s",))
    whole = f"{crash.share:g} of the {counted(up, 'peer')} that are up at {crash.at:g} s"
    return Facts((), (f"nobody crashes: {whole} are rounded to none",))


def _shares(spec: TrialSpec) -> Facts:
    """Return warnings for shares of peers that are nobody, and for what cannot be reached."""
    warnings, workload = [], spec.workload
    for name, number in workload.roles.numbers(spec.peers).items():
        if number == 0 < (share := getattr(workload.roles, name)):
            warnings.append(f"roles.{name}: {share:g} of {spec.peers:,} peers are rounded to none")
    source = workload.subscriptions
    if isinstance(source, BoxPattern) and source.interested > spec.peers:
        wanted = f"{spec.peers:,} peers, not {source.interested:g}"
        warnings.append(f"subscriptions.interested: an event interests all of {wanted}")
    if isinstance(source, Groups) and (source.size or 1) * spec.peers < 1:
        whole = f"{source.size:g} of {spec.peers:,} peers"
        warnings.append(f"subscriptions.size: {whole} is less than one: groups have one")
    return Facts((), tuple(warnings))


def _without_interests(plan: Plan) -> Facts:
    """Return how many of the peers that may subscribe never do, where anybody does."""
    held = plan.tables["subscriptions"]
    if not held.num_rows:
        return Facts()
    asked = np.isin(plan.peers["role"].to_numpy(zero_copy_only=False), ("peer", "server", "subscriber"))
    number = int(asked.sum())
    asked[_column(held, "peer")] = False
    without = int(asked.sum())
    have = "has" if without == 1 else "have"
    text = f"{without:,} of {counted(number, 'peer')} that may subscribe {have} no interests"
    if without >= _MANY * number:
        return Facts((), (text,))
    return Facts((text,) if without else ())


def _column(table: Any, name: str) -> NDArray[Any]:
    found: NDArray[Any] = table[name].to_numpy()
    return found
