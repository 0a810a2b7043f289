"""What installed packages bring to the analysis, by entry points.

The groups are `trellis.measures` (a `MeasureGroup`), `trellis.tables` (a `Table`), `trellis.figures` (a
`Figure`) and `trellis.sections` (a `Section`). Claims are found by `analysis.claims.papers`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from analysis.contract.trouble import Trouble, Unfit
from emulator.contract.packages import BadPackage, Offer, offers

T = TypeVar("T")
Door = Literal["measures", "tables", "figures", "sections"]


@dataclass(frozen=True, slots=True)
class Brought(Generic[T]):
    """Something that comes through a door, from Trellis itself or from a package."""

    item: T
    what: str
    """Such as 'the figure "detection"'."""
    package: str = ""
    """The distribution with its version; empty for Trellis' own."""
    name: str = ""
    """Of its entry point."""

    def trouble(self, error: BaseException) -> Trouble:
        """How it is told that it failed. What is Trellis' own may not fail: its error goes on."""
        if not self.package:
            raise error
        return Trouble.of(self.package, self.what, error)

    def refused(self, why: str) -> Trouble:
        """How it is told that it is not taken."""
        return self.trouble(Unfit(why))


def brought(door: Door, kind: type[T]) -> tuple[list[Brought[T]], list[Trouble]]:
    """All that packages bring through a door, by the names of their entry points, and what is refused."""
    found: list[Brought[T]] = []
    refused: list[Trouble] = []
    for offer in offers(door, {}).values():
        try:
            item = loaded(offer, kind)
        except BadPackage as error:
            refused.append(Trouble(offer.package, str(error)))
        else:
            what = f'the {door if door == "measures" else door[:-1]} "{offer.name}"'
            found.append(Brought(item, what, offer.package, offer.name))
    return found, refused


def loaded(offer: Offer, kind: type[T]) -> T:
    """What an entry point stands for. Raises BadPackage if that is of another type or cannot be had."""
    item: Any = offer.load()
    if not isinstance(item, kind):
        raise offer.refusal(f"it is of type {type(item).__name__}, not {kind.__name__}")
    return item
