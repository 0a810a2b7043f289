"""This module shows the overlay at the end of the measure phase: how many neighbours peers have, how
clustered they are and how far apart beside a random graph of the same size, and a drawing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analysis.charts.chart import Quantity, Series, line_chart
from analysis.charts.numerals import estimate
from analysis.charts.results import Results
from analysis.contract.figures import Block, Chart, Figure, Rows, Section, Text
from analysis.measures.link_matrix import clusterings, each_nth, in_either_direction, link_matrix, mean_path
from analysis.report.figures_shown import drawn
from analysis.report.over_seeds import mean_points, mean_text, seeds, told
from analysis.report.overlay_drawings import overlay_drawings
from analysis.report.prefix_tables import slots_of_trial

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_MOST_PEERS: Final = 500
"""The most peers whose neighbours are looked at for the clustering: of more, each n-th is one."""
_MOST_SOURCES: Final = 50
"""The most peers from which shortest paths are followed: of more, each n-th is one."""
_ABOUT: Final = (
    "Links that peers reported at the end of the measure phase, on all channels, in either direction; links "
    "to peers that are gone count as long as they are reported. The "
    "clustering coefficient of a peer is the share of pairs of its neighbours that are linked themselves, "
    f"and 0 with fewer than two; the mean is of at most {_MOST_PEERS} peers. (The measure of that name "
    "leaves out peers that are gone, and counts those without links.) A random graph with as many "
    "peers and links has the mean number of neighbours over the number of peers. Shortest paths are along "
    "these links, to all peers that can be reached from each of at most "
    f"{_MOST_SOURCES} peers; those of a random graph of n peers with k neighbours have "
    "(ln n - 0.577) / ln k + 1/2 hops (Fronczak et al., 2004). "
    "A regular one, in which each peer has k neighbours, is the ideal of meshes: a peer is farther than h "
    "hops with a probability of exp(-k ((k - 1)^h - 1) / (n (k - 2))) (Tishby et al., 2022, cited "
    "from memory), in "
    "which the factor of the first hop, exp(-k / n), has its exact value instead: 1 - k / (n - 1)."
)
_WRONG: Final = "wrong_successors"
_EULER: Final = 0.5772156649
_NOBODY: Final = 1e-12
"""The probability below which nobody is that far."""
_LARGEST: Final = 700.0
"""The largest number of which the exponential function of the negative is above 0."""
_SLOTS: Final = (
    "A slot of a table by prefix is filled if an entry begins with its digits; slots are counted for which "
    "there is a peer that is up."
)


def _degrees(results: Results) -> list[Chart]:
    if not results.has("links"):
        return []
    lines = []
    for label, trials in seeds(results):
        of_seeds = [shares for trial in trials if (shares := _shares(_links(results, trial)))]
        lines.append(Series(label, mean_points(of_seeds, otherwise=0.0)))
    about = (
        "The share of peers by the number of other peers to which they reported a link at the end of the "
        "measure phase, on any channel. Peers without any link are not counted."
    )
    return drawn(
        line_chart(
            "degrees", "Neighbours of a peer", told(about, results), Quantity("neighbours"),
            Quantity("peers", "share"), lines,
        )
    )  # fmt: skip


def _links(results: Results, trial: str) -> pa.Table | None:
    at_end = (pc.field("moment") == "end") & (pc.field("peer") != pc.field("neighbour"))
    return results.table("links", trial, ["moment", "peer", "neighbour"], at_end)


def _shares(links: pa.Table | None) -> dict[float, float]:
    """Return the share of peers that have a number of neighbours, by that number."""
    if links is None or not links.num_rows:
        return {}
    counts = links.group_by("peer").aggregate([("neighbour", "count_distinct")])
    found = Counter(counts["neighbour_count_distinct"].to_pylist())
    return {float(degree): peers / counts.num_rows for degree, peers in sorted(found.items())}


def _write(results: Results) -> Iterator[Block]:
    if not results.has("links"):
        return
    rows: list[Sequence[str]] = []
    wrong = {results.labels[v["variant"]]: _wrong(v) for v in results.variants}
    has_ring = any(wrong.values())
    values = {results.labels[v["variant"]]: v["values"] for v in results.variants}
    slots = {
        label: mean_text([slots_of_trial(results, trial, values[label]) for trial in trials], "share")
        for label, trials in seeds(results)
    }
    has_slots = any(slots.values())
    for label, trials in seeds(results):
        graphs = [graph for trial in trials if (graph := _graph(_links(results, trial))) is not None]
        if graphs:
            sizes = [graph.shape[0] for graph in graphs]
            degrees = [graph.nnz / size for graph, size in zip(graphs, sizes, strict=True)]
            sized = list(zip(degrees, sizes, strict=True))
            random = [degree / peers for degree, peers in sized]
            paths = [random_path(peers, degree) for degree, peers in sized]
            regular = [regular_path(peers, degree) for degree, peers in sized]
            rows.append(
                (
                    label if len(results.variants) > 1 else "all peers",
                    *(mean_text(sizes), mean_text(degrees)),
                    *(mean_text(list(map(clustering, graphs)), "share"), mean_text(random, "share")),
                    *(
                        mean_text([mean_path(graph, _MOST_SOURCES) for graph in graphs], "hops"),
                        mean_text(paths, "hops"),
                        mean_text(regular, "hops"),
                    ),
                    *((slots[label],) if has_slots else ()),
                    *((wrong[label],) if has_ring else ()),
                )
            )
    if rows:
        yield Text(told(f"{_ABOUT} {_SLOTS}" if has_slots else _ABOUT, results, "Numbers"))
        columns = ("Overlay", "Peers with links", "Neighbours", "Clustering", "Clustering of a random graph")
        paths_of = ("Shortest paths", "Paths of a random graph", "Paths of a regular one")
        of_tables = ("Slots filled",) if has_slots else ()
        yield Rows(
            (*columns, *paths_of, *of_tables, *(("Wrong successor at the start",) if has_ring else ())), rows
        )
        yield from overlay_drawings(results)


def _wrong(variant: Mapping[str, Any]) -> str:
    """Return the share of peers with a wrong successor in words, empty if it was not measured."""
    found = variant["measures"].get(_WRONG) or {}
    if found.get("mean") is None:
        return ""
    return f"{estimate(found['mean'], found.get('ci95'), 'share')}\N{NO-BREAK SPACE}%"


def _graph(links: pa.Table | None) -> csr_array | None:
    """Return the links of the peers that have one, in whichever direction; None if there is none."""
    if links is None or not links.num_rows:
        return None
    ends = np.concatenate([links[name].to_numpy() for name in ("peer", "neighbour")])
    peers, places = np.unique(ends, return_inverse=True)
    begins, others = places[: links.num_rows], places[links.num_rows :]
    return in_either_direction(link_matrix(begins, others, len(peers)))


def clustering(graph: csr_array) -> float | None:
    """Return the mean clustering coefficient of the peers of a graph, None without peers."""
    peers = each_nth(np.arange(graph.shape[0]), _MOST_PEERS)
    return float(clusterings(graph, peers).mean()) if len(peers) else None


def random_path(peers: int, degree: float) -> float | None:
    """Return the mean hops of the shortest paths of a random graph; None for fewer than two neighbours, whose
    graph falls apart."""
    return (math.log(peers) - _EULER) / math.log(degree) + 0.5 if degree >= 2 else None


def regular_path(peers: int, degree: float) -> float | None:
    """Return the mean hops of the shortest paths of a random regular graph, the sum over h of the probability
    that a peer is farther than h hops; None for two neighbours or fewer, and if all peers are neighbours."""
    if degree <= 2 or degree >= peers - 1:
        return None
    found, at_most = 0.0, 0
    while (farther := _farther(peers, degree, at_most)) > _NOBODY:
        found, at_most = found + farther, at_most + 1
    return found


def _farther(peers: int, degree: float, hops: int) -> float:
    """Return the probability that a peer of a random regular graph is farther than some hops.

    The formula is cited from memory (Tishby et al., 2022). That of one hop is exact here, since exp(-k / n),
    which holds among many peers, is too large in dense graphs.
    """
    if not hops:
        return 1.0
    reached = math.exp(hops * math.log(degree - 1)) - (degree - 1)
    beyond_first = math.exp(-min(degree * reached / (peers * (degree - 2)), _LARGEST))
    return (1 - degree / (peers - 1)) * beyond_first


DEGREES: Final = Figure(_degrees)
TOPOLOGY: Final = Section("The overlay's topology", _write, "Topology", "topology")
