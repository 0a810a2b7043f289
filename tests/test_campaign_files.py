"""The files of campaigns: those that a campaign names, and those that it writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from emulator.experiment.file import document
from emulator.experiment.file.document import ExperimentError
from emulator.experiment.file.load import load
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.file.variants import MAX_TRIALS, trials
from emulator.experiment.run.runs import create_run, open_run
from emulator.files.yaml_text import read_yaml, write_yaml
from trellis.campaign.drawing import campaign_of
from trellis.campaign.replay import Failure, experiment_text
from trellis.command import campaign_command
from trellis.command.cli import app
from trellis.command.exits import UserError

FILE = """\
name: looks
system: chord
peers: 30
draw:
  {}
workload: {{lookups: {{rate: 2}}}}
invariants: {{every: 5 s}}
phases: {{join: 10 s, settle: 30 s, measure: 60 s, drain: 10 s}}
"""


def test_files_in_draw_are_found_beside_the_experiment(tmp_path: Path) -> None:
    file = tmp_path / "looks.yaml"
    quantiles = "[{kind: quantiles, file: q.txt}, {kind: pareto, deviation: 2 ms}]"
    (tmp_path / "q.txt").write_text("0 0.001\n1 0.003\n")
    drawn = {
        "network.jitter": quantiles,
        "network": f"{{jitter: {{any: {quantiles}}}}}",
        "network.jitter.file": "{any: [q.txt, q.txt]}",
        "network.later": "{number: [1, 1], of: [{at: 20 s, latency: {kind: matrix, file: q.txt}}]}",
    }
    for key, ranges in drawn.items():
        base = "network: {jitter: {kind: quantiles, file: q.txt}}\n" if key.endswith(".file") else ""
        file.write_text(base + FILE.format(f"{key}: {ranges}"))
        told = load(file).model_dump_json(include={"draw"})
        assert str(tmp_path / "q.txt") in told and '"q.txt"' not in told, key
    file.write_text(FILE.format(f"network.jitter: {quantiles}"))
    kinds = {
        trial.spec.network.model_dump()["jitter"]["kind"]
        for trial in trials(campaign_of(load(file), file, 9))
    }
    assert kinds == {"quantiles", "pareto"}
    (tmp_path / "q.txt").unlink()
    missing = rf":5: draw\.network\.jitter\[0\]\.file: .* no such file: {tmp_path}/q.txt"
    with pytest.raises(ExperimentError, match=missing):
        load(file)


def test_what_a_campaign_writes_may_be_larger_than_a_file_of_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "looks.yaml"
    cut = "{at: {from: 50 s, to: 60 s}, for: 5 s, partition: {share: 0.3, senders: told}}"
    file.write_text(FILE.format(f"faults: {{number: [5, 5], of: [{cut}]}}"))
    monkeypatch.setattr(document, "_MOST_VALUES", 100)
    spec = campaign_of(load(file), file, 10)
    directory = create_run(spec, tmp_path)
    assert open_run(directory.path)[1] == spec
    valid = CliRunner().invoke(app, ["validate", str(directory.path)])
    assert valid.exit_code == 0 and "valid: 10 trials" in valid.stdout
    with pytest.raises(ExperimentError, match="more than 100 keys and values"):
        load(directory.experiment)


def test_the_most_trials_of_a_campaign_with_five_faults_each_can_be_read_again() -> None:
    fault = {
        "name": "drawn-1",
        "at": "99.1234 s",
        "for": "9.12345 s",
        "links": {"share": 0.3, "delay": "9 ms"},
    }
    trial = [10_000, {"kind": "poisson", "mean_session": "300 s", "mean_gap": "60 s"}, 50, [fault] * 5]
    some = MAX_TRIALS // 100
    text = write_yaml({"vary": {"seed,churn.model,peers,faults": [trial] * some}})
    read_yaml(text, most=document.WRITTEN * document._MOST_VALUES // 100)
    assert len(text) < document.WRITTEN * document._MOST_BYTES // 100


def test_each_condition_has_a_smaller_file_of_its_own() -> None:
    texts = ["hit_ratio >= 99 %", "hit_ratio > 99 %", "hit_ratio == 99 %", *(f"{'a' * 70}{i}" for i in "12")]
    names = [campaign_command._name_of_smaller("chord.seed=7-7", text) for text in texts]
    assert len(set(names)) == len(texts)
    assert names[0] == "chord.seed=7-7-hit-ratio-99-5deba08e.yaml", "a resumed campaign finds it again"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "name: x\n",
        "peers: 5\nfaults: 7\n",
        "peers: [1]\n",
        "peers: {1\n",
        "[]\n",
        "peers: 5\nfaults: [7]\n",
    ],
)
def test_a_damaged_smaller_file_is_told_to_be_removed(tmp_path: Path, text: str) -> None:
    file = tmp_path / "smaller.yaml"
    file.write_text(text)
    with pytest.raises(
        UserError, match=r"smaller\.yaml is damaged: remove it, and the campaign makes it again"
    ):
        campaign_command._say_smaller("hit_ratio >= 99 %", file)


def test_a_smaller_file_is_told_with_its_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "smaller.yaml"
    file.write_text(FILE.format("peers: [20]"))
    values = load(file).model_dump(mode="json", include=set(TrialSpec.model_fields))
    file.write_text(experiment_text("smaller", "", Failure("lookup_success >= 90 %", False), values))
    campaign_command._say_smaller("lookup_success >= 90 %", file)
    told = "breaks lookup_success >= 90 % with 30 peers and 0 faults: trellis run"
    assert told in capsys.readouterr().out


def test_a_campaign_that_is_interrupted_names_the_command_that_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*given: object) -> list[object]:
        raise KeyboardInterrupt

    monkeypatch.setattr("emulator.trials.sweep.run_sweep", interrupted)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "looks.yaml").write_text(FILE.format("network.loss: {from: 0 %, to: 1 %}"))
    words = ["campaign", "looks.yaml", "--trials", "2", "--jobs", "1", "--shrink", "1", "--budget", "200"]
    result = CliRunner().invoke(app, words)
    (run,) = (tmp_path / "runs").iterdir()
    again = f"trellis campaign runs/{run.name} --jobs 1 --shrink 1"
    assert (result.exit_code, result.stderr.splitlines()[-1].split("Go on with: ")[1]) == (130, again)
    refused = CliRunner().invoke(app, ["campaign", str(run), "--trials", "3"])
    assert refused.exit_code == 2 and "has its trials. Leave it out" in refused.stderr
