"""Measures of a membership: how soon a crash is detected, and how often a live member is suspected."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analysis.charts.chart import Quantity
from analysis.contract.measures import Measure, MeasureGroup, Tables
from analysis.contract.tables import RunTables, Table
from analysis.contract.workload_analysis import WorkloadAnalysis
from analysis.report.figures_spread import cdf


def _declared(tables: Tables) -> DataFrame:
    """Return who was declared failed, in which session, and when."""
    failed = tables["observations"].where("name = 'failed'")
    return failed.selectExpr("trial", "subject", "int(value) as session", "at_s")


def _detections(tables: RunTables) -> DataFrame:
    crashed = tables["sessions"].where("ended = 'crash'").withColumnRenamed("peer", "subject")
    in_phase = "end_s >= measure_start_s and end_s < measure_end_s"
    measured = crashed.join(tables["trials"], "trial").where(in_phase)
    told = measured.join(_declared(tables), ["trial", "subject", "session"], "left")
    after = (F.min("at_s") - F.col("end_s")).alias("after_s")
    return told.groupBy("trial", "subject", "session", "end_s").agg(after)


def _times(tables: Tables) -> DataFrame:
    return tables["detections"].groupBy("trial").agg(F.avg("after_s").alias("detection_s"))


def _wronged(tables: Tables) -> DataFrame:
    up = tables["sessions"].select("trial", F.col("peer").alias("subject"), "session", "end_s")
    wrong = _declared(tables).join(up, ["trial", "subject", "session"]).where("end_s is null or at_s < end_s")
    return wrong.groupBy("trial").agg(F.count("*").alias("false_failures"))


DETECTIONS = Table(
    "detections",
    "One row for each crash in the measure phase: subject, session, end_s (when it crashed), after_s (from "
    "then until the first member declared it failed; null if none did).",
    "trial string, subject int, session int, end_s double, after_s double",
    ("end_s", "subject", "session"),
    _detections,
)
MEASURES = {
    "detection_s": Measure("Detection", "s", "lower", "From a crash to its first report.", "Membership"),
    "false_failures": Measure("False positives", "reports", "lower", "Of members then up.", "Membership"),
}
GROUPS = (MeasureGroup(MEASURES, (_times, _wronged), zero=("false_failures",)),)
ABOUT = "The share of crashes that some member had noticed within a time."
TIME = Quantity("time from the crash", "s")
FIGURE = cdf("detection", "Detection of crashes", ABOUT, TIME, "crashes", "detections", "after_s")
MEMBERS_ANALYSIS = WorkloadAnalysis(tables=(DETECTIONS,), measures=GROUPS, figures=(FIGURE,))
