"""The drawings of overlays: one trial of each system, with the links at the end of the measure phase.

Overlays whose peers told identifiers are drawn around a ring, others by hops from their best-linked peer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from analysis.charts.graph_layout import Place, around_ring, by_hops
from analysis.charts.overlay_graph import Links, OverlayGraph, thinned
from analysis.charts.results import Results
from analysis.report.figures_shown import shown
from emulator.files.input_facts import counted

MOST_PEERS: Final = 2000
"""The most peers that can be told apart in a drawing by hops."""
_MOST_DRAWINGS: Final = 4
_MOST_KINDS: Final = 4
_ENOUGH: Final = 0.9
"""The least share of linked peers that have an identifier where the overlay is drawn around a ring."""
_LENGTHS: Final = ((0.02, "up to 1/50 of the ring"), (0.125, "up to 1/8"), (0.5, "longer"))

Pairs = dict[tuple[int, int], str]
"""The kinds of each link in words, by its two peers in their order."""


@dataclass(frozen=True, slots=True)
class _Overlay:
    """The links of one channel of a trial."""

    label: str
    trial: str
    name: str
    """The short name of the trial."""
    channel: str
    pairs: Pairs
    peers: list[int]
    others: list[str]
    """The channels that are not drawn."""


def overlay_drawings(results: Results) -> Iterator[OverlayGraph]:
    """Yield the drawings of up to four systems, or of the first variant if systems are not varied."""
    for number, (label, trial) in enumerate(_chosen(results), 1):
        links = _links_by_channel(results, trial)
        if not links:
            continue
        orders = _orders(results, trial)
        ringed = [name for name, pairs in links.items() if _covers(orders.get(name, []), pairs)]
        channel = ringed[0] if ringed else min(links, key=lambda name: (name != "", -len(links[name])))
        pairs = links[channel]
        peers = sorted({peer for pair in pairs for peer in pair})
        others = [name for name in links if name != channel]
        of = results.trial_labels.get(trial, trial)
        overlay = _Overlay(label, trial, of, channel, pairs, peers, others)
        name = f"overlay-{number}"
        if ringed:
            yield _around_ring(name, overlay, orders[channel])
        elif len(peers) <= MOST_PEERS:
            yield _by_hops(name, overlay)


def _chosen(results: Results) -> list[tuple[str, str]]:
    """Return the labels and trials: the first variant of each system."""
    systems = {v["variant"]: repr(v["values"].get("system.name")) for v in results.variants}
    names = {results.labels[variant]: system for variant, system in systems.items()}
    first: dict[str, tuple[str, str]] = {}
    for label, trial in shown(results):
        first.setdefault(names[label], (label, trial))
    return list(first.values())[:_MOST_DRAWINGS]


def _links_by_channel(results: Results, trial: str) -> dict[str, Pairs]:
    """Return the links at the end of the measure phase. One that both peers told counts once."""
    if not results.has("links"):
        return {}
    at_end = (pc.field("moment") == "end") & (pc.field("peer") != pc.field("neighbour"))
    table = results.table("links", trial, ["moment", "peer", "neighbour", "channel", "kind"], at_end)
    kinds: dict[str, dict[tuple[int, int], set[str]]] = {}
    for peer, other, channel, kind in _rows(table, "peer", "neighbour", "channel", "kind"):
        pair = (peer, other) if peer < other else (other, peer)
        kinds.setdefault(channel, {}).setdefault(pair, set()).add(kind)
    return {
        channel: {pair: " and ".join(sorted(of)) for pair, of in sorted(pairs.items())}
        for channel, pairs in sorted(kinds.items())
    }


def _orders(results: Results, trial: str) -> dict[str, list[int]]:
    """Return the peers of each channel in the order of the identifiers that they took last."""
    if not results.has("identifiers"):
        return {}
    table = results.table("identifiers", trial, ["channel", "peer", "at_s", "identifier"])
    last: dict[str, dict[int, tuple[float, int]]] = {}
    for channel, peer, at_s, identifier in _rows(table, "channel", "peer", "at_s", "identifier"):
        taken = last.setdefault(channel, {})
        taken[peer] = max(taken.get(peer, (at_s, 0)), (at_s, int(identifier, 16)))
    return {
        channel: sorted(taken, key=lambda peer: (taken[peer][1], peer)) for channel, taken in last.items()
    }


def _rows(table: pa.Table | None, *columns: str) -> Iterator[tuple[Any, ...]]:
    if table is not None:
        yield from zip(*(table[column].to_pylist() for column in columns), strict=True)


def _covers(order: Sequence[int], pairs: Pairs) -> bool:
    peers = {peer for pair in pairs for peer in pair}
    return len(peers & set(order)) >= _ENOUGH * len(peers)


def _around_ring(name: str, overlay: _Overlay, order: Sequence[int]) -> OverlayGraph:
    linked = set(overlay.peers)
    places = around_ring([peer for peer in order if peer in linked])
    ranks = {peer: rank for rank, peer in enumerate(places)}
    pairs = [pair for pair in overlay.pairs if ranks.keys() >= set(pair)]
    about = (
        "Peers stand around the ring in the order of their identifiers, equally far apart; short links lie "
        "at its edge, and long ones cross it."
    )
    return _graph(name, overlay, about, places, _by_length(pairs, ranks))


def _by_hops(name: str, overlay: _Overlay) -> OverlayGraph:
    neighbours: dict[int, list[int]] = {peer: [] for peer in overlay.peers}
    for one, two in overlay.pairs:
        neighbours[one].append(two)
        neighbours[two].append(one)
    found = by_hops(neighbours)
    ways = {(min(peer, over), max(peer, over)) for peer, over in found.parents.items()}
    first = _by_kind({pair: kind for pair, kind in overlay.pairs.items() if pair in ways})
    rest = [pair for pair in overlay.pairs if pair not in ways]
    about = (
        f"Each circle is one hop farther from peer {found.root}, which has the most neighbours; the "
        f"farthest peers are {found.hops} hops away. Links over which a peer is first reached are drawn "
        "strongly, all others faintly."
    )
    if found.apart:
        about = f"{about} No links lead to {counted(len(found.apart), 'peer')} on the outermost circle."
    links = [Links("all other links", rest, 7, faint=True), *first] if rest else first
    return _graph(name, overlay, about, found.places, links)


def _by_kind(pairs: Pairs) -> list[Links]:
    """Return links by their kinds, the most frequent first. What is beyond the last style is one kind."""
    counts = Counter(pairs.values()).most_common()
    named = [kind for kind, _ in counts[: _MOST_KINDS if len(counts) <= _MOST_KINDS else _MOST_KINDS - 1]]
    found = [
        Links(kind or "links", [pair for pair, of in pairs.items() if of == kind], style)
        for style, kind in enumerate(named)
    ]
    rest = [pair for pair, of in pairs.items() if of not in named]
    return [*found, Links("other kinds", rest, _MOST_KINDS - 1)] if rest else found


def _by_length(pairs: Sequence[tuple[int, int]], ranks: Mapping[int, int]) -> list[Links]:
    """Return links by the share of the ring that they span, the longest first."""

    def of(pair: tuple[int, int]) -> int:
        apart = abs(ranks[pair[0]] - ranks[pair[1]])
        share = min(apart, len(ranks) - apart) / len(ranks)
        return next(number for number, (most, _) in enumerate(_LENGTHS) if share <= most)

    grouped = {number: list(each) for number, each in groupby(sorted(pairs, key=of), key=of)}
    return [
        Links(_LENGTHS[number][1], grouped[number], number, faint=number == len(_LENGTHS) - 1)
        for number in sorted(grouped, reverse=True)
    ]


def _graph(
    name: str, overlay: _Overlay, about: str, places: Mapping[int, Place], links: Sequence[Links]
) -> OverlayGraph:
    drawn, count = thinned(links)
    told = sum(len(each.pairs) for each in drawn)
    of = f" of channel {overlay.channel}" if overlay.channel else ""
    sizes = f"{counted(len(places), 'peer')} and {counted(count, 'link')}"
    texts = [f"Trial {overlay.name}: {sizes}{of}. {about}"]
    if told < count:
        texts.append(f"Of the links {told:,} are drawn, evenly chosen.")
    if overlay.others:
        names = ", ".join(each or "the system itself" for each in overlay.others)
        texts.append(f"Links of {names} are not drawn.")
    title = f"The overlay of {overlay.label}" if overlay.label else "The overlay"
    return OverlayGraph(name, title, " ".join(texts), overlay.trial, places, drawn)
