"""Measures of a membership: how soon all know who came or went, who is wronged, and what it costs."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analysis.contract.formulas import defined
from analysis.contract.measures import Measure, MeasureGroup, Tables, grouped, lower, share
from analysis.engine.one_partition import few
from emulator.contract.membership_service import PERIOD

_HEADINGS = {
    "Views": ("crash_", "leave_", "join_", "view_", "detection_", "dissemination_", "changes"),
    "False positives": ("false_", "suspicions", "disturbed_"),
    "Load of a member": ("messages_a", "bytes_a", "probe_"),
}
_CHANGES = {
    "crash": ("a crash", "declared the member failed"),
    "leave": ("a leave", "had the member out of their views or had heard of its next session"),
    "join": ("a join", "had the member in their views"),
}
_WHEN = {"first": ("first member", "some member did"), "all": ("last of all members", "all members did")}
_DIFFERENT = (
    "The times to the first and to all are over different changes, so the one may be above the other. "
)
_RETURNED = (
    "A member that heard first that the crashed one is back has not detected the crash, and does not later. "
)
_STAYS = (
    "All members are those that tell of each change, were up at that time and stayed until they knew or the "
    "trial was over; members that a fault disturbs are left out, as changers too."
)


def _delays() -> dict[str, Measure]:
    found = {}
    for change, (what, knew) in _CHANGES.items():
        returned = _RETURNED if change == "crash" else ""
        for when, (who, did) in _WHEN.items():
            about = (
                f"From {what} in the measure phase until the {who} {knew}, {{}}over the changes of which "
                f"{did}. {_DIFFERENT}{returned}{_STAYS}"
            )
            title = f"From {what} to the {who}"
            found[f"{change}_{when}_s"] = lower(title, "s", about.format("mean "))
            for name, part in (("p50", "median"), ("p99", "99th percentile")):
                found[f"{change}_{when}_s_{name}"] = lower(f"{title}, {part}", "s", about.format(f"{part} "))
        found[f"{change}_known"] = share(
            f"Members that learnt of {what}",
            f"Of all pairs of {what} and a member that was to know, those that {knew}. {returned}{_STAYS}",
        )
    found["crash_detected"] = share(
        "Crashes that were detected",
        "Of the crashes in the measure phase, those that some member declared failed before the trial was "
        "over; the times from a crash to the first member are over these. A crash is not detected if the "
        "member is back and known before anybody declares its last session failed.",
    )
    return found


_WRONGED = "that said that a member has failed or left which was up then, in the measure phase"
_MEASURES = {
    **_delays(),
    "detection_periods": lower(
        "Periods until the first probe of a crashed member",
        "periods",
        "Mean of ceil((t - T) / T) over the crashes of which some member suspected the member or declared it "
        "failed, where t is the time from the crash until the first one did, and T the protocol period that "
        "the probe takes; at least 1, for a ping that was under way when the member crashed. A crash whose "
        "member was back and known before anybody suspected it is left out.",
    ),
    "dissemination_periods": lower(
        "Periods from the first to all, of crashes",
        "periods",
        "Mean of (t' - t) / T over the crashes of which all members suspected the member or declared it "
        "failed, where t and t' are the times until the first and all did, and T is the protocol period.",
    ),
    "join_dissemination_periods": lower(
        "Periods from the first to all, of joins", "periods", "As for crashes, of joins."
    ),
    "changes": Measure("Changes", "", None, "Joins, leaves and crashes in the measure phase."),
    "view_accuracy": share(
        "Accuracy of views",
        "1 - w / p: w is the time for which members were wrong, summed over all pairs of a member that was "
        "up and another one, and p the time of all these pairs, in the measure phase. A member is wrong that "
        "has another one in its view which is down, or not in its view which is up. It is taken to be right "
        "about those that joined in the join phase, or before itself, until it first says something of them.",
    ),
    "view_recovery_s": lower(
        "Time until all views are right",
        "s",
        "From the end of the last fault until an interval of the time series from which on no member is "
        "wrong about another one. Not measured if there is none.",
    ),
    "false_positives": lower(
        "False positives", "reports", f"Reports of all members {_WRONGED} and that no fault disturbs."
    ),
    "false_positives_healthy": lower(
        "False positives at healthy members",
        "reports",
        "Of the false positives, those at members that no fault disturbs.",
    ),
    "false_positive_members": lower(
        "Members that were wronged", "members", "Members that the false positives are about."
    ),
    "suspicions": lower(
        "Suspicions of healthy members",
        "reports",
        "Reports of all members that a member is suspected which was up and that no fault disturbs.",
    ),
    "disturbed_false_positives": Measure(
        "False positives about disturbed members",
        "reports",
        None,
        f"Reports of all members {_WRONGED}, but that a fault pauses, or whose links it changes, at some "
        "time of the trial.",
    ),
    "probe_failures": lower(
        "Probes that failed",
        "share",
        "Of the probes of members that ended before the measure phase did: neither the probed member nor a "
        "helper answered. Of members that count their probes.",
    ),
    "messages_a_period": lower(
        "Messages a member and period",
        "messages",
        "n T / u: messages n that members sent by timers in the measure phase, u the time for which members "
        "were up in it, T the protocol period.",
    ),
    "bytes_a_period": lower("Bytes a member and period", "bytes", "As messages, of their bytes."),
}
_PLURALS = {"crash": "crashes", "leave": "leaves", "join": "joins"}
_FORMULAS = {
    **{
        f"{change}_{when}_s*": (
            f"{{statistic}} over {plural} of (time at which the {which} member knew - time of the {change})"
        )
        for change, plural in _PLURALS.items()
        for when, which in (("first", "first"), ("all", "last"))
    },
    **{
        f"{change}_known": f"members that learnt of it / members that were to, each summed over {plural}"
        for change, plural in _PLURALS.items()
    },
    "crash_detected": "crashes that some member declared / crashes",
    "detection_periods": (
        "mean over crashes noticed of max(ceil((t - T) / T), 1), t the time to the first notice, T the period"
    ),
    "dissemination_periods": (
        "mean over crashes noticed by all of (time to the last notice - time to the first) / T, T the period"
    ),
    "join_dissemination_periods": (
        "mean over joins noticed by all of (time to the last notice - time to the first) / T, T the period"
    ),
    "changes": "joins, leaves and crashes",
    "view_accuracy": (
        "1 - time that members were wrong about another / time of all pairs of a member that was up and "
        "another"
    ),
    "view_recovery_s": "max(end of the last interval with a wrong member - end of the last fault, 0)",
    "false_positives": "reports that a member failed or left while it was up, about members not disturbed",
    "false_positives_healthy": "those of the false positives that members not disturbed made",
    "false_positive_members": "different members that the false positives are about",
    "suspicions": "reports that a member is suspected while it was up, about members not disturbed",
    "disturbed_false_positives": (
        "reports that a member failed or left while it was up, about disturbed members"
    ),
    "probe_failures": "probes that failed / probes",
    "messages_a_period": "maintenance messages sent * period / time that members were up",
    "bytes_a_period": "bytes of maintenance messages sent * period / time that members were up",
}


def _periods(tables: Tables) -> DataFrame:
    told = tables["states"].where(F.col("name") == PERIOD)
    return few(told.groupBy("trial").agg(F.max("value").alias("period_s")))


def _mean(column: Column) -> Column:
    """Return a mean that does not depend on the order of rows."""
    return F.avg(F.round(column * 1e9).cast("bigint")) / 1e9


def _of_changes(tables: Tables) -> DataFrame:
    changes = tables["member_changes"].where("not disturbed").join(_periods(tables), "trial", "left")
    columns = [F.count("*").alias("changes")]
    for change in _CHANGES:
        those = F.col("change") == change
        for when in _WHEN:
            seconds = F.when(those, F.col(f"{when}_s"))
            columns.append(_mean(seconds).alias(f"{change}_{when}_s"))
            for name, part in (("p50", 0.5), ("p99", 0.99)):
                columns.append(F.percentile(F.round(seconds, 9), part).alias(f"{change}_{when}_s_{name}"))
        known = F.try_divide(F.sum(F.when(those, F.col("knew"))), F.sum(F.when(those, F.col("observers"))))
        columns.append(known.alias(f"{change}_known"))
    probe = F.ceil((F.col("noticed_s") - F.col("period_s")) / F.col("period_s") - 1e-9)
    spread = (F.col("noticed_all_s") - F.col("noticed_s")) / F.col("period_s")
    is_crash = F.col("change") == "crash"
    detected = F.avg(F.when(is_crash, F.col("first_s").isNotNull().cast("int")))
    return changes.groupBy("trial").agg(
        *columns,
        detected.alias("crash_detected"),
        F.avg(F.when(is_crash & F.col("noticed_s").isNotNull(), F.greatest(probe, F.lit(1)))).alias(
            "detection_periods"
        ),
        _mean(F.when(is_crash, spread)).alias("dissemination_periods"),
        _mean(F.when(F.col("change") == "join", spread)).alias("join_dissemination_periods"),
    )


def _of_alarms(tables: Tables) -> DataFrame:
    healthy = F.col("failed") & ~F.col("of_disturbed")
    return tables["false_alarms"].groupBy("trial").agg(
        F.count_if(healthy).alias("false_positives"),
        F.count_if(healthy & ~F.col("by_disturbed")).alias("false_positives_healthy"),
        F.count_distinct(F.when(healthy, F.col("subject"))).alias("false_positive_members"),
        F.count_if(~F.col("failed") & ~F.col("of_disturbed")).alias("suspicions"),
        F.count_if(F.col("failed") & F.col("of_disturbed")).alias("disturbed_false_positives"),
    )  # fmt: skip


def _accuracy(tables: Tables) -> DataFrame:
    return tables["view_errors"].groupBy("trial").agg(accuracy().alias("view_accuracy"))


def _of_errors(tables: Tables) -> DataFrame:
    errors, found = tables["view_errors"], _accuracy(tables)
    if "faults" not in tables:
        return found.withColumn("view_recovery_s", F.lit(None).cast("double"))
    over = tables["faults"].groupBy("trial").agg(F.max("ends_s").alias("over_s"))
    times = tables["trials"].select("trial", "interval_s", "measure_end_s")
    wrong = errors.where("wrong_s > 0").groupBy("trial").agg(F.max("at_s").alias("wrong_at_s"))
    right_s = F.col("wrong_at_s") + F.col("interval_s") / 2
    since = F.when(right_s < F.col("measure_end_s") - 1e-6, F.greatest(right_s - F.col("over_s"), F.lit(0.0)))
    recovered = over.join(times, "trial").join(wrong, "trial").select("trial", since.alias("view_recovery_s"))
    return found.join(recovered, "trial", "left")


def _probes(tables: Tables) -> DataFrame:
    counted = tables["states"].where("moment = 'end'")
    sums = [F.sum(F.when(F.col("name") == name, F.col("value"))) for name in ("failed_probes", "probes")]
    return counted.groupBy("trial").agg(F.try_divide(*sums).alias("probe_failures"))


def _load(tables: Tables) -> DataFrame:
    of = tables["traffic"].where("maintenance_messages is not null").join(_periods(tables), "trial")
    up = F.sum("up_s")
    return of.groupBy("trial").agg(
        (F.sum("maintenance_messages") * F.first("period_s") / up).alias("messages_a_period"),
        (F.sum("maintenance_bytes") * F.first("period_s") / up).alias("bytes_a_period"),
    )


def accuracy() -> Column:
    """Return the accuracy of views over rows of the table `view_errors`."""
    wrong, pairs = (F.sum(F.round(F.col(name) * 1e9).cast("bigint")) for name in ("wrong_s", "pairs_s"))
    return F.try_divide(pairs - wrong, pairs)


_ALARMS = (
    *("false_positives", "false_positives_healthy", "false_positive_members", "suspicions"),
    "disturbed_false_positives",
)
MEMBERSHIP = MeasureGroup(
    grouped(_HEADINGS, defined(_FORMULAS, _MEASURES)),
    (_of_changes, _of_alarms, _of_errors, _probes, _load),
    zero=(*_ALARMS, "changes"),
    of_parts={_accuracy: ("view_accuracy",), _of_alarms: _ALARMS},
)
"""The measures of trials whose peers keep a view of who is up."""
