"""Measures of GossipSub's meshes: their degrees, links with one end, and attackers in them.

Meshes are those of all topics together; with one topic the measures are exact.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analysis.contract.formulas import defined
from analysis.contract.measures import Measure, MeasureGroup, Tables, grouped, lower
from analysis.tables.roles import without_attackers

AFTER = (30, 90, 150, 210)
"""The seconds from the beginning of the measure phase at which attackers in meshes are counted."""
_CHANGES = {"mesh_joined": 1, "mesh_left": -1}
"""The observations of changes of a mesh, with what they add to it."""
_PAIR = ["trial", "peer", "neighbour"]
_UNDER_WAY_S = 2.0
"""The seconds in which a GRAFT or PRUNE has arrived, and a heartbeat has filled a mesh that lost members."""


def _links(tables: Tables) -> DataFrame:
    """Return the links of meshes when the measure phase ends: trial, peer, neighbour."""
    found = tables["links"].where("moment = 'end' and kind = 'mesh'")
    return found.select("trial", "peer", "neighbour").distinct()


def _with_attackers(entries: DataFrame, tables: Tables) -> DataFrame:
    """Return the entries of meshes of peers that behave well, with `bad`: 1 if the neighbour does not."""
    honest = without_attackers(entries, tables)
    if "attackers" not in tables:
        return honest.withColumn("bad", F.lit(0))
    bad = tables["attackers"].select("trial", F.col("peer").alias("neighbour"), F.lit(1).alias("bad"))
    return honest.join(bad, ["trial", "neighbour"], "left").fillna(0, ["bad"])


def _degrees(tables: Tables) -> DataFrame:
    links = _links(tables)
    each = links.groupBy("trial", "peer").agg(F.count("*").alias("degree"))
    degrees = each.groupBy("trial").agg(
        F.avg("degree").alias("mesh_degree"),
        F.min("degree").alias("mesh_degree_min"),
        F.max("degree").alias("mesh_degree_max"),
    )
    counts = _one_end(links).groupBy("trial").agg(F.count("*").alias("mesh_one_end"))
    return degrees.join(counts, "trial", "left").fillna(0, ["mesh_one_end"])


def _settled(tables: Tables) -> DataFrame:
    """Return the links with one end and the bounds of meshes, of those that were not changing at the end of
    the measure phase."""
    ends = tables["trials"].select("trial", F.col("measure_end_s").alias("end_s"))
    told = (
        tables["observations"]
        .where(F.col("name").isin([*_CHANGES]))
        .join(ends, "trial")
        .where("at_s <= end_s")
        .select("trial", "peer", F.col("subject").alias("neighbour"), "at_s", "end_s")
    )
    late = told.where(F.col("at_s") > F.col("end_s") - _UNDER_WAY_S)
    links = _links(tables)
    known = links.union(told.select(*_PAIR))
    lasting = _one_end(links).join(_both_ways(late), _PAIR, "left_anti")
    one_end = lasting.groupBy("trial").agg(F.count("*").alias("mesh_one_end_lasting"))
    strangers = (
        tables["links"]
        .where("moment = 'end' and kind = 'connection'")
        .join(_both_ways(known), _PAIR, "left_anti")
        .select("trial", "peer", F.lit(1).alias("free"))
        .distinct()
    )
    bounds = (
        links.groupBy("trial", "peer")
        .agg(F.count("*").alias("degree"))
        .join(late, ["trial", "peer"], "left_anti")
        .join(strangers, ["trial", "peer"], "left")
        .groupBy("trial")
        .agg(
            F.min(F.when(F.col("free") == 1, F.col("degree"))).alias("mesh_degree_min_free"),
            F.max("degree").alias("mesh_degree_max_settled"),
        )
    )
    telling = told.select("trial").distinct()
    counted = telling.join(one_end, "trial", "left").fillna(0, ["mesh_one_end_lasting"])
    return counted.join(bounds, "trial", "left")


def _one_end(links: DataFrame) -> DataFrame:
    """Return the links of which the neighbour does not have the peer in its own mesh."""
    return links.join(_turned(links), _PAIR, "left_anti")


def _both_ways(links: DataFrame) -> DataFrame:
    """Return the pairs of links, each in both directions."""
    return links.select(*_PAIR).union(_turned(links)).distinct()


def _turned(links: DataFrame) -> DataFrame:
    """Return the links as their other ends see them."""
    return links.select("trial", F.col("neighbour").alias("peer"), F.col("peer").alias("neighbour"))


def _copies(tables: Tables) -> DataFrame:
    """Return the copies of messages that arrived for each delivery, less what the degree lets one expect."""
    made = tables["deliveries"].where("delivered").groupBy("trial").agg(F.count("*").alias("made"))
    came = tables["handled"].groupBy("trial").agg(F.sum("copies").alias("copies"))
    return (
        came.join(made, "trial")
        .join(_degrees(tables), "trial")
        .select(
            "trial",
            (F.try_divide("copies", "made") - (F.col("mesh_degree") - 1)).alias("mesh_copies_over_degree"),
        )
    )


def _honest(tables: Tables) -> DataFrame:
    entries = _with_attackers(_links(tables), tables)
    each = entries.groupBy("trial", "peer").agg(F.sum(1 - F.col("bad")).alias("honest"))
    least = each.groupBy("trial").agg(F.min("honest").alias("mesh_honest_min"))
    share = entries.groupBy("trial").agg(F.avg("bad").alias("mesh_attackers"))
    return least.join(share, "trial").join(_of_targets(each, tables), "trial", "left")


def _of_targets(honest: DataFrame, tables: Tables) -> DataFrame:
    """Return the members that behave well of the mesh of the peer that attackers are aimed at.

    A target without any mesh has none of them.
    """
    if "attackers" not in tables:
        return honest.select("trial", F.lit(None).cast("bigint").alias("mesh_honest_target")).where("false")
    aims = tables["attackers"].where("target is not null").select("trial", F.col("target").alias("peer"))
    found = aims.distinct().join(honest, ["trial", "peer"], "left").fillna(0, ["honest"])
    return found.select("trial", F.col("honest").alias("mesh_honest_target"))


def _over_time(tables: Tables) -> DataFrame:
    change = F.coalesce(
        *(F.when(F.col("name") == name, F.lit(adds)) for name, adds in _CHANGES.items()), F.lit(0)
    )
    changes = (
        tables["observations"]
        .where(F.col("name").isin([*_CHANGES]))
        .select("trial", "peer", F.col("subject").alias("neighbour"), "at_s", change.alias("change"))
    )
    begins = tables["trials"].select("trial", "measure_start_s", "measure_end_s")
    told = _with_attackers(changes, tables).join(begins, "trial")

    def share(after: int) -> Column:
        at = F.col("measure_start_s") + after
        until = F.when((F.col("at_s") <= at) & (at <= F.col("measure_end_s")), F.col("change"))
        return F.try_divide(F.sum(until * F.col("bad")), F.sum(until))

    return told.groupBy("trial").agg(*(share(after).alias(f"mesh_attackers_{after}_s") for after in AFTER))


_MEASURES = {
    "mesh_degree": Measure(
        "Mesh degree", "peers", None, "Over peers with a mesh, at the end of the measure phase."
    ),
    "mesh_degree_min": Measure("Mesh degree, lowest", "peers", None, "Of the same peers."),
    "mesh_degree_max": Measure("Mesh degree, highest", "peers", None, "Of the same peers."),
    "mesh_one_end": lower(
        "Links with one end", "links", "Of meshes, where the neighbour does not have the peer in its own."
    ),
    "mesh_one_end_lasting": lower(
        "Links with one end that last",
        "links",
        "The same, without links that either end grafted or pruned in the last 2 s, because a GRAFT or PRUNE "
        "may be under way. Told with the parameter `tell_mesh`.",
    ),
    "mesh_degree_min_free": Measure(
        "Mesh degree, lowest with a free peer",
        "peers",
        None,
        "Of peers that are connected to one that they never grafted and that never grafted them, and whose "
        "mesh did not change in the last 2 s. Told with the parameter `tell_mesh`.",
    ),
    "mesh_degree_max_settled": Measure(
        "Mesh degree, highest without changes",
        "peers",
        None,
        "Of peers whose mesh did not change in the last 2 s. Told with the parameter `tell_mesh`.",
    ),
    "mesh_copies_over_degree": lower(
        "Copies beyond the degree less one",
        "copies",
        "Copies received by anybody for each delivery made, less the mean degree, plus one.",
    ),
    "mesh_attackers": lower(
        "Attackers in meshes",
        "share",
        "Of the members of the meshes of peers that behave well, at the end of the measure phase.",
    ),
    "mesh_honest_min": Measure(
        "Members that behave well, fewest",
        "peers",
        "higher",
        "In the mesh of the peer that behaves well and has the fewest of them.",
    ),
    "mesh_honest_target": Measure(
        "Members that behave well of the target's mesh",
        "peers",
        "higher",
        "In the mesh of the peer that the attackers' behaviour names as its target.",
    ),
    **{
        f"mesh_attackers_{after}_s": lower(
            f"Attackers in meshes after {after} s",
            "share",
            f"The same, {after} s after the measure phase began. Told with the parameter `tell_mesh`; peers "
            "that leave are not taken out.",
        )
        for after in AFTER
    },
}
_FORMULAS = {
    "mesh_degree*": "{statistic} over peers with a mesh of its members",
    "mesh_one_end": "pairs of a peer and a mesh member without the peer in its own mesh",
    "mesh_one_end_lasting": "the same pairs, of which neither end told of the other in the last 2 s",
    "mesh_degree_min_free": "minimum of members over peers with a connection that neither end grafted",
    "mesh_degree_max_settled": "maximum of members over peers that told of no change in the last 2 s",
    "mesh_copies_over_degree": "copies received / deliveries - (mean mesh degree - 1)",
    "mesh_attackers": "attackers among members / members, of meshes of peers that behave well",
    "mesh_honest_min": "minimum over peers that behave well of the members of its mesh that behave well",
    "mesh_honest_target": "members that behave well of the target's mesh",
    **{f"mesh_attackers_{after}_s": "attackers among members / members, at that time" for after in AFTER},
}
GOSSIPSUB = MeasureGroup(
    grouped({"Mesh": ("mesh_",)}, defined(_FORMULAS, _MEASURES)),
    (_degrees, _settled, _copies, _honest, _over_time),
    systems=("gossipsub", "gossipsub-broadcast"),
)
"""The measures of trials of GossipSub."""
