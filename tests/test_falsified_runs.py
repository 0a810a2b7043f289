"""Ways in which a protocol, a package or an editor can make a run lie; each is told."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lying_toy import LYING, Lie
from small_trial import Outcome, make_plan, run, trial_spec

from analysis.charts.results import Results, ResultsError
from emulator.contract.registry import SYSTEMS, _Entry
from emulator.experiment.file.load import load
from emulator.experiment.file.spec import SystemSpec, TrialSpec
from emulator.experiment.file.variants import trials
from emulator.experiment.plan.provenance import OtherPlan, check_tables
from emulator.experiment.plan.tables import FAULTS
from emulator.experiment.run.directory import RunDirectory
from emulator.experiment.run.runs import make_run
from emulator.experiment.run.seals import changed_since
from emulator.experiment.run.summary_file import check_table, read_summary, table_digests, write_summary
from emulator.files.damage import DamagedFile
from emulator.network.build_network import build_network
from emulator.network.spec import NetworkSpec
from emulator.runtime.breaches import CHECKED
from emulator.runtime.shortest_ways import ShortestWays
from emulator.trials.trial import run_trial

TOLD: dict[Lie, str] = {
    "never published": "delivered an event that nobody has published, first event 99 at peer 1 at 5.050 s",
    "too early": "lying delivered an event that nobody has published, first event 0 at peer 1 at 0.000 s",
    "of a publisher that was down": "an event that nobody has published, first event 2 at peer 1",
    "another publisher": "another one than was published, first event 0 as of publisher 2 and topic 1, not "
    "publisher 0 and topic 1 at peer 1",
    "another topic": "as of publisher 0 and topic 5, not publisher 0 and topic 1 at peer 1",
    "not asked for": "lying delivered an event that the peer has not asked for, first event 0 at peer 3",
    "no hops": "lying delivered an event without a hop from its publisher, first event 0 at peer 1",
    "too fast": "lying delivered an event faster than the network allows, first event 0 at peer 1 at 5.000 s",
    "a bit too fast": "faster than the network allows, first event 0 at peer 1 at 5.045 s",
    "hops beyond the trace": "an event with more hops than messages can have made, first event 0",
    "hops beyond the time": "an event with more hops than messages can have made, first event 0",
    "after it left": "lying delivered an event after the peer had left, first event 1 at peer 4 at 12.000 s",
    "a lookup": "lying delivered a lookup that nobody has begun, first lookup 3 at peer 1",
    "a result": "lying delivered a result that nobody has begun, first result 3 at peer 1",
}


def spec_of(lie: Lie, **fields: object) -> TrialSpec:
    spec = trial_spec("lying", 5, 20.0, **fields)
    return spec.model_copy(update={"system": SystemSpec(name="lying", parameters={"lie": lie})})


def lie_of(lie: Lie, path: Path, **fields: object) -> Outcome:
    """Run a trial with this lie: peer 0 publishes at 5 s and, when peer 4 has left, at 12 s; peer 4 was to
    publish at 11 s."""
    plan = make_plan(
        5,
        [*((peer, 0.0, 20.0) for peer in range(4)), (4, 0.0, 10.0)],
        [*((peer, 1, 0.0, 20.0) for peer in (1, 2, 4)), (3, 1, 15.0, 20.0)],
        [(5.0, 0, 1), (11.0, 4, 1), (12.0, 0, 1)],
    )
    rows = plan.publications.to_pylist()  # numbered by time, so the second is the one that cannot be asked
    rows[1]["event"], rows[2]["event"] = 2, 1
    plan.tables = {**plan.tables, "publications": pa.Table.from_pylist(rows, plan.publications.schema)}
    fidelity = {"operations_missed": 1} | fields.pop("fidelity", {})  # type: ignore[operator]
    return run(spec_of(lie, fidelity=fidelity, **fields), plan, path)


@pytest.fixture(autouse=True)
def _nobody_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CHECKED, raising=False)


def test_what_is_honest_is_valid_and_nothing_is_told(tmp_path: Path) -> None:
    outcome = lie_of("", tmp_path)
    fidelity = outcome.fidelity
    assert fidelity.valid, fidelity.reasons
    assert {check.name: check.measured for check in fidelity.checks}["impossible deliveries"] == 0
    assert "dropped" not in json.loads(outcome.directory.fidelity.read_text())


@pytest.mark.parametrize("lie", TOLD)
def test_a_delivery_that_cannot_be_makes_the_trial_invalid(lie: Lie, tmp_path: Path) -> None:
    (reason,) = lie_of(lie, tmp_path).fidelity.reasons
    assert reason.startswith("impossible deliveries: ") and TOLD[lie] in reason
    assert "fidelity.impossible_deliveries is 0" in reason


@pytest.mark.parametrize("lie", ["never published", "twice"])
def test_an_experiment_may_allow_them(lie: Lie, tmp_path: Path) -> None:
    """The trial has 7 honest deliveries and 2 others."""
    key = "repeated_deliveries" if lie == "twice" else "impossible_deliveries"
    allowed = lie_of(lie, tmp_path / "allowed", fidelity={key: 2})
    assert allowed.fidelity.valid, allowed.fidelity.reasons
    assert not lie_of(lie, tmp_path / "refused", fidelity={key: "10 %"}).fidelity.valid


def test_an_event_that_is_delivered_twice_in_a_session_is_told(tmp_path: Path) -> None:
    (reason,) = lie_of("twice", tmp_path).fidelity.reasons
    assert reason.startswith(
        "repeated deliveries: 2 deliveries, limit 0 deliveries (lying delivered an event again"
    )


def test_who_comes_back_may_get_an_event_again(tmp_path: Path) -> None:
    plan = make_plan(2, [(0, 0.0, 20.0), (1, 0.0, 6.0), (1, 7.0, 20.0)], [(1, 1, 0.0, 20.0)], [(5.0, 0, 1)])
    outcome = run(spec_of("to those who come back"), plan, tmp_path)
    assert outcome.deliveries() == {(0, 1): 2}
    assert outcome.fidelity.valid, outcome.fidelity.reasons


def test_an_event_may_have_come_by_a_longer_way_than_the_question_for_it(tmp_path: Path) -> None:
    outcome = lie_of("by a longer way", tmp_path)
    assert (0, 4) in outcome.deliveries()
    assert outcome.fidelity.valid, outcome.fidelity.reasons


def test_messages_of_a_package_are_checked_in_small_trials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SYSTEMS._entries, "lying", _Entry(lambda: LYING, "liars 1.0"))
    monkeypatch.setattr("emulator.runtime.breaches.CHECKED_PEERS", 4)
    unchecked = lie_of("a changed message", tmp_path / "unchecked").fidelity
    assert "contract" not in " ".join(unchecked.reasons)
    monkeypatch.setattr("emulator.runtime.breaches.CHECKED_PEERS", 5)
    reasons = lie_of("a changed message", tmp_path / "checked").fidelity.reasons
    assert any("lying changed a message EventData after it was sent, first from peer 0" in r for r in reasons)


def test_a_negative_delay_is_counted_and_named(tmp_path: Path) -> None:
    (reason,) = lie_of("a negative delay", tmp_path).fidelity.reasons
    assert (
        "lying set a negative delay, first Lying of peer 0 set a timer or a time-out of -1.0 s at 5" in reason
    )


def test_negative_hops_and_sizes_are_a_sentence_that_names_who_said_them(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"lying delivered Event\(.*with -3 hops, by Lying of peer 1"):
        lie_of("negative hops", tmp_path / "hops")
    with pytest.raises(ValueError, match=r"lying_toy\.Shrunken says that it has -5 bytes"):
        lie_of("negative bytes", tmp_path / "bytes")


def test_messages_that_a_protocol_drops_are_told(tmp_path: Path) -> None:
    outcome = lie_of("dropped", tmp_path)
    told = {"lying dropped EventData: its lists do not fit, first at peer 1 at 5.050 s": 2}
    assert outcome.fidelity.valid
    assert json.loads(outcome.directory.fidelity.read_text())["dropped"] == told


def test_a_way_over_others_may_be_shorter_than_the_straight_one() -> None:
    """Measured delays do not obey the triangle inequality."""
    random = np.random.default_rng(3)
    rtt = random.uniform(0.01, 1.0, (12, 12)).astype(np.float32)
    network = build_network(NetworkSpec(), list(range(12)), 1)
    network.rows = [np.asarray(row).tolist() for row in rtt]
    ways = ShortestWays(network)
    best = rtt.astype(np.float64)
    for over in range(12):
        best = np.minimum(best, best[:, [over]] + best[[over], :])
    for sender in range(12):
        for receiver in range(12):
            least = best[sender, receiver]
            assert ways.least(sender, receiver, enough=least - 1e-6) > least - 1e-9
            assert ways.least(sender, receiver, enough=least + 1e-6) <= least + 1e-6
    assert ways.least_of_all == pytest.approx(rtt.min())


# What an editor can do to the files of a run.


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """A run whose trial is valid, with a table and a summary as an analysis would write them."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "x.yaml").write_text(
        "name: x\nsystem: {name: lying}\npeers: 5\nworkload:\n"
        "  subscriptions: {kind: random, topics: 2, per_peer: 2, buckets: 1, within: 0 s}\n"
        "  publications: {events: 2}\n"
        "phases: {join: 1 s, settle: 1 s, measure: 5 s, drain: 2 s}\n"
        "fidelity: {impossible_deliveries: 100 %}\n"
    )
    spec = load(folder / "x.yaml")
    made = make_run(spec, folder / "run")
    (trial,) = trials(spec)
    assert run_trial(trial.spec, made.trial(trial.name), lambda progress: None).valid
    table = made.tables / "deliveries" / f"trial={trial.name}" / "part-00000.parquet"
    table.parent.mkdir(parents=True)
    pq.write_table(pa.table({"event": [0, 1]}), table)
    rows = [
        {"trial": trial.name, "state": "valid", "valid": True, "reasons": [], "measures": {"hit_ratio": 0.5}}
    ]
    write_summary(made, {"valid": True, "reasons": [], "trials": rows, "variants": [], "measures": {}})
    return made


