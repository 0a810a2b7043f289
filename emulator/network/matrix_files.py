"""Measured latencies from files: p2psim's matrix (RTT in us) and topology (one-way ms), PlanetLab's (RTT),
pairs (RTT) and graphs (one-way ms).

`matrix_text`, `topology_text`, `pairs_text` and `graph_text` read what a file says; here it becomes a matrix
of RTTs without gaps. Whatever is filled in, averaged or left out is counted and told.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol as Interface

import numpy as np
from numpy.typing import NDArray

from emulator.files.input_facts import Facts, counted, told
from emulator.files.trace_error import TraceError
from emulator.network.graph_text import count_graph, read_graph
from emulator.network.matrix_text import ASYMMETRY_ADVICE, Table, count_rows, read_table
from emulator.network.pairs_text import read_pairs
from emulator.network.statistics import describe_rtt, milliseconds
from emulator.network.topology_text import count_nodes, read_topology

_ASYMMETRY = 1e-3
_LONGEST_RTT = 3600.0
_IN_A_SECOND = {"us": 1e6, "ms": 1e3, "s": 1.0}
DEFAULT_UNITS = {
    "p2psim-matrix": "us",
    "p2psim-topology": "ms",
    "planetlab": "ms",
    "pairs": "ms",
    "graph": "ms",
}
"""The unit of each format, unless the experiment says another."""


class MatrixSource(Interface):
    """A file with latencies, its format, and what is made of its odd values.

    What is None has the default of `emulator.network.latencies.MatrixFile`."""

    @property
    def kind(self) -> str:
        """The format: "p2psim-matrix", "p2psim-topology", "planetlab", "pairs" or "graph"."""
        ...

    @property
    def file(self) -> Path:
        """The file's name."""
        ...

    @property
    def unit(self) -> str | None:
        """The unit of the values: "us", "ms" or "s"."""
        ...

    @property
    def zeros(self) -> str | None:
        """The meaning of a 0 between two hosts: "fill", "same_host_rtt" or "refuse"."""
        ...

    @property
    def gaps(self) -> str | None:
        """The treatment of a pair without a measurement: "fill" or "refuse"."""
        ...

    @property
    def asymmetry(self) -> str | None:
        """The treatment of two directions that differ: "refuse", "mean" or "one-way"."""
        ...


@dataclass(frozen=True, slots=True)
class MeasuredRtt:
    """A measured matrix.

    `rtt` is in seconds, hosts x hosts, with a diagonal of 0, and symmetric unless the file has one-way
    delays: then it has twice the delay from the row's host to the column's.
    """

    rtt: NDArray[np.float32]
    filled_pairs: int
    """The number of pairs without a measurement, which got the shortest two-hop path."""
    facts: Facts
    """The facts about what was read, filled in, averaged and left out."""
    lost: NDArray[np.float64] | None = None
    """The share of messages that vanish from host to host, None if the format says nothing of it."""


def load_rtt(source: MatrixSource) -> MeasuredRtt:
    """Read the file. Raises TraceError if it is missing, ragged, not numeric or negative, and for zeros, gaps
    and asymmetry that the experiment refuses."""
    unit = source.unit or DEFAULT_UNITS[source.kind]
    topology, scale = source.kind in ("p2psim-topology", "graph"), _IN_A_SECOND[unit]
    longest = _LONGEST_RTT * scale
    if source.kind == "graph":
        table = read_graph(source.file, scale, longest / 2)
    elif source.kind == "pairs":
        table = read_pairs(source.file, longest)
    elif topology:
        allowed = source.asymmetry not in (None, "refuse")
        table = read_topology(source.file, unit, longest / 2, allowed)
    else:
        table = read_table(source.file, longest)
    values, notes = table.values, _Notes(source, table, unit)
    _take_zeros(values, notes)
    rtt = _both_directions(values, notes)
    rtt = (rtt * 2 if topology or source.asymmetry == "one-way" else rtt) / scale
    filled = _fill_gaps(rtt, notes)
    what = "one-way delays" if topology or source.asymmetry == "one-way" else "RTTs"
    default = "" if source.unit else f", as {source.kind} has them unless `unit` says otherwise"
    head = Facts((f"{source.file.name} ({source.kind}): {what} in {unit}{default}",))
    facts = head + describe_rtt(rtt) + notes.facts()
    return MeasuredRtt(rtt.astype(np.float32), filled, facts, table.lost)


def count_hosts(source: MatrixSource) -> int:
    """Count the hosts in the file. Raises TraceError for a bad file, or one of fewer than 2."""
    if source.kind == "p2psim-topology":
        return count_nodes(source.file)
    if source.kind == "graph":
        return count_graph(source.file)
    if source.kind == "pairs":
        return len(read_pairs(source.file, math.inf).values)
    return count_rows(source.file)


