"""`import trellis`: experiments from Python."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trellis
from emulator.experiment.file.document import ExperimentError

EXPERIMENT = """\
name: small
system: {name: vitis}
peers: 10
repeat: 2
vary: {peers: [10, 20]}
workload:
  subscriptions: {kind: random, topics: 20, per_peer: 2, buckets: 1}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(EXPERIMENT)
    return path


def test_messages_are_imported_without_the_rest() -> None:
    code = "import trellis.v1.overlay, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"pydantic", "pandas", "numpy", "emulator.experiment"} & set(done.stdout.split())


def test_an_experiment_is_changed_without_changing_the_one_it_came_from(file: Path) -> None:
    first = trellis.load(file)
    assert first.trials() == [f"vitis.peers={n}-{seed}" for n in (10, 20) for seed in (1, 2)]
    other = first.with_(peers=30, repeat=1).with_({"phases.join": "5 s", "system.parameters.friends": 4})
    assert other.trials() == ["vitis-1"]
    assert (other.spec.peers, other.spec.phases.join) == (30, 5.0)
    assert other.spec.system.parameters["friends"] == 4
    assert first.spec.phases.join == 10.0
    assert trellis.load(file, seed=7).spec.seed == 7


def test_what_is_wrong_is_told_with_the_key(file: Path) -> None:
    with pytest.raises(ExperimentError, match="peers: is -1"):
        trellis.load(file).with_(peers=-1)
    with pytest.raises(ExperimentError, match="perers: is not a known key"):
        trellis.load(file, perers=3)


@pytest.mark.parametrize(
    ("expected", "told"),
    [
        ("hit_ration >= 1", 'Did you mean "hit_ratio"'),
        ("hit_ratio >= 3 ms", "hit_ratio is in share, not in ms"),
    ],
)
def test_an_expectation_that_no_trial_can_meet_is_told_as_by_the_command(
    file: Path, expected: str, told: str
) -> None:
    with pytest.raises(ExperimentError, match=told):
        trellis.load(file).with_(expect=[expected])


def test_pods_are_refused(file: Path) -> None:
    in_pods = trellis.load(file).with_(runtime={"kind": "kubernetes", "hosts": 2})
    with pytest.raises(ValueError, match="--on kubernetes"):
        in_pods.run(file.parent / "runs")


def test_the_results_of_a_run_are_data_frames(tmp_path: Path) -> None:
    estimate = {"mean": 0.5, "ci95": 0.1, "n": 2}
    values = {"peers": 10}
    trial = {"trial": "a=1-1", "variant": "a", "values": values, "seed": 1, "state": "valid"}
    summary = {
        "valid": False,
        "reasons": ["a-1: late"],
        "measures": {"hit_ratio": {"unit": "share"}},
        "variants": [{"variant": "a", "values": values, "measures": {"hit_ratio": estimate}}],
        "trials": [trial | {"measures": {"hit_ratio": 0.5}}],
    }
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    (tmp_path / "experiment.yaml").write_text("{name: a, system: {name: vitis}}")
    (tmp_path / "tables" / "deliveries" / "trial=a%3D1-1").mkdir(parents=True)
    rows = pa.table({"event": [1, 2], "delivered": [True, False], "seed": [8, 9]})
    pq.write_table(rows, tmp_path / "tables" / "deliveries" / "trial=a%3D1-1" / "part-0.parquet")
    run = trellis.Run(tmp_path)
    assert not run.valid
    assert run.reasons == ["a-1: late"]
    assert run.summary.to_dict("records") == [
        {
            "variant": "a",
            "system": "vitis",
            "peers": 10,
            "measure": "hit_ratio",
            "unit": "share",
            **estimate,
            "of_seeds": 1,
        }
    ]
    assert run.trials.loc[0, ["seed", "hit_ratio"]].tolist() == [1, 0.5]
    assert list(run.tables) == ["deliveries"]
    what = {"trial": "a=1-1", "variant": "a", "system": "vitis", "peers": 10, "trial.seed": 1}
    assert run.tables["deliveries"].to_dict("records") == [
        {**what, "event": 1, "delivered": True, "seed": 8},
        {**what, "event": 2, "delivered": False, "seed": 9},
    ]
    with pytest.raises(KeyError, match="the tables are deliveries"):
        run.tables["lookups"]