@pytest.fixture
def copy(finished: RunDirectory, tmp_path: Path) -> RunDirectory:
    shutil.copytree(finished.path, tmp_path / "run")
    return RunDirectory(tmp_path / "run")


def test_what_nobody_touched_is_believed(copy: RunDirectory) -> None:
    (trial,) = copy.trials()
    check_tables(trial.plan)
    assert changed_since(trial, trial.read_status()) == []
    summary = read_summary(copy)
    digests = table_digests(copy, summary)
    assert summary["valid"] and digests is not None
    check_table(copy, digests, "deliveries")


def test_rows_that_were_added_to_a_plan_are_refused(copy: RunDirectory) -> None:
    (trial,) = copy.trials()
    path = trial.plan / "publications.parquet"
    rows = pq.read_table(path)
    pq.write_table(pa.concat_tables([rows, rows]), path)
    assert pq.read_schema(path).metadata == rows.schema.metadata
    with pytest.raises(OtherPlan, match=r"publications.parquet was changed since the plan was drawn"):
        check_tables(trial.plan)
    with pytest.raises(ResultsError, match=r"publications.parquet was changed"):
        Results.read(copy)


def test_faults_of_another_experiment_are_no_part_of_a_plan(copy: RunDirectory) -> None:
    (trial,) = copy.trials()
    Results.read(copy)
    table = FAULTS.empty_table().replace_schema_metadata(
        pq.read_schema(trial.plan / "peers.parquet").metadata
    )
    pq.write_table(table, trial.plan / "faults.parquet")
    with pytest.raises(OtherPlan, match=r"faults.parquet is not of the plan beside it. Remove it"):
        check_tables(trial.plan)
    with pytest.raises(ResultsError, match=r"faults.parquet is not of the plan"):
        Results.read(copy)


