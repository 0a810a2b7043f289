"""The virtual runtime gives the same bytes for the same seed."""

from __future__ import annotations

from pathlib import Path

from small_trial import run

from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan

SMALL_VITIS = {
    "system": {"name": "vitis"},
    "peers": 25,
    "network": {"latency": {"kind": "king", "hosts": 20}, "jitter": "5 ms", "loss": 0.01},
    "workload": {
        "subscriptions": {"kind": "high", "topics": 20, "buckets": 4, "per_peer": 10},
        "publications": {"events": 20},
    },
    "churn": {"model": {"kind": "poisson", "mean_session": "10 s", "mean_gap": "5 s"}, "graceful": 0.5},
    "phases": {"join": "2 s", "settle": "5 s", "measure": "5 s", "drain": "2 s"},
}


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(tmp_path: Path) -> None:
    def files(name: str, seed: int, plan_seed: int) -> dict[str, bytes]:
        spec = TrialSpec.model_validate(SMALL_VITIS | {"seed": seed})
        plan = draw_plan(TrialSpec.model_validate(SMALL_VITIS | {"seed": plan_seed}))
        outcome = run(spec, plan, tmp_path / name)
        assert len(outcome.spans) > 100
        return outcome.files()

    one, again = files("one", 1, 1), files("again", 1, 1)
    assert one.keys() == again.keys()
    assert all(one[name] == again[name] for name in one)
    assert files("other", 2, 2) != one
    assert files("same plan", 2, 1) != one
