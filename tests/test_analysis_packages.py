"""What packages bring to the analysis, and what is told if that fails: the rest is made."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from copy import copy
from pathlib import Path

import analysis_toys
import pytest
from pyspark.sql import SparkSession

from analysis.contract.measures import Measure, MeasureGroup
from analysis.contract.tables import Table
from analysis.contract.trouble import said
from analysis.pipeline import analyze
from analysis.report.report import write_report
from analysis.testing import FinishedRun, finished_run
from emulator.contract import registry
from emulator.contract.registry import WORKLOADS

TOYS = str(Path(__file__).parent / "toys")
EXPERIMENT = """\
name: small
system: {name: vitis}
claims: [T1, B1, B2]
peers: 16
workload:
  subscriptions: {kind: random, topics: 6, per_peer: 3, buckets: 1}
  publications: {events: 12}
phases: {join: 5 s, settle: 15 s, measure: 10 s, drain: 5 s}
"""
BROKEN = """\
from pyspark.sql import functions as F
from analysis.claims.claim import Claim, Number
from analysis.claims.bounds import at_least
from analysis.contract.figures import Figure, Section, Text
from analysis.contract.measures import Measure, MeasureGroup
from analysis.contract.tables import Table
from analysis.charts.bars import Row, bar_chart
from analysis.charts.chart import Quantity

def group(name, *queries):
    return MeasureGroup({name: Measure(name.capitalize(), "", None, "")}, queries)

def each(column):
    return lambda tables: tables["trials"].select("trial", column)

def wrong(schema, frame):
    return Table("wrong", "", schema, ("x",), frame)

RAISES = group("raising", lambda tables: 1 / 0)
LACKS = group("lacking", lambda tables: tables["nowhere"])
OTHER = group("named", each(F.lit(1).alias("other")))
NOTHING = group("unsaid", each(F.lit(1.0).alias("named2")), lambda tables: 5)
FAILS = group("failing", each(F.expr("cast(trial as int)").alias("failing")))
TWICE = group("twice", lambda tables: tables["trials"].selectExpr("trial", "explode(array(1, 2)) as twice"))
TEXT = group("texts", each(F.lit("many").alias("texts")))
NAN = group("nan", each(F.lit(float("nan")).alias("nan")))
OURS = group("hit_ratio", each(F.lit(1).alias("hit_ratio")))
THEIRS = group("early_share", each(F.lit(1).alias("early_share")))
EXITS = group("exiting", lambda tables: exit(3))
DOUBLE = group("double", lambda tables: tables["trials"].selectExpr("trial", "1 as double", "2 as double"))
STRANGE = group("strange", lambda tables: tables["trials"].selectExpr("'elsewhere' as trial", "1 as strange"))
DIGITS = group("digits", each(F.lit("5").alias("digits")))
EXITING = Figure(lambda results: exit(4))
LEAVING = Section("Leaving", lambda results: exit(5))
NUMBERED = Section("Numbered", lambda results: [Text(5)])
NEEDS = group("needing", lambda tables: tables["wrong"])
COLUMNS = wrong("trial string, x int", lambda tables: tables["trials"].select("trial"))
TAKEN = Table("hops", "", "trial string, x int", ("x",), lambda tables: tables["trials"])
RAISING = Figure(lambda results: [1 / 0])
SAME = Figure(lambda results: [bar_chart("delay-ms", "", "", Quantity(""), ["a"], [Row("a", [1.0])])])
NO_CHART = Figure(lambda results: ["a chart"])
NO_BLOCK = Section("Odd", lambda results: [5])
def find(variants):
    raise LookupError("it is nowhere")
