"""Finds and loads what installed packages add to Trellis by entry points.

A package names what it brings in groups such as `trellis.systems`; the guide lists all groups. An entry point
is imported when its name is asked for, so a broken package disturbs only those who use it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal, get_args

Group = Literal[
    "systems",
    "overlays",
    "memberships",
    "workloads",
    "subscriptions",
    "experiments",
    "churn",
    "latency",
    "jitter",
    "loss",
    "attacks",
    "measures",
    "tables",
    "figures",
    "claims",
    "sections",
]


class BadPackage(Exception):
    """A package that offers something unusable; the text names the package and says how to mend it."""


@dataclass(frozen=True, slots=True)
class Offer:
    """One entry point of a package."""

    name: str
    package: str
    """The distribution with its version, such as "push-gossip 0.1.0"."""
    group: Group
    entry: EntryPoint
    taken: str = ""
    """The owner of the name, if it is taken already; empty if it is free."""

    def load(self) -> Any:
        """Return what the entry point stands for. Raises BadPackage if it cannot be imported or its name is
        taken."""
        here = f'the package {self.package} offers "{self.name}" in trellis.{self.group}'
        if self.taken:
            raise BadPackage(f"{here}, but {self.taken} has that name. Uninstall one of them, or rename it")
        try:
            return self.entry.load()
        except (Exception, SystemExit) as error:
            why = f"{type(error).__name__}: {' '.join(str(error).split())}"
            raise BadPackage(f"{here}, but importing {self.entry.value} failed: {why}") from error

    def refusal(self, what: str) -> BadPackage:
        """Return the error for something that was imported and is not what it should be."""
        where = f"({self.entry.value})"
        return BadPackage(f'the package {self.package} offers "{self.name}" {where}, but {what}')


@dataclass(frozen=True, slots=True)
class Package:
    """An installed distribution that adds something to Trellis."""

    name: str
    version: str
    modules: tuple[str, ...]
    """The names under which the package's modules are imported."""


def installed_packages() -> list[Package]:
    """Return the distributions that have entry points in any group of Trellis, by name."""
    found: dict[tuple[str, str], set[str]] = {}
    for group in get_args(Group):
        for entry in entry_points(group=f"trellis.{group}"):
            if entry.dist is not None:
                tops = found.setdefault((entry.dist.name, entry.dist.version), set())
                tops.add(entry.module.partition(".")[0])
    return [Package(name, version, tuple(sorted(tops))) for (name, version), tops in sorted(found.items())]


def offers(group: Group, own: Mapping[str, str]) -> dict[str, Offer]:
    """Return the entry points of a group by name. Loading one whose name is taken says by whom.

    `own` maps the names that are there already to the packages that they come from; "" stands for Trellis
    itself.
    """
    found: dict[str, Offer] = {}
    for entry in sorted(entry_points(group=f"trellis.{group}"), key=lambda entry: (entry.name, entry.value)):
        package = f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else entry.value
        first = found.get(entry.name)
        if first is not None and first.package == package and first.entry.value == entry.value:
            continue  # the path has the same installation twice
        taken = own.get(entry.name) if first is None else first.package
        by = "" if taken is None else f"the package {taken}" if taken else "Trellis itself"
        found[entry.name] = Offer(entry.name, package, group, entry, by)
    return found
