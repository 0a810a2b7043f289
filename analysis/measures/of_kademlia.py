"""Measures of Kademlia's lookups: requests, delay, depth, and whom they found. Their origins tell of them."""

from __future__ import annotations

from heapq import nsmallest

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analysis.contract.formulas import defined
from analysis.contract.measures import MeasureGroup, Tables, grouped, lower, share
from emulator.contract.identifiers import decode

FOUND = "lookup_found"
"""The observation of a peer that a lookup found, whose value is its place among them."""
_MEANS = {
    "lookup_requests": "lookup_requests",
    "lookup_took_ms": "lookup_took",
    "lookup_depth": "lookup_depth",
}
"""The measures that are means of observations, one of which each lookup has."""
_JUDGED = "trial string, closest boolean, all boolean, share double"


def _asked(tables: Tables) -> DataFrame:
    """Return the lookups that count, each with its trace."""
    keys = ["trial", "lookup"]
    counted = tables["lookups"].where("counted").select(*keys, "origin", "key", "at_s")
    traces = tables["operations"].where("operation = 'lookup'").select(*keys, "trace")
    return counted.join(traces, keys)


def _means(tables: Tables) -> DataFrame:
    told = tables["observations"].where(F.col("name").isin([*_MEANS.values()]))
    return (
        _asked(tables)
        .join(told.select("trial", "trace", "name", "value"), ["trial", "trace"])
        .groupBy("trial")
        .agg(*(F.avg(F.when(F.col("name") == name, F.col("value"))).alias(to) for to, name in _MEANS.items()))
    )


def _right(tables: Tables) -> DataFrame:
    """Hold the peers that each lookup found against those that were up while it ran."""
    told = tables["observations"].where(F.col("name") == FOUND)
    found = (
        told.groupBy("trial", "trace")
        .agg(
            F.sort_array(F.collect_list(F.struct("value", "subject"))).subject.alias("found"),
            F.max("at_s").alias("until_s"),
        )
        .join(_asked(tables), ["trial", "trace"])
        .select("trial", "origin", "key", "at_s", "until_s", "found")
    )
    homes = (
        tables["identifiers"]
        .groupBy("trial", "peer")
        .agg(F.max_by("identifier", "at_s").alias("identifier"))
        .join(tables["sessions"].where("start_s is not null"), ["trial", "peer"])
        .select("trial", "peer", "identifier", "start_s", F.coalesce("end_s", F.lit(1e18)).alias("end_s"))
    )
    judged = found.groupBy("trial").cogroup(homes.groupBy("trial")).applyInArrow(judge, _JUDGED)
    return judged.groupBy("trial").agg(
        F.avg(F.col("closest").cast("int")).alias("lookup_found_closest"),
        F.avg(F.col("all").cast("int")).alias("lookup_found_all"),
        F.avg("share").alias("lookup_found_share"),
    )


def judge(found: pa.Table, homes: pa.Table) -> pa.Table:
    """Return for each lookup of a trial whether it found the closest peer and the k closest, and their share.

    `found` has origin, key, at_s, until_s and the peers `found`, the closest first; `homes` has the peers
    with their identifiers as they were last, and the sessions in which they were up. The peers that count
    were up from `at_s` to `until_s`; k is the most that any lookup found.
    """
    up = [(int(home.pop("identifier"), 16), home) for home in homes.to_pylist()]
    rows = found.to_pylist()
    k = max((len(row["found"]) for row in rows), default=0)
    closest, all_of_them, shares = [], [], []
    for row in rows:
        key = decode(row["key"])
        there = (
            (identifier ^ key, home["peer"])
            for identifier, home in up
            if home["start_s"] <= row["at_s"]
            and row["until_s"] <= home["end_s"]
            and home["peer"] != row["origin"]
        )
        true = [peer for _, peer in nsmallest(k, there)]
        right = len(set(true) & set(row["found"]))
        closest.append(row["found"][:1] == true[:1])
        all_of_them.append(right == len(true))
        shares.append(right / len(true) if true else None)
    trials = [found["trial"][0].as_py()] * len(rows) if rows else []
    return pa.table(
        {
            "trial": pa.array(trials, pa.string()),
            "closest": pa.array(closest, pa.bool_()),
            "all": pa.array(all_of_them, pa.bool_()),
            "share": pa.array(shares, pa.float64()),
        }
    )


_HEADINGS = {"Lookups": ("lookup_",)}
_MEASURES = {
    "lookup_requests": lower(
        "Requests, a lookup", "", "FIND_NODE requests that the origin of a lookup sent, mean."
    ),
    "lookup_took_ms": lower(
        "Time until a lookup ended", "ms", "From its beginning until its rule let it end, mean."
    ),
    "lookup_depth": lower(
        "Depth of what a lookup found",
        "",
        "Steps to the k peers that a lookup found, mean: 1 for contacts of the origin, one more than the "
        "peer that named it first for another one.",
    ),
    "lookup_found_closest": share(
        "Lookups that found the closest peer",
        "The first that the lookup found is the closest to the key of all peers but its origin that were up "
        "while it ran. Told where the system's parameter `tell_found` is on.",
    ),
    "lookup_found_all": share(
        "Lookups that found the k closest peers", "They are exactly the k closest of the same peers."
    ),
    "lookup_found_share": share(
        "Share of the k closest that a lookup found", "Of the k closest of the same peers, mean."
    ),
}
_FORMULAS = {
    "lookup_requests": "mean over lookups of the FIND_NODE requests of the origin",
    "lookup_took_ms": "mean over lookups of (time of the end - time of the beginning)",
    "lookup_depth": "mean over lookups of the steps to the peers that it found",
    "lookup_found_closest": "lookups whose first peer is the closest / lookups",
    "lookup_found_all": "lookups that found exactly the k closest peers / lookups",
    "lookup_found_share": "mean over lookups of (peers found of the k closest / k)",
}
KADEMLIA = MeasureGroup(
    grouped(_HEADINGS, defined(_FORMULAS, _MEASURES)),
    (_means, _right),
    systems=("kademlia",),
)
"""The measures of trials of Kademlia whose peers look keys up."""