@pytest.mark.parametrize("name", ["telemetry/virtual-traces-0.otlp", "fidelity.json"])
def test_files_of_a_trial_that_were_changed_are_named(copy: RunDirectory, name: str) -> None:
    (trial,) = copy.trials()
    with (trial.path / name).open("ab") as file:
        file.write(b" ")
    assert changed_since(trial, trial.read_status()) == [name]


def test_a_summary_that_was_edited_is_refused(copy: RunDirectory) -> None:
    copy.summary.write_text(copy.summary.read_text().replace("0.5", "1.0"))
    with pytest.raises(DamagedFile, match=r"summary.json was changed since the analysis.*trellis analyze"):
        read_summary(copy)


@pytest.mark.parametrize("keys", [["digest"], ["digest", "tables"]])
def test_a_summary_whose_digests_were_taken_out_is_refused(copy: RunDirectory, keys: list[str]) -> None:
    summary = json.loads(copy.summary.read_text())
    kept = {key: value for key, value in summary.items() if key not in keys}
    copy.summary.write_text(json.dumps(kept))
    with pytest.raises(DamagedFile, match=r"summary.json was changed since the analysis"):
        read_summary(copy)


def test_a_status_that_is_gone_and_a_fidelity_that_was_changed_make_a_trial_invalid(
    copy: RunDirectory,
) -> None:
    (trial,) = copy.trials()
    trial.fidelity.write_text(trial.fidelity.read_text() + " ")
    assert read_summary(copy)["reasons"] == [
        f"{trial.name}: its fidelity.json was changed since the trial ended"
    ]
    trial.status.unlink()
    assert read_summary(copy)["reasons"] == [f"{trial.name}: its status.json is gone since the analysis"]
    shutil.rmtree(trial.path)  # a run may be kept without what it was made from
    assert read_summary(copy)["valid"]


