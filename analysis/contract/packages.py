"""The entry points by which installed packages add to the analysis.

The groups are `trellis.measures` (a `MeasureGroup`), `trellis.tables` (a `Table`), `trellis.figures` (a
`Figure`) and `trellis.sections` (a `Section`). Claims are found by `analysis.claims.papers`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from analysis.contract.trouble import Trouble, Unfit
from emulator.contract.packages import BadPackage, Offer, all_offers

T = TypeVar("T")
Door = Literal["measures", "tables", "figures", "sections"]


@dataclass(frozen=True, slots=True)
class Brought(Generic[T]):
    """A measure group, table, figure or section, of Trellis itself or of a package."""

    item: T
    what: str
    """The thing in words, such as 'the figure "detection"'."""
    package: str = ""
    """The distribution with its version; empty for Trellis' own."""
    name: str = ""
    """The name of its entry point."""

    def trouble(self, error: BaseException) -> Trouble:
        """Return the report that it failed. What is Trellis' own may not fail: its error goes on."""
        if not self.package:
            raise error
        return Trouble.of(self.package, self.what, error)

    def refused(self, why: str) -> Trouble:
        """Return the report that it is refused."""
        return self.trouble(Unfit(why))


def brought(door: Door, kind: type[T]) -> tuple[list[Brought[T]], list[Trouble]]:
    """Return all that packages bring in a group, by the names of their entry points, and what is refused."""
    found: list[Brought[T]] = []
    refused: list[Trouble] = []
    for offer in all_offers(door):
        try:
            item = loaded(offer, kind)
        except BadPackage as error:
            refused.append(Trouble(offer.package, str(error)))
        else:
            what = f'the {door if door == "measures" else door[:-1]} "{offer.name}"'
            found.append(Brought(item, what, offer.package, offer.name))
    return found, refused


def loaded(offer: Offer, kind: type[T]) -> T:
    """Return what an entry point stands for. Raises BadPackage if it is of another type or cannot
    be loaded."""
    item: Any = offer.load()
    if not isinstance(item, kind):
        raise offer.refusal(f"it is of type {type(item).__name__}, not {kind.__name__}")
    return item