class _Notes:
    """Collects the facts about a file, and makes the errors that name its lines."""

    def __init__(self, source: MatrixSource, table: Table, unit: str) -> None:
        self.source = source
        self.table = table
        self.unit = unit
        self._said = list(table.said)
        self._warnings = list(table.warnings)

    def say(self, number: int, one: str, many: str, warn: bool = False) -> None:
        """Tell of so many pairs, if there are any: `one` or `many` is what follows the number."""
        if number:
            sentence = f"{number:,} {one if number == 1 else many}"
            (self._warnings if warn else self._said).append(sentence)

    def error(self, i: int, text: str) -> TraceError:
        """Return the error of a row."""
        lines = self.table.lines
        return TraceError(self.source.file, lines[i] if lines else 0, text)

    def facts(self) -> Facts:
        return Facts(told(self._said), told(self._warnings))


def _take_zeros(values: NDArray[np.float64], notes: _Notes) -> None:
    """Make of zeros between two hosts what the experiment says: in place, a measurement, or none."""
    own = values.diagonal()
    notes.say(
        int(np.count_nonzero(own[~np.isnan(own)])),
        "value on the diagonal is not used: peers at one host are `same_host_rtt` apart",
        "values on the diagonal are not used: peers at one host are `same_host_rtt` apart",
    )
    np.fill_diagonal(values, 0.0)
    zero = values == 0
    np.fill_diagonal(zero, False)
    if not zero.any():
        return
    pairs = int(np.count_nonzero(np.triu(zero & zero.T)))
    match notes.source.zeros:
        case "refuse":
            i, j = (int(k) for k in np.argwhere(zero)[0])
            mend = "Write `zeros: fill` if it is no measurement, or `zeros: same_host_rtt` if one place"
            raise notes.error(i, f"an RTT of 0 between hosts {i + 1} and {j + 1}. {mend}")
        case "same_host_rtt":
            notes.say(
                pairs,
                "pair with an RTT of 0 is at one place: its RTT is `same_host_rtt`",
                "pairs with an RTT of 0 are at one place: their RTT is `same_host_rtt`",
            )
        case _:
            values[zero] = np.nan
            mend = "if they are at one place, write `zeros: same_host_rtt`"
            notes.say(
                pairs,
                f"pair has an RTT of 0, which counts as no measurement: {mend}",
                f"pairs have an RTT of 0, which counts as no measurement: {mend}",
                warn=True,
            )


def _both_directions(values: NDArray[np.float64], notes: _Notes) -> NDArray[np.float64]:
    """Return the values with what is known of one direction for both, and their mean where they differ."""
    one_sided = np.isnan(values) & ~np.isnan(values.T)
    notes.say(
        int(np.count_nonzero(one_sided)),
        "pair was measured in one direction alone, which holds for both",
        "pairs were measured in one direction alone, which holds for both",
    )
    values = np.where(np.isnan(values), values.T, values)
    if notes.source.asymmetry == "one-way":
        return values
    apart = np.abs(values - values.T)
    off = np.triu(apart > _ASYMMETRY * np.maximum(values, values.T))
    if off.any() and notes.source.asymmetry != "mean":
        i, j = (int(k) for k in np.argwhere(off.T)[0])
        text = f"asymmetric: column {j + 1} is {values[i, j]:g}, its mirror image {values[j, i]:g}"
        raise notes.error(i, f"{text}. {ASYMMETRY_ADVICE}")
    differ = int(np.count_nonzero(np.triu(apart > 0)))
    most = np.nanmax(apart, initial=0.0)
    notes.say(
        differ,
        f"pair differs by direction, by {most:g} {notes.unit}: the mean of both counts",
        f"pairs differ by direction, by {most:g} {notes.unit} at most: the mean of both counts",
    )
    return (values + values.T) / 2


def _fill_gaps(rtt: NDArray[np.float64], notes: _Notes) -> int:
    """Replace the pairs without a measurement by the best two-hop path over measured ones, in place."""
    missing = np.isnan(rtt)
    pairs = np.argwhere(np.triu(missing))
    measured = np.where(missing, np.inf, rtt)
    np.fill_diagonal(measured, np.inf)
    filled = []
    for i, j in pairs:
        here = f"no RTT between hosts {i + 1} and {j + 1}"
        if notes.source.gaps == "refuse":
            raise notes.error(i, f"{here}, and {len(pairs):,} such pairs. Write `gaps: fill` to fill them in")
        there, back = (float(np.min(measured[a] + measured[:, b])) for a, b in ((i, j), (j, i)))
        if not np.isfinite(there) or not np.isfinite(back):
            text = f"{here}, and no host has one to both: remove one of them"
            raise TraceError(notes.source.file, 0, text)
        rtt[i, j], rtt[j, i] = there, back
        filled.append(there)
    if filled:
        lengths = f"{milliseconds(min(filled))} to {milliseconds(max(filled))}"
        of = f"of {counted(len(rtt) * (len(rtt) - 1) // 2, 'pair')}"
        what = f"{of} without a measurement got the shortest path over one other host, {lengths}"
        notes.say(len(filled), what, what)
    return len(filled)
