"""Finds and loads what installed packages add to Trellis by entry points.

A package names what it brings in groups such as `trellis.systems`, which `docs/systems-of-your-own.md` lists.
An entry point is imported when its name is asked for, so a broken package disturbs only those who use it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
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

    @property
    def here(self) -> str:
        """The beginning of messages about the offer: the package, the name and the place of the code."""
        place = f"({self.entry.value}) in trellis.{self.group}"
        return f'the package {self.package} offers "{self.name}" {place}'

    def load(self) -> Any:
        """Return what the entry point stands for. Raises BadPackage if it cannot be imported or its name is
        taken."""
        if self.taken:
            mend = "Uninstall one of them, or rename its entry point"
            raise BadPackage(f"{self.here}, but {self.taken} has that name. {mend}")
        try:
            return self.entry.load()
        except (Exception, SystemExit) as error:
            why = f"{type(error).__name__}: {' '.join(str(error).split())}"
            raise BadPackage(f"{self.here}, but importing it failed: {why}") from error

    def refusal(self, what: str) -> BadPackage:
        """Return the error for something that was imported and is not what it should be."""
        return BadPackage(f"{self.here}, but {what}")


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


def all_offers(group: Group) -> list[Offer]:
    """Return all entry points of a group, whatever their names, each once, sorted by name and place."""
    found: dict[tuple[str, str, str], Offer] = {}  # the path may have the same installation twice
    for entry in sorted(entry_points(group=f"trellis.{group}"), key=lambda entry: (entry.name, entry.value)):
        package = f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else entry.value
        found.setdefault((entry.name, package, entry.value), Offer(entry.name, package, group, entry))
    return list(found.values())


def offers(
    group: Group, own: Iterable[str], of_packages: Mapping[str, str] = MappingProxyType({})
) -> dict[str, Offer]:
    """Return the entry points of a group by name, but for those with a name of Trellis' own (`displaced`).

    `own` are the names that Trellis itself has. `of_packages` maps further names that are there already to
    the packages that they come from. Loading an entry point whose name another package has says which one:
    of two packages neither may have it.
    """
    found: dict[str, Offer] = {}
    reserved = frozenset(own)
    for offer in all_offers(group):
        if offer.name not in reserved:
            first = found.get(offer.name)
            taken = of_packages.get(offer.name) if first is None else first.package
            found[offer.name] = replace(offer, taken=f"the package {taken}" if taken else "")
    return found


def displaced(group: Group, own: Iterable[str]) -> list[str]:
    """Return why each entry point of a group is left out that has a name of Trellis' own."""
    reserved = frozenset(own)
    mend = "Trellis uses its own. Rename the entry point, or uninstall the package"
    return [
        f"{offer.here}, but Trellis itself has that name. {mend}"
        for offer in all_offers(group)
        if offer.name in reserved
    ]
