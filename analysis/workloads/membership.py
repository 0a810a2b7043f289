"""The analysis of a membership."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analysis.charts.chart import Quantity
from analysis.contract.figures import Figure, SettingLine
from analysis.contract.measures import Tables
from analysis.contract.tables import RunTables, SeriesPart, Table
from analysis.contract.workload_analysis import WorkloadAnalysis
from analysis.measures.of_membership import MEMBERSHIP as MEASURES
from analysis.measures.of_membership import accuracy
from analysis.report.figures_by_variant import against
from analysis.report.figures_spread import Spread, spread
from analysis.report.figures_time import Curve, curve
from analysis.report.setting import part, plain
from analysis.tables import membership, view_errors


def _disturbed(tables: RunTables) -> DataFrame:
    return membership.disturbed_members(tables.spark, tables.records)


def _changes(tables: RunTables) -> DataFrame:
    return membership.member_changes(tables, tables.plan("reticent"))


def _errors(tables: RunTables) -> DataFrame:
    return view_errors.view_errors(tables, tables.plan("reticent"))


def _happened(tables: Tables) -> DataFrame:
    wrong = tables["false_alarms"].where("not of_disturbed").select("trial", "at_s", "failed")
    return tables["view_errors"].unionByName(wrong, allowMissingColumns=True)


def _counted() -> Mapping[str, Column]:
    return {"view_accuracy": accuracy(), "false_positives": F.count_if("failed")}


def _setting(experiment: Mapping[str, Any]) -> str:
    observers = part(part(experiment, "workload"), "membership").get("observers")
    if "membership" not in part(experiment, "workload"):
        return ""
    who = "all members" if observers is None else f"{plain(observers)} members"
    return f"{who} tell of each change of their views"


def _delays(change: str, column: str) -> Callable[[Tables], DataFrame]:
    """Return the function that returns the times from changes of this kind until members knew."""

    def delays(tables: Tables) -> DataFrame:
        rows = tables["member_changes"].where((F.col("change") == change) & ~F.col("disturbed"))
        nothing = F.lit(None).cast("double")
        return rows.select(
            "trial",
            nothing.cast("int").alias("hops"),
            (F.col(column) * 1e3).alias("delay_ms"),
            nothing.alias("penalty"),
        )

    return delays


_WHO = {"crash_first": "some member", "crash_all": "all members"}


def _knowledge(operation: str) -> Figure:
    """Return the figure of the distribution of the times from crashes until members knew."""
    who = _WHO[operation]
    about = f"The share of crashes after which {who} had declared the member failed within a time."
    x = Quantity(f"time until {who} knew", "ms")
    title = f"Time until {who} knew of a crash"
    return spread(Spread(f"{operation.replace('_', '-')}-ms", title, about, x, "crashes", (operation, "ms")))


MEMBERSHIP: Final = WorkloadAnalysis(
    tables=(
        Table(
            "disturbed_members",
            "One row for each member that a fault pauses, or whose links it changes, at some time of the "
            "trial.",
            membership.DISTURBED,
            ("peer",),
            _disturbed,
        ),
        Table(
            "member_changes",
            "One row for each join, leave and crash in the measure phase: change, peer and session (of "
            "whom), at_s, disturbed (by a fault of the trial), noticed_s and noticed_all_s (s until the "
            "first member and all members suspected it or knew), first_s and all_s (until they knew, of a "
            "crash by declaring it failed; null if none or not all did), observers (members that were to "
            "know, of a crash or leave those that had the member in their view), knew (how many did).",
            membership.CHANGES,
            ("at_s", "peer", "change"),
            _changes,
        ),
        Table(
            "false_alarms",
            "One row for each report in the measure phase that a member is suspected or has failed which was "
            "up: at_s, peer and session (who said it), subject and life (of whom), failed (false: "
            "suspected), of_disturbed and by_disturbed (whether a fault of the trial disturbs the one and "
            "the other).",
            membership.ALARMS,
            ("at_s", "peer", "subject", "failed"),
            membership.false_alarms,
        ),
        Table(
            "view_errors",
            "One row for each interval of the measure phase: at_s (its middle), wrong_s (time for which "
            "members were wrong, summed over pairs of members), pairs_s (time of all these pairs).",
            view_errors.ERRORS,
            ("at_s",),
            _errors,
        ),
    ),
    measures=(MEASURES,),
    series=SeriesPart(_happened, _counted, ("false_positives",)),
    delays={
        f"{change}_{column}": _delays(change, f"{column}_s")
        for change in ("crash", "leave", "join")
        for column in ("first", "all")
    },
    figures=(
        *map(against, ("crash_all_s", "false_positives", "view_accuracy", "messages_a_period")),
        *map(_knowledge, ("crash_first", "crash_all")),
        curve(
            Curve(
                "view_accuracy", "time-accuracy", "Accuracy of views in time",
                "The share of pairs of members in which one is right about whether the other is up.",
                Quantity("accuracy", "share"), from_zero=False,
            )
        ),
        curve(
            Curve(
                "false_positives", "time-false-positives", "False positives in time",
                "Reports of an interval that a healthy member has failed.",
                Quantity("reports"),
            )
        ),
    ),
    setting=(SettingLine("Membership", ("workload.membership",), _setting),),
)  # fmt: skip
