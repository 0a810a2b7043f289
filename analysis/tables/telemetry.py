"""Spans and data points of trials as data frames in trial time of the coordinator's clock."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from analysis.contract.trials import TrialRecord, host_frame
from analysis.engine.one_partition import few
from analysis.otlp.source import read_files


def read_noted(
    spark: SparkSession, records: list[TrialRecord], signal: str, attribute: str = ""
) -> DataFrame:
    """Return the spans or data points of these trials as they were written, and rows with a `loss` or a
    `tally`.

    `signal` is "traces" or "metrics". `attribute` is that of `read_files`.
    """
    return read_files(spark, signal, [r.directory.telemetry.resolve() for r in records], attribute)


def read_otlp(spark: SparkSession, records: list[TrialRecord], signal: str, attribute: str = "") -> DataFrame:
    """Return the same without the tallies."""
    return read_noted(spark, records, signal, attribute).where("tally is null").drop("tally")


def corrected_spans(spark: SparkSession, spans: DataFrame, records: list[TrialRecord]) -> DataFrame:
    """Return `spans` with `sent_s`, `handled_s` and `delay_ms` in place of the hosts' own times.

    A message was sent by the clock of the sender's host and handled by that of the receiver's. Hosts start on
    the coordinator's time, whatever their clocks say; the drift of each clock since then is interpolated
    between the two measurements of its offset, at the start and the end of the trial.
    """
    skewed = [r for r in records if any(_skew(host) for host in r.fidelity.get("hosts", []))]
    sent, handled = F.col("sent_ns"), F.col("handled_ns")
    if skewed:
        hosts = host_frame(spark, skewed).drop("lost_at_s")
        homes = (
            read_otlp(spark, skewed, "traces")
            .where("message = 'join'")
            .groupBy("trial", F.col("peer").alias("sender"))
            .agg(F.min("host").alias("host"))
        )
        senders = homes.join(hosts, ["trial", "host"]).drop("host")
        receivers = hosts.select("trial", "host", *(F.col(c).alias(f"own_{c}") for c in hosts.columns[2:]))
        spans = spans.join(few(receivers), ["trial", "host"], "left")
        spans = spans.join(few(senders), ["trial", "sender"], "left")
        handled = _corrected(handled, "own_")
        sent = F.when(F.col("sender").isNull(), _corrected(sent, "own_")).otherwise(_corrected(sent, ""))
    return spans.select(
        "*",
        (sent / 1e9).alias("sent_s"),
        (handled / 1e9).alias("handled_s"),
        ((handled - sent) / 1e6).alias("delay_ms"),
    )


def _skew(host: dict[str, object]) -> bool:
    return bool(host.get("clock_offset_start_ns") or host.get("clock_offset_end_ns"))


def _corrected(ns: Column, prefix: str) -> Column:
    first, last = F.col(f"{prefix}offset_start_ns"), F.col(f"{prefix}offset_end_ns")
    share = F.greatest(F.lit(0.0), F.least(F.lit(1.0), ns / (F.col(f"{prefix}trial_end_s") * 1e9)))
    return ns - F.coalesce(F.round((last - first) * share).cast("bigint"), F.lit(0))
