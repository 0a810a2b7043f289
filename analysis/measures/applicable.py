"""The measures that each trial has: those of Trellis, of kinds of workload, and of packages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.contract.measures import MeasureGroup
from analysis.contract.packages import Brought, brought
from analysis.contract.trouble import Trouble
from analysis.contract.workload_kinds import Kind, kinds
from analysis.measures.catalogue import own_measures
from analysis.measures.every_trial import EVERY_TRIAL
from analysis.measures.of_faults import RECOVERY


@dataclass(frozen=True, slots=True)
class Trial:
    """The properties of a trial that decide which measures it has."""

    name: str
    workload: str
    system: str
    has_faults: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """A group of measures, and the trials that have them."""

    group: Brought[MeasureGroup]
    trials: Sequence[str]


def asked_of(trials: Sequence[Trial]) -> tuple[list[Asked], list[Trouble]]:
    """Return the groups that any of the trials has, in the order in which they are shown; and what was
    refused."""
    known, _ = kinds(trial.workload for trial in trials)
    of_packages, troubles = brought("measures", MeasureGroup)
    every = [*_of_kinds(known), (Brought(EVERY_TRIAL, "the measures of every trial"), None)]
    there = {group.item for group, _ in every}
    every += [(group, None) for group in of_packages if group.item not in there]
    owners = dict.fromkeys(own_measures(), "")
    found = []
    for group, workloads in every:
        if group.package and (trouble := _collision(group, owners)):
            troubles.append(trouble)
            continue
        owners |= dict.fromkeys(group.item.measures, group.package)
        those = [
            trial.name
            for trial in trials
            if (workloads is None or trial.workload in workloads)
            and group.item.applies(trial.workload, trial.system)
        ]
        if those:
            found.append(Asked(group, those))
    if faulty := [trial.name for trial in trials if trial.has_faults]:
        found.append(Asked(Brought(RECOVERY, "the measures of trials with faults"), faulty))
    return found, troubles


def _of_kinds(known: Sequence[Kind]) -> list[tuple[Brought[MeasureGroup], list[str] | None]]:
    """Return the groups of kinds of workload, each once, with the names of the kinds that have it."""
    found: dict[MeasureGroup, tuple[Kind, list[str] | None]] = {}
    for kind in known:
        for group in kind.analysis.measures:
            _, names = found.setdefault(group, (kind, []))
            if names is not None:
                names.append(kind.name)
    return [
        (Brought(group, f'the measures of the workload "{kind.name}"', kind.package), names)
        for group, (kind, names) in found.items()
    ]


def _collision(group: Brought[MeasureGroup], owners: dict[str, str]) -> Trouble | None:
    for name in group.item.measures:
        if name in owners:
            who = f"the package {owners[name]}" if owners[name] else "Trellis itself"
            return group.refused(f'{who} has a measure "{name}". Rename it')
    return None