B1 = Claim("B1", "It is there.", lambda v: v, "", {}, (Number("it", at_least(1, ""), find),))
B2 = Claim("another", "It is there.", lambda v: v, "", {}, ())
"""
ENTRIES = """\
[trellis.measures]
raises = acme_broken:RAISES
lacks = acme_broken:LACKS
other = acme_broken:OTHER
nothing = acme_broken:NOTHING
fails = acme_broken:FAILS
twice = acme_broken:TWICE
text = acme_broken:TEXT
nan = acme_broken:NAN
ours = acme_broken:OURS
theirs = acme_broken:THEIRS
needs = acme_broken:NEEDS
exits = acme_broken:EXITS
double = acme_broken:DOUBLE
strange = acme_broken:STRANGE
digits = acme_broken:DIGITS
lost = acme_broken:LOST
figure = acme_broken:SAME
[trellis.tables]
columns = acme_broken:COLUMNS
taken = acme_broken:TAKEN
[trellis.figures]
raising = acme_broken:RAISING
same = acme_broken:SAME
no-chart = acme_broken:NO_CHART
exiting = acme_broken:EXITING
[trellis.sections]
no-block = acme_broken:NO_BLOCK
leaving = acme_broken:LEAVING
numbered = acme_broken:NUMBERED
[trellis.claims]
B1 = acme_broken:B1
B2 = acme_broken:B2
"""
ACME = "the package acme 1.2"
NOT_MEASURED = {
    "raising": f'the measures "raises" of {ACME}: ZeroDivisionError: division by zero',
    "lacking": f'the measures "lacks" of {ACME}: there is no table "nowhere" in this run',
    "named": f'the measures "other" of {ACME}: a query gives the column other, which is none of its measures',
    "unsaid": f'the measures "nothing" of {ACME}: a query gives a int, not a DataFrame',
    "failing": f'the measures "fails" of {ACME}: NumberFormatException',
    "twice": f'the measures "twice" of {ACME}: a query gives several rows for a trial',
    "texts": f"""the measures "text" of {ACME}: the measure "texts" is 'many', which is no number""",
    "nan": f'the measures "nan" of {ACME}: its value is nan, which is no number',
    "exiting": f'the measures "exits" of {ACME}: SystemExit: 3',
    "double": f'the measures "double" of {ACME}: a query gives several columns of the name double',
    "strange": f"""the measures "strange" of {ACME}: a query gives a row for the trial 'elsewhere'""",
    "digits": f"""the measures "digits" of {ACME}: the measure "digits" is '5', which is no number""",
    "needing": f'the measures "needs" of {ACME}: there is no table "wrong" in this run',
}
REFUSED = (
    f'the measures "ours" of {ACME}: Trellis itself has a measure "hit_ratio". Rename it',
    f'the measures "theirs" of {ACME}: the package trellis-toys 1 has a measure "early_share". Rename it',
    f'{ACME} offers "lost" (acme_broken:LOST) in trellis.measures, but importing it failed: AttributeError',
    f'{ACME} offers "figure" (acme_broken:SAME) in trellis.measures, but it is of type Figure, not Measure',
    f'the table "columns" of {ACME}: it gives no column x, which its schema has',
    f'the table "taken" of {ACME}: its name is that of a table that this run has already. Rename it',
)
NOT_SHOWN = (
    f'the figure "raising" of {ACME}: ZeroDivisionError: division by zero',
    f'the figure "same" of {ACME}: another chart has the name "delay-ms". Rename it',
    f'the figure "no-chart" of {ACME}: it gives a str, which is no chart',
    f'the figure "exiting" of {ACME}: SystemExit: 4',
    f'the section "leaving" of {ACME}: SystemExit: 5',
    f'the section "numbered" of {ACME}: it shows 5, which is no text',
    f'the section "no-block" of {ACME}: it gives a int, which is no text, table, chart or drawing',
)


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The toys, and a package in which everything is broken."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "acme_broken.py").write_text(BROKEN)
    info = folder / "acme-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(ENTRIES)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(TOYS)
        patch.syspath_prepend(str(folder))
        yield
    sys.modules.pop("acme_broken", None)


@pytest.fixture(scope="module")
def run(
    spark: SparkSession, packages: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[FinishedRun]:
    folder = tmp_path_factory.mktemp("runs")
    (folder / "small.yaml").write_text(EXPERIMENT)
    with finished_run(folder / "small.yaml", folder, spark) as run:
        yield run


def test_measures_of_a_package_are_in_the_summary_and_the_report(run: FinishedRun) -> None:
    deliveries = [row for row in run.rows("deliveries") if row["delivered"]]
    early = [row for row in deliveries if row["delay_ms"] < analysis_toys.EARLY_MS]
    measured = run.measures()
    assert 0 < len(early) < len(deliveries)
    assert measured["early_deliveries"] == len(early)
    assert measured["early_share"] == pytest.approx(len(early) / len(deliveries))
    assert run.summary["measures"]["early_share"]["about"] == "Early / all."
    heading = run.html.index("<caption>Earliness</caption>")
    assert heading < run.html.index("<caption>Delivery</caption>"), "a package's measures come first"
    assert "Share that was early" in run.html[heading:]


def test_a_measure_is_tested_on_the_tables_of_the_finished_run(run: FinishedRun) -> None:
    (trial,) = run.trials
    assert run.ask(analysis_toys.count_early) == {trial: {"early_deliveries": len(run.rows("early"))}}
    assert run.ask(analysis_toys.count_early, early=run.tables["early"].limit(2))[trial] == {
        "early_deliveries": 2
    }


def test_tables_of_a_package_are_made_of_others_and_written_in_order(run: FinishedRun) -> None:
    rows = run.rows("early")
    assert rows and list(rows[0]) == ["event", "peer", "delay_ms", "trial"]
    assert [(row["event"], row["peer"]) for row in rows] == sorted((r["event"], r["peer"]) for r in rows)
    assert sum(row["early"] or 0 for row in run.rows("early_series")) == len(rows)
    (folder,) = (run.directory.tables / "early").iterdir()
    assert [path.name for path in folder.iterdir()] == ["part-00000.parquet"]


def test_figures_and_sections_of_a_package_are_in_the_report(run: FinishedRun) -> None:
    assert {"early-cdf", "early-time"} <= {chart.name for chart in run.charts("spread")}
    assert '<figure class="chart lines" id="early-cdf">' in run.html
    assert '<a href="#section-early">Early</a>' in run.html
    section = run.html[run.html.index('<section id="section-early">') :]
    assert "<h2>All that was early</h2>" in section
    assert "<p>Early is &lt;b&gt;good&lt;/b&gt;.</p>" in section, "texts are escaped"
    assert '<th scope="col">variant</th><th scope="col">early</th>' in section
    assert 'id="early-bars"' in section


def test_claims_of_packages_are_judged(run: FinishedRun) -> None:
    verdicts = {claim["id"]: claim for claim in run.summary["claims"]}
    assert verdicts["T1"]["outcome"] == "yes"
    assert verdicts["T1"]["numbers"][0]["measured"]
    assert verdicts["B1"]["outcome"] == verdicts["B2"]["outcome"] == "not decided"
    assert verdicts["B1"]["why"] == f'the claim "B1" of {ACME}: LookupError: it is nowhere'
    assert 'its id is "another". Use one name' in verdicts["B2"]["why"]


@pytest.mark.parametrize("measure", NOT_MEASURED)
def test_a_measure_that_fails_is_not_measured_and_says_why(run: FinishedRun, measure: str) -> None:
    (trial,) = run.summary["trials"]
    assert trial["measures"][measure] is None
    assert NOT_MEASURED[measure] in trial["unmeasured"][measure]
    assert measure not in run.summary["variants"][0]["measures"]
    assert f"<b>{measure.capitalize()}</b>" in run.html


def test_what_a_package_brings_and_is_refused_is_told(run: FinishedRun) -> None:
    for text in REFUSED:
        assert any(text in told for told in run.summary["troubles"]), text
    assert len(run.summary["troubles"]) == len(REFUSED)
    assert run.measures()["hit_ratio"] != 1 or run.measures()["expected"]
    assert not (run.directory.tables / "wrong").exists()
    page = run.html.replace("&#34;", '"').replace("&#39;", "'")
    for text in (*REFUSED, *NOT_SHOWN):
        assert text in page, text
    assert run.summary["trials"][0]["valid"]


def test_a_workload_whose_analysis_fails_has_what_all_trials_have(
    spark: SparkSession, run: FinishedRun, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = run.directory.summary.read_text(), run.html
    broken = copy(WORKLOADS["topics"])
    broken.analysis = "analysis_toys_kind:BROKEN_KIND"
    monkeypatch.setitem(WORKLOADS._entries, "topics", registry._Entry(lambda: broken, "acme 1.2"))
    monkeypatch.setitem(WORKLOADS._made, "topics", broken)
    summary = analyze(run.directory, lambda _: None, spark)
    page = write_report(run.directory).read_text().replace("&#34;", '"')
    (trial,) = summary["trials"]
    assert trial["valid"] and summary["workloads"] == ["topics"]
    assert {"bytes_per_s", "peers_up", "neighbours", "lost_spans"} <= trial["measures"].keys()
    assert not {"hit_ratio", "coverage", "lookup_success"} & trial["measures"].keys()
    assert trial["measures"]["up_seconds"] > 0
    for text in (
        "who was to get the events of the workload \"topics\" of the package acme 1.2: KeyError: 'nobody'",
        'the table "sad" of the workload "topics" of the package acme 1.2: ValueError: sad',
        'the part of the workload "topics" in the table "series"',
    ):
        assert any(text in told for told in summary["troubles"]), text
    assert 'a figure of the workload "topics" of the package acme 1.2: RuntimeError: no paint' in page
    assert "Peers up" in page and "Hit ratio" not in page
    run.directory.summary.write_text(before[0])
    run.directory.report.write_text(before[1])


def test_an_error_in_a_process_of_spark_is_told_by_its_last_line() -> None:
    text = (
        "Job aborted\nTraceback (most recent call last):\n  File x\nValueError: odd\n\nJVM stacktrace:\nat a"
    )
    assert said(RuntimeError(text)) == "RuntimeError: ValueError: odd"


def test_a_measure_that_is_none_is_refused_where_it_is_written() -> None:
    query = analysis_toys.count_early
    with pytest.raises(ValueError, match=r'"Hit Ratio" has a name that is not of a-z, 0-9 and _'):
        MeasureGroup({"Hit Ratio": Measure("", "", None, "")}, (query,))
    with pytest.raises(ValueError, match="at least one measure and one query"):
        MeasureGroup({"a": Measure("", "", None, "")}, ())
    with pytest.raises(ValueError, match="zero names b, which is none of the measures"):
        MeasureGroup({"a": Measure("", "", None, "")}, (query,), zero=("b",))
    with pytest.raises(ValueError, match=r"collections of names: write \(name,\)"):
        MeasureGroup({"a": Measure("", "", None, "")}, (query,), systems="vitis")
    with pytest.raises(ValueError, match='the schema of the table "t" lacks its keys y'):
        Table("t", "", "trial string, x int", ("y",), lambda tables: tables["trials"])
    with pytest.raises(ValueError, match='the schema of the table "t" lacks "trial string"'):
        Table("t", "", "x int", ("x",), lambda tables: tables["trials"])


def test_a_summary_without_trouble_says_nothing_of_it(run: FinishedRun) -> None:
    assert "workloads" not in json.loads(run.directory.summary.read_text())
