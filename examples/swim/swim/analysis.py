"""What is measured of a membership: when a failure is detected, who is wronged, and what it costs."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analysis.charts.chart import Quantity
from analysis.contract.measures import Measure, MeasureGroup, Tables
from analysis.contract.tables import RunTables, Table
from analysis.contract.workload_analysis import WorkloadAnalysis
from analysis.report.figures_spread import cdf

GROUP = "Membership"


def _declared(tables: Tables) -> DataFrame:
    """Who was declared failed, in which session, and when. A member that came back is another one."""
    told = tables["observations"].where("name = 'failed'")
    return told.select("trial", "subject", F.col("value").cast("int").alias("session"), "at_s")


def _detections(tables: RunTables) -> DataFrame:
    """Crashes in the measure phase, each with the first and the last member that declared the peer failed."""
    trials = tables["trials"].select("trial", "measure_start_s", "measure_end_s")
    gone = (
        tables["sessions"]
        .where("ended = 'crash' and end_s is not null")
        .join(trials, "trial")
        .where("end_s >= measure_start_s and end_s < measure_end_s")
        .select("trial", F.col("peer").alias("subject"), "session", "end_s")
    )
    after = gone.join(_declared(tables), ["trial", "subject", "session"], "left")
    return after.groupBy("trial", "subject", "session", "end_s").agg(
        (F.min("at_s") - F.col("end_s")).alias("first_s"), (F.max("at_s") - F.col("end_s")).alias("last_s")
    )


def _times(tables: Tables) -> DataFrame:
    return (
        tables["detections"]
        .groupBy("trial")
        .agg(F.avg("first_s").alias("detection_s"), F.avg("last_s").alias("detection_last_s"))
    )


def _wronged(tables: Tables) -> DataFrame:
    """Declarations about members that were up then."""
    up = tables["sessions"].select("trial", F.col("peer").alias("subject"), "session", "end_s")
    told = _declared(tables).join(up, ["trial", "subject", "session"])
    wrong = told.where("end_s is null or at_s < end_s")
    return wrong.groupBy("trial").agg(F.count("*").alias("false_failures"))


def _load(tables: Tables) -> DataFrame:
    sent = tables["counters"].groupBy("trial").agg(F.sum("messages").alias("messages"))
    up = tables["traffic"].groupBy("trial").agg(F.sum("up_s").alias("up_s"))
    rate = F.try_divide("messages", "up_s").alias("messages_a_member")
    return sent.join(up, "trial").select("trial", rate)


DETECTIONS = Table(
    "detections",
    "One row for each crash in the measure phase: subject, session, end_s (when it crashed), first_s and "
    "last_s (from then until the first and the last member declared it failed; null if none did).",
    "trial string, subject int, session int, end_s double, first_s double, last_s double",
    ("end_s", "subject", "session"),
    _detections,
    workloads=("members",),
)
MEASURES = MeasureGroup(
    {
        "detection_s": Measure(
            "Detection of a crash", "s", "lower", "Until the first member declares it failed, mean.", GROUP
        ),
        "detection_last_s": Measure(
            "Detection by all",
            "s",
            "lower",
            "Until the last member that does so declares it failed, mean.",
            GROUP,
        ),
        "false_failures": Measure(
            "False positives",
            "declarations",
            "lower",
            "Of members that were up when they were declared failed.",
            GROUP,
        ),
        "messages_a_member": Measure(
            "Messages a member", "messages/s", "lower", "Sent in the measure phase, mean over members.", GROUP
        ),
    },
    (_times, _wronged, _load),
    zero=("false_failures",),
    workloads=("members",),
)
FIGURE = cdf(
    "detection",
    "Detection of crashes",
    "The share of crashes that some member had noticed within a time.",
    Quantity("time from the crash", "s"),
    "crashes",
    "detections",
    "first_s",
)
MEMBERS_ANALYSIS = WorkloadAnalysis(tables=(DETECTIONS,), measures=(MEASURES,), figures=(FIGURE,))
