"""The tables and measures of a membership, against figures counted by hand."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from analysis.measures import of_membership
from analysis.tables import membership, view_errors

FOREVER = 100.0
SESSIONS = [
    (0, 0, 0.0, FOREVER, "trial end"),
    (1, 0, 0.0, FOREVER, "trial end"),
    (2, 0, 0.0, 20.0, "crash"),
    (2, 1, 40.0, FOREVER, "trial end"),
    (3, 0, 0.0, 60.0, "leave"),
    (4, 0, 0.0, FOREVER, "trial end"),  # a fault pauses it
    (5, 0, 0.0, FOREVER, "trial end"),  # tells little
    (6, 0, 7.0, FOREVER, "trial end"),  # joins by a contact, and hears of hardly anybody
]
SAID = [
    # who, when, of whom, which life, what
    (0, 7.0, 6, 0, "joined"),
    (1, 7.0, 6, 0, "joined"),
    (2, 7.0, 6, 0, "joined"),
    (3, 7.0, 6, 0, "joined"),
    (0, 22.0, 2, 0, "suspected"),
    (1, 23.0, 2, 0, "suspected"),
    (3, 23.0, 2, 0, "suspected"),
    (5, 21.0, 2, 0, "suspected"),  # by its own probe
    (0, 27.0, 2, 0, "failed"),
    (1, 28.0, 2, 0, "failed"),
    (3, 26.0, 2, 0, "failed"),
    (4, 25.0, 2, 0, "failed"),  # is the first, though it is no observer
    (0, 41.0, 2, 1, "joined"),
    (1, 43.0, 2, 1, "joined"),
    (3, 44.0, 2, 1, "joined"),
    (6, 42.0, 2, 1, "joined"),  # the first that it hears of 2
    (0, 60.5, 3, 0, "left"),
    (2, 40.0, 3, 0, "joined"),  # and never learns that 3 has left
    # wrong reports follow
    (1, 30.0, 3, 0, "suspected"),
    (1, 50.0, 3, 0, "failed"),  # it was up until 60, and this stands
    (0, 50.0, 4, 0, "failed"),  # of a disturbed member
    (4, 51.0, 1, 0, "failed"),  # by a disturbed member
    (0, 52.0, 1, 0, "failed"),
    (0, 54.0, 1, 0, "alive"),
]


OBSERVED = "peer int, session int, at_s double, name string, value double, subject bigint, recorded bigint"


def table(spark: SparkSession, rows: list[tuple[Any, ...]], columns: str) -> DataFrame:
    return spark.createDataFrame([("t", *row) for row in rows], f"trial string, {columns}")


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> dict[str, DataFrame]:
    sessions = "peer int, session int, start_s double, end_s double, ended string"
    observed = [
        (who, int(who == 2 and at >= 40), at, f"member_{what}", float(life), of, place)
        for place, (who, at, of, life, what) in enumerate(SAID)
    ]
    times = "join_end_s double, measure_start_s double, measure_end_s double, interval_s double"
    found = {
        "sessions": table(spark, SESSIONS, sessions),
        "observations": table(spark, observed, OBSERVED),
        "trials": table(spark, [(5.0, 10.0, 90.0, 20.0)], times),
        "disturbed_members": table(spark, [(4,)], "peer int"),
        "states": table(spark, [("period_s", 1.0)], "name string, value double"),
    }
    reticent = table(spark, [(0, 5)], "reticence int, peer int")
    made = {
        "member_changes": membership.member_changes(found, reticent),
        "false_alarms": membership.false_alarms(found),
        "view_errors": view_errors.view_errors(found, reticent),
    }
    return found | {name: spark.createDataFrame(rows.collect(), rows.schema) for name, rows in made.items()}


def test_a_change_is_known_when_members_that_were_up_and_stayed_say_so(tables: dict[str, DataFrame]) -> None:
    crash, join, leave = tables["member_changes"].orderBy("at_s").collect()
    assert (crash.change, crash.peer, crash.noticed_s, crash.noticed_all_s) == ("crash", 2, 1.0, 3.0)
    assert (crash.first_s, crash.all_s, crash.observers, crash.knew) == (5.0, 8.0, 3, 3)
    assert (join.change, join.session, join.first_s, join.all_s, join.observers) == ("join", 1, 1.0, 4.0, 4)
    # Members 0, 1 and 2 were to know of the leave; 1 had declared the member failed before, and 2 never knew.
    # Member 6 had nothing to learn of the crash and the leave: neither member was in its view.
    assert (leave.change, leave.first_s, leave.all_s, leave.observers, leave.knew) == (
        "leave",
        0.0,
        None,
        3,
        2,
    )


def test_a_member_that_hears_first_that_another_one_is_back_has_not_learnt_of_its_crash(
    spark: SparkSession, tables: dict[str, DataFrame]
) -> None:
    sessions = [(peer, 0, 0.0, FOREVER, "trial end") for peer in (0, 1)]
    sessions += [(2, 0, 0.0, 20.0, "crash"), (2, 1, 22.0, FOREVER, "trial end")]
    sessions += [(3, 0, 0.0, 30.0, "crash"), (3, 1, 31.0, FOREVER, "trial end")]
    said = [(0, 23.0, 2, 1, "joined"), (1, 24.0, 2, 0, "failed"), (1, 25.0, 2, 1, "joined")]
    said += [(who, 32.0, 3, 1, "joined") for who in (0, 1)]
    observed = [
        (who, 0, at, f"member_{what}", float(life), of, place)
        for place, (who, at, of, life, what) in enumerate(said)
    ]
    columns = "peer int, session int, start_s double, end_s double, ended string"
    found = {
        **tables,
        "sessions": table(spark, sessions, columns),
        "observations": table(spark, observed, OBSERVED),
    }
    reticent = table(spark, [(0, 2), (1, 3)], "reticence int, peer int")
    changes = membership.member_changes(found, reticent)
    one, other = changes.where("change = 'crash'").orderBy("at_s").collect()
    assert (one.noticed_s, one.first_s, one.all_s, one.observers, one.knew) == (4.0, 4.0, None, 2, 1)
    assert (other.noticed_s, other.first_s, other.all_s, other.observers, other.knew) == (
        None,
        None,
        None,
        2,
        0,
    )
    (measures,) = of_membership._of_changes({**found, "member_changes": changes}).collect()
    assert (measures.crash_detected, measures.crash_first_s, measures.crash_known) == (0.5, 4.0, 0.25)
    assert (measures.crash_all_s, measures.detection_periods) == (None, 3.0)


def test_reports_about_members_that_were_up_are_false_alarms(tables: dict[str, DataFrame]) -> None:
    found = {
        (row.peer, row.subject, row.failed, row.of_disturbed, row.by_disturbed)
        for row in tables["false_alarms"].collect()
    }
    assert found == {
        (1, 3, False, False, False),
        (1, 3, True, False, False),
        (0, 4, True, True, False),
        (4, 1, True, False, True),
        (0, 1, True, False, False),
    }


def test_views_are_wrong_from_a_change_until_a_member_says_it_and_from_a_false_report_until_it_is_taken_back(
    tables: dict[str, DataFrame],
) -> None:
    found = {row.at_s: (row.wrong_s, row.pairs_s) for row in tables["view_errors"].collect()}
    by_0 = {20: 7.0, 40: 1.0, 60: 20.0 + 2.0 + 0.5, 80: 20.0}  # of 2, of 2 again; of 4 from 50 on, of 1, of 3
    by_1 = {20: 8.0, 40: 3.0, 60: 10.0, 80: 0.0}  # of 2, of 2 again, of 3 from 50 to 60
    by_2 = {20: 0.0, 40: 0.0, 60: 10.0, 80: 20.0}  # of 3 from 60 on
    by_3 = {20: 6.0, 40: 4.0, 60: 0.0, 80: 0.0}
    expected: dict[float, float] = {}
    for at in (20, 40, 60, 80):
        expected[at] = by_0[at] + by_1[at] + by_2[at] + by_3[at]
    assert {at: wrong for at, (wrong, _) in found.items()} == expected
    assert found[20.0][1] == 6 * (20 + 20 + 10 + 20 + 20) and found[80.0][1] == 6 * (20 + 20 + 20 + 0 + 20)


@pytest.mark.parametrize(("words", "wrong_s"), [(("failed", "alive"), 0.0), (("alive", "failed"), 40.0)])
def test_the_last_word_of_an_instant_is_the_one_that_was_recorded_last(
    spark: SparkSession, tables: dict[str, DataFrame], words: tuple[str, str], wrong_s: float
) -> None:
    said = [(0, 0, 50.0, f"member_{word}", 0.0, 1, place) for place, word in enumerate(words)]
    sessions = [(peer, 0, 0.0, FOREVER, "trial end") for peer in (0, 1)]
    columns = "peer int, session int, start_s double, end_s double, ended string"
    found = {
        **tables,
        "sessions": table(spark, sessions, columns),
        "observations": table(spark, said, OBSERVED),
    }
    errors = view_errors.view_errors(found, table(spark, [(0, 5)], "reticence int, peer int")).collect()
    assert sum(row.wrong_s for row in errors) == wrong_s


def test_measures_of_changes_alarms_and_errors(tables: dict[str, DataFrame]) -> None:
    (changes,) = of_membership._of_changes(tables).collect()
    assert (changes.crash_first_s, changes.crash_all_s, changes.crash_known) == (5.0, 8.0, 1.0)
    assert (changes.join_all_s_p99, changes.leave_all_s, changes.changes) == (4.0, None, 3)
    assert changes.leave_known == pytest.approx(2 / 3)
    assert (changes.detection_periods, changes.dissemination_periods) == (1.0, 2.0)
    assert changes.join_dissemination_periods == 3.0
    (alarms,) = of_membership._of_alarms(tables).collect()
    assert (alarms.false_positives, alarms.false_positives_healthy, alarms.suspicions) == (3, 2, 1)
    assert (alarms.false_positive_members, alarms.disturbed_false_positives) == (2, 1)
    (errors,) = of_membership._of_errors(tables).collect()
    wrong, pairs = (
        sum(row[name] for row in tables["view_errors"].collect()) for name in ("wrong_s", "pairs_s")
    )
    assert errors.view_accuracy == pytest.approx(1 - wrong / pairs)


def test_views_have_recovered_when_no_member_is_wrong_after_the_last_fault(
    spark: SparkSession, tables: dict[str, DataFrame]
) -> None:
    errors = [(20.0, 5.0, 100.0), (40.0, 3.0, 100.0), (60.0, 0.0, 100.0)]
    found = tables | {
        "view_errors": table(spark, errors, "at_s double, wrong_s double, pairs_s double"),
        "faults": table(spark, [("cut", 35.0)], "fault string, ends_s double"),
    }
    (row,) = of_membership._of_errors(found).collect()
    assert row.view_recovery_s == 15.0


def test_the_load_and_the_probes_of_a_member(spark: SparkSession) -> None:
    states = [("period_s", "end", 2.0), ("probes", "end", 90.0), ("probes", "end", 110.0)]
    states += [("failed_probes", "end", 1.0), ("failed_probes", "end", 3.0), ("probes", "start", 7.0)]
    found = {
        "traffic": table(
            spark,
            [(50.0, 100, 900), (150.0, 100, 1100)],
            "up_s double, maintenance_messages bigint, maintenance_bytes bigint",
        ),
        "states": table(spark, states, "name string, moment string, value double"),
    }
    (load,) = of_membership._load(found).collect()
    assert (load.messages_a_period, load.bytes_a_period) == (2.0, 20.0)
    (probes,) = of_membership._probes(found).collect()
    assert probes.probe_failures == pytest.approx(4 / 200)
