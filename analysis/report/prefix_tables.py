"""The slots of tables by prefix that should be filled and are, as in Pastry and Kademlia.

A slot is for peers that share a number of leading digits with a table's peer and have a certain other
digit after these. It should be filled if there is such a peer: in Kademlia "every node knows of at least one
node in each of its subtrees, if that subtree contains a node" (Maymounkov and Mazieres, 2002, section 2.1),
which are slots of binary digits, and Pastry's routing table has a slot for each digit of b bits (Rowstron and
Druschel, 2001, section 2.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final

import pyarrow.compute as pc

from analysis.charts.results import Results
from emulator.contract.identifiers import BITS

_KINDS: Final = {"routing table": 4, "closest": 1, "contact": 1}
"""The bits of a digit by the kind of the links that are such a table's entries."""
_DIGIT_BITS: Final = "digit_bits"
"""The name of the parameter that says how many bits Pastry's digits have."""
_MOST_PEERS: Final = 500
"""The most peers whose tables are looked at: of more, each n-th is one."""


def filled_slots(
    identifiers: Mapping[int, int], links: Iterable[tuple[int, int]], digit_bits: int
) -> float | None:
    """Return the share of the slots that should be filled and are, over the peers that have links; None
    without any.

    `identifiers` are those of the peers that there are, `links` pairs of a peer and an entry of its table.
    Entries that are no such peers fill nothing.
    """
    entries: dict[int, set[int]] = {}
    for peer, entry in links:
        if peer in identifiers and entry in identifiers:
            entries.setdefault(peer, set()).add(identifiers[entry])
    beginnings: dict[int, set[int]] = {}
    for row in range(1, BITS // digit_bits + 1):
        beginnings[row] = {_beginning(each, row, digit_bits) for each in identifiers.values()}
        if len(beginnings[row]) == len(set(identifiers.values())):
            break
    due = filled = 0
    peers = sorted(entries)
    for peer in peers[:: -(-len(peers) // _MOST_PEERS) or 1]:
        own = identifiers[peer]
        slots = set(_slots(own, beginnings, digit_bits))
        known = {(row, _beginning(each, row, digit_bits)) for row in beginnings for each in entries[peer]}
        due += len(slots)
        filled += len(slots & known)
    return filled / due if due else None


def _slots(own: int, beginnings: Mapping[int, set[int]], digit_bits: int) -> Iterator[tuple[int, int]]:
    """Yield the slots of a peer for which there is a peer, each by the digits with which it begins and their
    number."""
    for row, of_row in beginnings.items():
        shared, mine = _beginning(own, row - 1, digit_bits), _beginning(own, row, digit_bits)
        for digit in range(2**digit_bits):
            slot = (shared << digit_bits) | digit
            if slot != mine and slot in of_row:
                yield row, slot


def _beginning(identifier: int, digits: int, digit_bits: int) -> int:
    return identifier >> (BITS - digits * digit_bits)


def slots_of_trial(results: Results, trial: str, values: Mapping[str, Any]) -> float | None:
    """Return the share of slots that are filled at the end of the measure phase; None of a system without
    such tables. `values` are what its variant varies. Raises ResultsError if a table cannot be read."""
    if not all(map(results.has, ("links", "identifiers", "sessions"))):
        return None
    at_end = (pc.field("moment") == "end") & pc.field("kind").isin(list(_KINDS))
    links = results.table("links", trial, ["moment", "peer", "neighbour", "channel", "kind", "at_s"], at_end)
    if links is None or not links.num_rows:
        return None
    told = results.table("identifiers", trial, ["peer", "channel", "at_s", "identifier"])
    if told is None:
        return None
    channel = links["channel"][0].as_py()
    until = pc.max(links["at_s"]).as_py()
    there = _up(results, trial, until)
    identifiers = {
        row["peer"]: int(row["identifier"], 16)
        for row in told.sort_by("at_s").to_pylist()
        if row["channel"] == channel and row["at_s"] <= until and row["peer"] in there
    }
    of_channel = links.filter(pc.field("channel") == channel)
    pairs = zip(of_channel["peer"].to_pylist(), of_channel["neighbour"].to_pylist(), strict=True)
    bits = _KINDS[links["kind"][0].as_py()]
    if bits > 1:
        bits = next(chain(_found(values), _found(results.experiment.get("system", {}))), bits)
    return filled_slots(identifiers, pairs, bits)


def _up(results: Results, trial: str, at: float) -> set[int]:
    """Return the peers that are up at a time (s): those that left are in no subtree, though tables may still
    have them."""
    until = pc.field("end_s").is_null() | (pc.field("end_s") >= at)
    found = results.table(
        "sessions", trial, ["peer", "start_s", "end_s"], until & (pc.field("start_s") <= at)
    )
    return set() if found is None else set(found["peer"].to_pylist())


def _found(part: Mapping[str, Any]) -> Iterator[int]:
    """Yield the values of the parameter of the digits, wherever it is."""
    for key, value in part.items():
        if isinstance(value, Mapping):
            yield from _found(value)
        elif key.rpartition(".")[2] == _DIGIT_BITS:
            yield int(value)
