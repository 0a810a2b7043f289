"""Measures of values by key: whether gets find them, which version, how soon, and who serves them."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analysis.contract.formulas import defined
from analysis.contract.measures import Measure, MeasureGroup, Tables, grouped, lower, share
from analysis.measures.aggregates import mean_ms, share_of
from analysis.measures.distributions import rounded
from emulator.contract.value_service import SERVED

_HEADINGS = {"Values": ("get", "put", "value_")}
_MEASURES = {
    "get_success": share(
        "Gets that found the value",
        "In any version, of all gets but those of the trial's last 5 s. Of values that some put had stored "
        "before; a get whose peer crashed meanwhile counts too.",
    ),
    "get_stale": lower(
        "Gets that found an old version",
        "share",
        "Of the gets that found the value: it was older than one whose put was done before the get began.",
    ),
    "get_delay_ms": lower("Delay of a get", "ms", "Until its peer had the value, mean."),
    "get_delay_ms_p99": lower("Delay of a get, 99th percentile", "ms", "Of gets that found the value."),
    "get_hops": lower("Hops of a get", "hops", "From the peer that asked to the one that answered, mean."),
    "get_messages": lower("Messages of a get", "messages", "That peers handled for it, mean."),
    "get_bytes": lower("Bytes of a get", "bytes", "Of these messages, mean."),
    "put_success": share(
        "Puts that were stored",
        "Whose peer was told of at least one copy, of all puts but those of the trial's last 5 s.",
    ),
    "put_copies": Measure(
        "Copies that a put made", "copies", None, "That were confirmed when the put was done, mean."
    ),
    "put_delay_ms": lower("Delay of a put", "ms", "Until its peer was told of the copies, mean."),
    "put_bytes": lower("Bytes of a put", "bytes", "Of the messages that peers handled for it, mean."),
    "value_load": lower(
        "Most gets served by a peer",
        "times the mean",
        "Answers with a value by the peer that gave the most, over the mean of all peers that were up in the "
        "measure phase.",
    ),
    "gets": Measure("Gets", "", None, "That count: of values that some put had stored before."),
}
_FORMULAS = {
    "get_success": "gets that found the value / gets",
    "get_stale": (
        "gets that found an older version than the newest that was stored / gets that found the value"
    ),
    "get_delay_ms*": "{statistic} over gets that found the value of (time of the answer - time of asking)",
    "get_hops": "mean over gets that found the value of the hops to the peer that answered",
    "get_messages": "mean over gets of the messages handled",
    "get_bytes": "mean over gets of the bytes of the messages handled",
    "put_success": "puts with a confirmed copy / puts",
    "put_copies": "mean over puts of the confirmed copies",
    "put_delay_ms": "mean over puts of (time of the last answer - time of asking)",
    "put_bytes": "mean over puts of the bytes of the messages handled",
    "value_load": "(maximum over peers of a) / (mean over peers of a), a the answers with a value",
    "gets": "gets that count",
}


def _gets(tables: Tables) -> DataFrame:
    counted = F.col("counted") & F.col("newest").isNotNull()
    found = counted & (F.col("version") > 0)
    delay = F.when(found, F.col("delay_ms"))
    gets = tables["gets"].withColumn("found_ms", delay)
    return gets.groupBy("trial").agg(
        F.count_if(counted).alias("gets"),
        share_of(found, counted).alias("get_success"),
        share_of(found & (F.col("version") < F.col("newest")), found).alias("get_stale"),
        mean_ms("found_ms").alias("get_delay_ms"),
        F.percentile(rounded("found_ms"), 0.99).alias("get_delay_ms_p99"),
        F.avg(F.when(found, F.col("hops"))).alias("get_hops"),
        F.avg(F.when(counted, F.col("messages"))).alias("get_messages"),
        F.avg(F.when(counted, F.col("traffic_bytes"))).alias("get_bytes"),
    )


def _puts(tables: Tables) -> DataFrame:
    counted = F.col("counted")
    puts = tables["puts"].withColumn("done_ms", F.when(counted, F.col("delay_ms")))
    return puts.groupBy("trial").agg(
        share_of(counted & (F.col("copies") > 0), counted).alias("put_success"),
        F.avg(F.when(counted, F.col("copies"))).alias("put_copies"),
        mean_ms("done_ms").alias("put_delay_ms"),
        F.avg(F.when(counted, F.col("traffic_bytes"))).alias("put_bytes"),
    )


def _load(tables: Tables) -> DataFrame:
    up = tables["traffic"].select("trial", "peer")
    served = tables["observations"].where(F.col("name") == SERVED).groupBy("trial", "peer").count()
    load = up.join(served, ["trial", "peer"], "left").na.fill(0, ["count"])
    return load.groupBy("trial").agg(F.try_divide(F.max("count"), F.avg("count")).alias("value_load"))


VALUES = MeasureGroup(
    grouped(_HEADINGS, defined(_FORMULAS, _MEASURES)),
    (_gets, _puts, _load),
    zero=("gets",),
    of_parts={
        _gets: [name for name in _MEASURES if name.startswith("get")],
        _puts: [name for name in _MEASURES if name.startswith("put_")],
    },
)
"""The measures of trials whose peers put and get values."""
