"""Cliques and trees as servers had them, beside those made with knowledge of all delays (Kyra, III.A)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analysis.contract.trials import TrialRecord
from emulator.layouts.cliques import cluster, mean_inside
from emulator.layouts.trees import spanning_length
from emulator.network.round_trips import rtt_between
from emulator.protocols.overlays.cliques.parameters import CliqueParameters

Tables = Mapping[str, DataFrame]
Rtt = NDArray[np.float64]
Cells = dict[str, NDArray[Any]]
"""The columns of rows of one trial and moment."""
_LINK = ["trial", "moment", "peer", "neighbour"]
_TREE = "tree "
"""The prefix of the kind of links to parents on trees of servers; the name of the tree follows it."""
CLIQUES = (
    "trial string, moment string, servers int, cliques int, rtt_ms double, hac_cliques int, hac_rtt_ms double"
)
"""The columns of the table `cliques`."""
TREES = (
    "trial string, moment string, tree string, members int, whole boolean, length_ms double, "
    "shortest_ms double"
)
"""The columns of the table `trees`."""


def cliques(tables: Tables, planned_peers: DataFrame, records: Sequence[TrialRecord]) -> DataFrame:
    """Return the rows of the table `cliques`; `planned_peers` is the plan's, with locations."""
    mates = tables["links"].where("kind = 'mate'").select(*_LINK)
    rows = mates.unionByName(_up(tables, "clique_members"))
    return _by_trial(rows, planned_peers, records, _cliques, CLIQUES)


def trees(tables: Tables, planned_peers: DataFrame, records: Sequence[TrialRecord]) -> DataFrame:
    """Return the rows of the table `trees`: trees of at least two servers."""
    links = (
        tables["links"]
        .where(F.col("kind").startswith(_TREE))
        .select(*_LINK, F.substring("kind", len(_TREE) + 1, 200).alias("tree"))
    )
    rows = links.unionByName(_up(tables, "tree_settled").withColumn("tree", F.lit("")))
    return _by_trial(rows, planned_peers, records, _trees, TREES)


def _up(tables: Tables, gauge: str) -> DataFrame:
    """Return the servers that reported a gauge, each as a link to itself."""
    told = (
        tables["states"]
        .where((F.col("name") == gauge) & (F.col("moment") != "sample"))
        .select("trial", "moment", "peer")
    )
    return told.withColumn("neighbour", F.col("peer"))


Rows = Iterator[tuple[Any, ...]]
_Find = Callable[[Cells, Rtt, TrialRecord], Rows]


def _by_trial(
    rows: DataFrame, planned_peers: DataFrame, records: Sequence[TrialRecord], find: _Find, columns: str
) -> DataFrame:
    """Return what `find` returns for the rows of each trial and moment, with the RTTs (s) of its peers."""
    of_trial = {record.name: record for record in records}
    places = planned_peers.select("trial", "peer", "location")
    schema = pa.schema([(name, _TYPES[kind]) for name, kind in map(str.split, columns.split(", "))])

    def found(rows: pa.Table, planned: pa.Table) -> pa.Table:
        made = []
        if rows.num_rows and planned.num_rows:
            record = of_trial[rows["trial"][0].as_py()]
            locations = planned.sort_by("peer")["location"].to_numpy()
            rtt = rtt_between(record.spec.network, locations, record.spec.seed)
            moments = rows["moment"].to_numpy(zero_copy_only=False)
            cells = {
                name: rows[name].to_numpy(zero_copy_only=False)
                for name in rows.column_names
                if name != "trial"
            }
            for moment in np.unique(moments):
                of_it = {name: column[moments == moment] for name, column in cells.items()}
                made += [(record.name, moment, *row) for row in find(of_it, rtt, record)]
        return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in made], schema)

    return rows.groupBy("trial").cogroup(places.groupBy("trial")).applyInArrow(found, columns)


_TYPES = {
    "string": pa.string(),
    "int": pa.int32(),
    "boolean": pa.bool_(),
    "double": pa.float64(),
}


def _cliques(cells: Cells, rtt: Rtt, record: TrialRecord) -> Rows:
    """Yield a row of cliques: groups of servers that are linked by counting each other among their mates."""
    up = np.unique(cells["peer"][cells["peer"] == cells["neighbour"]])
    place = {int(peer): number for number, peer in enumerate(up)}
    says = np.zeros((len(up), len(up)), np.bool_)
    for peer, mate in zip(cells["peer"], cells["neighbour"], strict=True):
        if peer in place and mate in place:
            says[place[peer], place[mate]] = True
    number, of = _parts(says & says.T)
    found = [np.flatnonzero(of == each).tolist() for each in range(number)]
    asked = CliqueParameters.model_validate(record.spec.system.parameters.get("cliques", {}))
    between = rtt[np.ix_(up, up)]
    best = cluster(between, asked.diameter, asked.size, asked.minimum)
    yield (
        len(up),
        number,
        mean_inside(found, between) * 1e3,
        len(best),
        mean_inside(best, between) * 1e3,
    )


def _trees(cells: Cells, rtt: Rtt, record: TrialRecord) -> Rows:
    """Yield a row for each tree: its members are the servers that have a parent there, and the parents."""
    up = cells["peer"][cells["tree"] == ""]
    for tree in np.unique(cells["tree"]):
        if not tree:
            continue
        of_it = cells["tree"] == tree
        children, parents = cells["peer"][of_it], cells["neighbour"][of_it]
        members = np.unique(np.concatenate([children, parents]))
        linked = np.zeros((len(members), len(members)), np.bool_)
        linked[np.searchsorted(members, children), np.searchsorted(members, parents)] = True
        whole = len(children) == len(members) - 1 and _parts(linked)[0] == 1 and np.isin(parents, up).all()
        length = float(rtt[children, parents].sum())
        shortest = spanning_length(rtt[np.ix_(members, members)])
        yield str(tree), len(members), bool(whole), length / 2 * 1e3, shortest / 2 * 1e3


def _parts(linked: NDArray[np.bool_]) -> tuple[int, NDArray[np.int32]]:
    """Return how many parts a graph has, and the part of each node."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    number, of = connected_components(csr_array(linked), directed=False)
    return int(number), of
