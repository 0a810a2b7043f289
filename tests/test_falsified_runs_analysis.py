"""What the analysis makes of trials that lie or fail: each is told, and none costs the others anything."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import unquote

import pytest
from lying_toy import LYING
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from analysis.pipeline import analyze
from analysis.report.report import write_report
from emulator.experiment.file.load import load
from emulator.experiment.file.variants import trials
from emulator.experiment.run.directory import RunDirectory
from emulator.experiment.run.runs import create_run
from emulator.experiment.run.summary_file import write_summary
from emulator.trials.trial import run_trial
from trellis.command.cli import app
from trellis.run import Run

LIES = [
    *("", "never published", "not asked for", "no hops", "hops beyond the trace", "twice", "negative hops"),
    *("too fast", "a bit too fast"),
]
EXPERIMENT = f"""
name: lying
system: {{name: {LYING.name}}}
peers: 5
network: {{latency: {{kind: constant, rtt: 100 ms}}}}
workload:
  subscriptions: {{kind: random, topics: 2, per_peer: 1, buckets: 1, within: 0 s}}
  publications: {{events: 8, publisher: any}}
phases: {{join: 1 s, settle: 11 s, measure: 10 s, drain: 5 s}}
vary:
  system.parameters.lie: {json.dumps(LIES)}
"""
TOLD = {
    "never published": ".* delivered an event that nobody has published, first event 99 at",
    "not asked for": "impossible.*lying delivered an event that the peer has not asked for",
    "no hops": "impossible.*lying delivered an event without a hop from its publisher",
    "hops beyond the trace": "impossible.* with more hops than messages can have made",
    "too fast": "impossible.*lying delivered an event faster than the network allows, first event",
    "twice": "repeated deliveries: .*lying delivered an event again, first event",
}


@pytest.fixture(scope="module")
def finished(
    tmp_path_factory: pytest.TempPathFactory, spark: SparkSession
) -> tuple[RunDirectory, dict[str, dict[str, Any]]]:
    """A run whose trials say that they ran in real time, where nothing was judged; by lie what is told."""
    folder = tmp_path_factory.mktemp("lies")
    (folder / "lying.yaml").write_text(EXPERIMENT)
    spec = load(folder / "lying.yaml")
    run = create_run(spec, folder / "runs")
    for trial in trials(spec):
        directory = run.trial(trial.name)
        try:
            run_trial(trial.spec, directory, lambda progress: None)
        except ValueError:
            continue
        fidelity = directory.read_fidelity()
        names = ("impossible deliveries", "repeated deliveries")
        checks = [check for check in fidelity["checks"] if check["name"] not in names]
        fidelity |= {"runtime": "processes", "checks": checks, "reasons": [], "valid": True}
        fidelity["measured"] = fidelity.get("measured", {}) | {"delay_error_max_ms": 2.0}
        directory.fidelity.write_text(json.dumps(fidelity))
        directory.write_status(state="valid", reasons=[], digests=None)
    analyze(run, lambda standing: None, spark)
    write_report(run)
    told = json.loads(run.summary.read_text())["trials"]
    return run, {trial["values"]["system.parameters.lie"]: trial for trial in told}


@pytest.mark.parametrize("lie", TOLD)
def test_deliveries_in_real_time_are_compared_with_the_plan(
    lie: str, finished: tuple[RunDirectory, dict[str, dict[str, Any]]]
) -> None:
    reasons = finished[1][lie]["reasons"]
    assert re.match(TOLD[lie], reasons[0])
    # Event 99 is told of at each delivery of the peer; what was too fast comes in time as well.
    again = "repeated deliveries: .*lying delivered an event again, first event"
    expected = {"never published": [f"{again} 99 at peer 1"], "too fast": [again]}.get(lie, [])
    assert len(reasons[1:]) == len(expected)
    assert all(re.match(*pair) for pair in zip(expected, reasons[1:], strict=True))
    assert not finished[1][lie]["valid"]


def test_what_is_honest_in_real_time_is_valid(
    finished: tuple[RunDirectory, dict[str, dict[str, Any]]],
) -> None:
    honest = finished[1][""]
    assert honest["valid"], honest["reasons"]
    checks = {check["name"]: check["measured"] for check in honest["fidelity"]["checks"]}
    assert checks["impossible deliveries"] == checks["repeated deliveries"] == 0


def test_what_is_early_by_less_than_clocks_and_delays_may_err_is_honest_in_real_time(
    finished: tuple[RunDirectory, dict[str, dict[str, Any]]],
) -> None:
    """Each way takes 50 ms, and 12 ms are allowed for clocks and probes: 45 ms are not told of."""
    bit = finished[1]["a bit too fast"]
    assert not [reason for reason in bit["reasons"] if "faster" in reason]


def test_a_trial_that_failed_after_it_wrote_telemetry_leaves_the_others_their_report(
    finished: tuple[RunDirectory, dict[str, dict[str, Any]]],
) -> None:
    run, told = finished
    failed = told["negative hops"]
    assert failed["state"] == "failed" and not failed["valid"]
    assert "lying delivered Event(" in failed["reasons"][0]
    assert told[""]["measures"]["published"] == 8
    page = run.report.read_text()
    assert "with -3 hops, by Lying of peer 1" in page


def test_the_report_and_the_command_refuse_what_was_edited_and_print_troubles(
    finished: tuple[RunDirectory, dict[str, dict[str, Any]]],
) -> None:
    run, _ = finished
    before = run.summary.read_text()
    summary = json.loads(before)
    for key in ("digest", "tables"):
        del summary[key]
    write_summary(run, summary | {"troubles": ['the table "x" of the package p 1.0: no']})
    result = CliRunner().invoke(app, ["report", str(run.path)])
    assert (
        result.exit_code == 1 and 'could not be had: the table "x" of the package p 1.0: no' in result.output
    )
    first = summary["trials"][0]["trial"]
    (path,) = (
        p for p in run.tables.glob("deliveries/*/*.parquet") if unquote(p.parent.name) == f"trial={first}"
    )
    content = path.read_bytes()
    path.write_bytes(content + b" ")
    result = CliRunner().invoke(app, ["report", str(run.path)])
    assert result.exit_code == 2 and "was changed since the analysis wrote it" in result.output
    with pytest.raises(ValueError, match="was changed since the analysis wrote it"):
        Run(run.path).tables["deliveries"]
    path.write_bytes(content)
    run.summary.write_text(before.replace('"valid": false', '"valid": true'))
    for command in ("report", "compare"):
        again = [str(run.path)] if command == "compare" else []
        result = CliRunner().invoke(app, [command, str(run.path), *again])
        assert result.exit_code == 2 and "summary.json was changed since the analysis" in result.output
    run.summary.write_text(before)
