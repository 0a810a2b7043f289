"""Classes of links from the nodes of a graph, such as those of Shadow: a peer has the rates of its node.

Shadow gives the bandwidth to each host at a node, not to all of them together (docs/network_graph_spec.md of
shadow/shadow, commit 668218e19113), as links of peers are. Its units are those of src/main/utility/units.rs.
"""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from emulator.files.quantities import format_rate, parse_rate
from emulator.files.trace_error import TraceError
from emulator.files.trace_lines import shown
from emulator.network.link_table import MOST_CLASSES

_FORM: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*?)(?:bits?)?(?:/s)?")
_PREFIXES: Final = {"": 1} | {
    prefix: base**power
    for base, names in (
        (1000, (("k", "K", "kilo"), ("M", "mega"), ("G", "giga"), ("T", "tera"))),
        (1024, (("Ki", "kibi"), ("Mi", "mebi"), ("Gi", "gibi"), ("Ti", "tebi"))),
    )
    for power, alike in enumerate(names, start=1)
    for prefix in alike
}


class NodeRates(BaseModel):
    """A graph whose nodes have rates, and the attributes that have them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: Path | None = Field(
        None,
        description="the graph of `network.latency`; left out in a run directory, which has the classes "
        "themselves",
    )
    up: str | None = Field(
        "host_bandwidth_up",
        min_length=1,
        max_length=100,
        description="the attribute of what a peer at the node can send; null: no limit",
    )
    down: str | None = Field(
        "host_bandwidth_down",
        min_length=1,
        max_length=100,
        description="the attribute of what a peer at the node can receive; null: no limit",
    )

    def read(self, file: Path) -> list[dict[str, Any]]:
        """Return a class for each pair of rates, as it stands in an experiment file.

        Raises TraceError for a bad file, a node without an attribute or with one that is no rate, and more
        than 100 pairs.
        """
        from emulator.network.graph_text import attribute_of_nodes

        ways = {way: name for way, name in (("up", self.up), ("down", self.down)) if name is not None}
        if not ways:
            raise TraceError(file, 0, "neither `up` nor `down` names an attribute, so nothing is limited")
        columns = [
            [
                _rate(file, line, name, value)
                for line, value in attribute_of_nodes(file, name, f"bandwidth.nodes.{way}")
            ]
            for way, name in ways.items()
        ]
        places: dict[tuple[str, ...], list[int]] = {}
        for place, rates in enumerate(zip(*columns, strict=True)):
            places.setdefault(rates, []).append(place)
        if len(places) > MOST_CLASSES:
            text = f"its nodes have {len(places)} pairs of rates, and {MOST_CLASSES} can be. Make some alike"
            raise TraceError(file, 0, text)
        return [
            {"name": _name(list(ways), rates), "places": where, **dict(zip(ways, rates, strict=True))}
            for rates, where in places.items()
        ]


def _rate(file: Path, line: int, name: str, text: str) -> str:
    """Return a rate of the file as an experiment has it. Raises TraceError."""
    form = _FORM.fullmatch(text.strip())
    if form is not None and form[2] in _PREFIXES:
        bits = Decimal(form[1]) * _PREFIXES[form[2]]
        try:
            return format_rate(parse_rate(f"{bits.normalize():f} bit/s"))
        except ValueError:
            pass
    mend = 'Write a number and a unit (bit, Kbit, Mbit, Gbit, Kibit, ...), such as "100 Mbit"'
    raise TraceError(file, line, f"{name} is {shown(text)}, which is no rate. {mend}")


def _name(ways: list[str], rates: tuple[str, ...]) -> str:
    """Return the name of the class with these rates, such as 100-mbit-up-1-gbit-down."""
    words = (f"{rate.removesuffix('/s')} {way}" for way, rate in zip(ways, rates, strict=True))
    return re.sub("[^a-z0-9]+", "-", " ".join(words).lower())
