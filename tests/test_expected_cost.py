"""Trials are expected to take about what `docs/performance.md` says that they took."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from emulator.contract.registry import OWN_SYSTEMS, SYSTEMS
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.plan.load import Load, load
from emulator.experiment.plan.tables import Plan
from emulator.experiment.run.directory import TrialDirectory
from emulator.layouts.layout import lay_out
from emulator.runtime.virtual.run_virtual import run_virtual
from trellis.expected_cost import UP, VITIS, Cost, NotKnown, expected_cost, expected_events, not_counted
from trellis.measured_rates import RATES
from trellis.system_rate import SystemRate

PERFORMANCE = (Path(__file__).parent.parent / "docs" / "performance.md").read_text()
_ROW = re.compile(
    r"^\| compiled, 1 December 2026, .* \| ([\d,]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", re.MULTILINE
)
MEASURED = [
    (int(peers.replace(",", "")), float(s), float(gib)) for peers, s, _, gib in _ROW.findall(PERFORMANCE)
]

LOAD = Load(1000, 300, 100 * 57)
LINKS = {"up": "10 Mbit/s", "down": "10 Mbit/s"}


def asked(deliveries: int, subscriptions: int, peers: int) -> Load:
    """Return the load of a plan of 60 s whose peers are up as long as those of the measured trials."""
    return Load(deliveries, subscriptions, peers * 60 * UP)


def trial(peers: int, system: str = "vitis", **more: Any) -> TrialSpec:
    """Return a trial of 60 s of trial time."""
    fields = {
        "system": {"name": system, "parameters": {"period": "1 s"}},
        "peers": peers,
        "workload": {"subscriptions": {"kind": "random", "topics": 2, "per_peer": 1}},
        "phases": {"join": "10 s", "settle": "10 s", "measure": "30 s", "drain": "10 s"},
    }
    return TrialSpec.model_validate(fields | more)


def named(spec: TrialSpec, system: str) -> TrialSpec:
    """Return a trial of another system, which need not fit its workload."""
    return spec.model_copy(update={"system": spec.system.model_copy(update={"name": system})})


def test_there_are_measurements_to_compare_with() -> None:
    assert [peers for peers, _, _ in MEASURED] == [300, 1_000, 10_000]


@pytest.mark.parametrize(("peers", "seconds", "gib"), MEASURED)
def test_a_trial_is_expected_to_take_what_one_like_it_took(peers: int, seconds: float, gib: float) -> None:
    # The plans of `benchmarks.virtual vitis` have ten deliveries and fifty subscriptions for each peer.
    cost = expected_cost(trial(peers), Load(10 * peers, 50 * peers, 55.0 * peers))
    assert cost.processor_s == pytest.approx(seconds, rel=0.15)
    assert cost.memory_bytes == pytest.approx(gib * 2**30, rel=0.05)
    assert cost.within == 3.2


@pytest.mark.parametrize(
    ("trial", "load", "reason"),
    [
        (trial(300, "rvr"), None, "its plan was not drawn"),
        (trial(20_000), LOAD, "20,000 peers are more than the 10,000 that were measured"),
        (trial(300, runtime={"kind": "processes"}), LOAD, "runtime.kind is processes"),
        (
            named(trial(300), "theirs"),
            LOAD,
            "the costs of theirs were not measured, since it is of a package",
        ),
    ],
)
def test_what_is_not_known_is_said_with_the_reason(trial: TrialSpec, load: Load | None, reason: str) -> None:
    with pytest.raises(NotKnown, match=re.escape(reason)):
        expected_cost(trial, load)


def test_a_system_that_was_not_measured_takes_the_mean_of_those_with_its_workload(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(RATES, "magnet-oscar")

    def cost_of(name: str) -> Cost:
        of_defaults = {"name": name, "parameters": SYSTEMS[name].parameters().model_dump()}
        spec = trial(300)
        return expected_cost(
            spec.model_copy(update={"system": spec.system.model_copy(update=of_defaults)}), LOAD
        )

    cost = cost_of("magnet-oscar")
    alike = [name for name in RATES if SYSTEMS[name].serves == "topics"]
    seconds = [cost_of(name).processor_s for name in alike]
    assert cost.as_others and cost.within == 7
    assert min(seconds) < cost.processor_s < max(seconds)
    assert cost.processor_s ** len(seconds) == pytest.approx(math.prod(seconds))


@pytest.mark.parametrize("system", sorted(OWN_SYSTEMS))
def test_each_system_of_the_repository_is_expected_to_take_something(system: str) -> None:
    assert expected_cost(named(trial(60), system), LOAD).processor_s > 0


def test_longer_rounds_take_less() -> None:
    slow, idle = trial(300, system="vitis"), asked(0, 300, 300)
    slow.system.parameters["period"] = "2 s"
    usual = expected_cost(trial(300), idle).processor_s
    assert expected_cost(slow, idle).processor_s == pytest.approx(usual / 2)


# The events are those that trials of 45 s had on 30 November 2026; their peers joined in 5 s.
@pytest.mark.parametrize(
    ("peers", "deliveries", "events"),
    [(100, 56, 114_932), (100, 7_428, 189_855), (100, 149_804, 1_642_798), (300, 22_232, 579_531)],
)
def test_the_events_of_vitis_grow_with_what_is_delivered(peers: int, deliveries: int, events: int) -> None:
    spec = trial(peers, phases={"join": "5 s", "settle": "15 s", "measure": "20 s", "drain": "5 s"})
    few, many = (expected_cost(spec, Load(load, 500, peers * 42.5)).processor_s for load in (0, deliveries))
    at_rest = peers * 45 * VITIS.events * 42.5 / 45 / UP
    assert 1 / 1.5 < at_rest * many / few / events < 1.5


@pytest.mark.parametrize("system", ["vitis", "rvr"])
def test_peers_that_are_up_for_half_of_the_time_take_half_of_the_events(system: str) -> None:
    whole, half = (expected_cost(trial(300, system), Load(0, 300, peer_s)) for peer_s in (16_000, 8_000))
    base = RATES[system].base_s if system in RATES else 0.0
    assert half.processor_s - base == pytest.approx((whole.processor_s - base) / 2)


@pytest.mark.parametrize(("discipline", "factor"), [("fifo", 1.9), ("fair", 3.6)])
@pytest.mark.parametrize("system", ["vitis", "rvr"])
def test_links_have_as_many_times_the_events_as_the_page_says(
    system: str, discipline: str, factor: float
) -> None:
    linked = trial(300, system, network={"bandwidth": LINKS | {"discipline": discipline}})
    base = RATES[system].base_s if system in RATES else 0.0
    without, with_links = (
        expected_cost(spec, LOAD).processor_s - base for spec in (trial(300, system), linked)
    )
    assert with_links == pytest.approx(factor * without)
    assert "FIFO links have 1.9 times the events, and fair ones 3.6 times" in PERFORMANCE


def test_what_costs_leave_out_is_named() -> None:
    split = {"name": "split", "at": "25 s", "for": "5 s", "partition": {"share": 0.5}}
    assert not_counted(trial(100)) == []
    assert not_counted(trial(100, faults=[split], processing={"message": "1 ms"})) == ["processing", "faults"]


def test_the_share_of_a_parameters_rounds_changes_with_it_alone() -> None:
    rate = SystemRate(10, 0, 0, False, 20, 0, 0, 0, (("heartbeat", 0.6), ("score.decay_interval", 0.3)))
    spec = trial(100, "gossipsub")
    assert expected_events(spec, rate, asked(0, 0, 100)) == 100 * 60 * 10
    spec.system.parameters["heartbeat"] = "500 ms"
    assert expected_events(spec, rate, asked(0, 0, 100)) == pytest.approx(100 * 60 * 10 * (0.6 * 2 + 0.4))
    spec.system.parameters["score"] = {"decay_interval": "3 s"}
    assert expected_events(spec, rate, asked(0, 0, 100)) == pytest.approx(
        100 * 60 * 10 * (0.6 * 2 + 0.1 + 0.1)
    )


def test_what_a_parameter_turns_off_takes_no_events() -> None:
    rate = SystemRate(10, 0, 0, False, 20, 0, 0, 0, (("membership.keepalive", 0.4),))
    spec = named(trial(100), "flood-hyparview")
    spec.system.parameters["membership"] = {"keepalive": "0 s"}
    assert expected_events(spec, rate, asked(0, 0, 100)) == pytest.approx(100 * 60 * 10 * 0.6)


def test_subscriptions_and_deliveries_add_events_and_some_grow_with_the_number_of_peers() -> None:
    spec = trial(160, "gossipsub")
    assert (
        expected_events(spec, SystemRate(0, 2, 3, False, 20, 0, 0, 0), asked(7, 5, 160)) == 5 * 60 * 2 + 7 * 3
    )
    grown = SystemRate(1, 0, 0, True, 20, 0, 0, 0)
    assert expected_events(spec, grown, asked(0, 0, 160)) == pytest.approx(160 * 60)
    most = 160**2
    assert expected_events(trial(most, "gossipsub"), grown, asked(0, 0, most)) == pytest.approx(2 * most * 60)


@pytest.mark.parametrize("system", ["rvr", "opt", "gossipsub"])
def test_a_trial_is_expected_to_have_the_events_that_it_has_within_a_factor_of_a_half(
    system: str, tmp_path: Path
) -> None:
    phases = {"join": "2 s", "settle": "8 s", "measure": "10 s", "drain": "2 s"}
    workload = {
        "subscriptions": {"kind": "random", "topics": 10, "per_peer": 3},
        "publications": {"events": 20},
    }
    spec = TrialSpec.model_validate(
        {"system": {"name": system}, "peers": 60, "phases": phases, "workload": workload}
    )
    plan, directory = draw_plan(spec), TrialDirectory(tmp_path / "trial")
    directory.path.mkdir()
    outcome = run_virtual(lay_out(spec, plan), plan, directory, lambda _: None)
    expected = expected_events(spec, RATES[system], load(plan))
    assert 1 / 1.5 < expected / outcome.measured["loop_events"] < 1.5


def test_the_load_of_a_plan_is_each_event_at_each_subscriber_each_lookup_and_the_time_of_sessions() -> None:
    peers = pa.table({"peer": [0, 1, 2]})
    subscriptions = pa.table({"topic": [7, 7, 8]})
    publications = pa.table({"topic": pa.array([7, 7, 9, None], pa.int32())})
    lookups = pa.table({"lookup": [0, 1]})
    sessions = pa.table({"start_s": [0.5, 2.0, 30.0], "end_s": [10.0, 12.0, 60.0]})
    plan = Plan(peers, sessions, subscriptions=subscriptions, publications=publications, lookups=lookups)
    assert load(plan) == Load(2 * 2 + 3 + 2, subscriptions=3, peer_s=9.5 + 10 + 30)
