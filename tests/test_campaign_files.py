"""The files of campaigns: those that a campaign names, and those that it writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.experiment.file.document import ExperimentError
from emulator.experiment.file.load import load
from emulator.experiment.file.variants import trials
from trellis.campaign.drawing import campaign_of

FILE = """\
name: looks
system: chord
peers: 30
draw:
  faults: [[]]
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
    missing = rf":6: draw\.network\.jitter\[0\]\.file: .* no such file: {tmp_path}/q.txt"
    with pytest.raises(ExperimentError, match=missing):
        load(file)
