"""The kinds of workload, and how each is judged and shown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module

from analysis.contract.trouble import FAILURES, Trouble
from analysis.contract.workload_analysis import GENERIC, WorkloadAnalysis
from emulator.contract.packages import BadPackage
from emulator.contract.registry import WORKLOADS


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of workload, as the analysis knows it."""

    name: str
    package: str
    """The package that the kind comes from; empty for Trellis itself."""
    analysis: WorkloadAnalysis


def own() -> list[str]:
    """Return the kinds that are Trellis' own, in the order of the registry."""
    return [name for name in WORKLOADS if not WORKLOADS.package_of(name)]


def in_every_run() -> list[str]:
    """Return those of Trellis' own whose tables every run has."""
    return [kind.name for kind in named(own())[0] if kind.analysis.in_every_run]


def kinds(names: Iterable[str]) -> tuple[list[Kind], list[Trouble]]:
    """Return the kinds whose tables every run has, then those that are named; and reports of what cannot be
    used."""
    return named([*in_every_run(), *names])


def named(names: Iterable[str]) -> tuple[list[Kind], list[Trouble]]:
    """Return the kinds of these names, each once; and reports of what of them cannot be used.

    A kind whose analysis is missing or cannot be used has what all trials have.
    """
    found, refused = [], []
    for name in dict.fromkeys(names):
        place, package = _place(name)
        try:
            found.append(Kind(name, package, _load(name, place)))
        except FAILURES as error:
            if not package:
                raise
            refused.append(Trouble.of(package, f'the analysis of the workload "{name}"', error))
            found.append(Kind(name, package, GENERIC))
    return found, refused


def _place(name: str) -> tuple[str, str]:
    """Return where the analysis of a kind is, and the package that the kind comes from; "" for what is not
    known."""
    if name not in WORKLOADS:
        return "", ""  # the kind is a package's, which is not installed here
    package = WORKLOADS.package_of(name)
    try:
        return WORKLOADS[name].analysis, package
    except BadPackage:
        return "", package


def _load(name: str, place: str) -> WorkloadAnalysis:
    if not place:
        return GENERIC
    module, _, attribute = place.partition(":")
    found = getattr(import_module(module), attribute)
    if not isinstance(found, WorkloadAnalysis):
        raise TypeError(f"{place} is of type {type(found).__name__}, not WorkloadAnalysis")
    return found