def test_what_a_plan_tells_of_inputs_and_its_spec_are_parts_of_it(copy: RunDirectory) -> None:
    (trial,) = copy.trials()
    (trial.plan / "inputs.json").write_text("{}")
    with pytest.raises(OtherPlan, match=r"inputs.json was changed since the plan was drawn"):
        check_tables(trial.plan)
    (trial.plan / "inputs.json").unlink()
    (trial.plan / "spec.json").unlink()
    with pytest.raises(ResultsError, match=r"spec.json is gone since the plan was drawn"):
        Results.read(copy)


def append(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b" ")


def add(path: Path) -> None:
    shutil.copy(path, path.with_name("part-00001.parquet"))


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (append, "part-00000.parquet was changed"),
        (Path.unlink, "part-00000.parquet is gone"),
        (add, "part-00001.parquet is not of the analysis"),
    ],
)
def test_tables_that_were_edited_deleted_or_added_are_refused(
    copy: RunDirectory, harm: Callable[[Path], object], told: str
) -> None:
    (path,) = copy.tables.glob("*/*/*.parquet")
    harm(path)
    digests = table_digests(copy, read_summary(copy))
    assert digests is not None
    with pytest.raises(DamagedFile, match=told):
        check_table(copy, digests, "deliveries")
    copy.digests.write_text("{}")
    with pytest.raises(DamagedFile, match=r"digests.json is gone or was changed"):
        table_digests(copy, read_summary(copy))


def test_a_status_that_was_made_invalid_since_is_respected(copy: RunDirectory) -> None:
    (trial,) = copy.trials()
    trial.write_status(state="invalid", reasons=["its host had the wrong clock"])
    summary = read_summary(copy)
    assert not summary["valid"] and not summary["trials"][0]["valid"]
    assert summary["reasons"] == [
        f"{trial.name}: it is invalid since the analysis: its host had the wrong clock"
    ]
