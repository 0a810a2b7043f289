"""Sweeps: which trials an experiment makes, and what they are called."""

import re
from pathlib import Path

import pytest

from emulator.experiment.file.load import load
from emulator.experiment.file.variants import _names, trials, variants

BASE = """\
name: small
system: {name: vitis}
peers: 20
workload:
  subscriptions: {kind: random, topics: 100, per_peer: 10, buckets: 10}
"""


@pytest.fixture
def spec(tmp_path):
    def _spec(more: str = ""):
        path: Path = tmp_path / "a.yaml"
        path.write_text(BASE + more)
        return load(path)

    return _spec


def test_without_vary_there_is_one_trial_a_seed_named_by_the_system(spec):
    every = trials(spec("seed: 7\nrepeat: 3\n"))
    assert [t.name for t in every] == ["vitis-7", "vitis-8", "vitis-9"]
    assert [t.spec.seed for t in every] == [7, 8, 9]


def test_every_combination_is_a_variant(spec):
    made = variants(spec("vary: {system.name: [vitis, rvr], peers: [20, 30]}\n"))
    assert [v.name for v in made] == ["vitis.peers=20", "vitis.peers=30", "rvr.peers=20", "rvr.peers=30"]
    assert made[2].values == {"system.name": "rvr", "peers": 20}
    assert made[1].spec.peers == 30
    assert made[3].spec.system.name == "rvr"


def test_parameters_of_a_variant_have_the_defaults_of_its_own_system(spec):
    vitis, rvr = variants(spec("vary: {system.name: [vitis, rvr]}\n"))
    assert "friends" in vitis.spec.system.parameters
    assert "friends" not in rvr.spec.system.parameters


def test_a_default_that_follows_a_varied_parameter_follows_it_in_each_variant(spec):
    made = variants(spec("vary: {system.parameters.routing_table: [15, 35]}\n"))
    assert [v.spec.system.parameters["friends"] for v in made] == [12, 32]


def test_a_whole_system_can_be_varied(spec):
    more = "vary: {system: [{name: vitis, parameters: {friends: 4}}, {name: vitis}, {name: rvr}]}\n"
    made = variants(spec(more))
    assert [v.name for v in made] == ["vitis.friends=4", "vitis", "rvr"]
    assert [v.spec.system.parameters.get("friends") for v in made] == [4, 12, None]


def test_a_varied_kind_drops_what_it_does_not_know(spec):
    made = variants(
        spec("network: {latency: {hosts: 100}}\nvary: {network.latency.kind: [king, constant]}\n")
    )
    assert [v.name for v in made] == ["vitis.king", "vitis.constant"]
    assert made[0].spec.network.latency.hosts == 100
    assert made[1].spec.network.latency.rtt == 0.1


def test_names_are_different_and_safe_in_file_systems(spec):
    poisson = "{kind: poisson, mean_session: 1 h, mean_gap: 90 s}"
    values = f"[{poisson}, {{kind: pareto, mean_session: 1 h, mean_gap: 1 h}}]"
    made = variants(spec(f"vary: {{churn.model: {values}, network.jitter: [1 ms, 0.0011 s, 2 ms]}}\n"))
    names = [v.name for v in made]
    assert len({name.lower() for name in names}) == len(made) == 6
    assert all(re.fullmatch(r"[A-Za-z0-9._=+-]{1,100}", name) for name in names)
    assert names[0] == "vitis.poisson.mean_session=1h.mean_gap=90s.jitter=1ms"


def test_a_long_name_is_cut_but_stays_distinct(spec):
    titles = ", ".join(
        f"{{name: vitis, parameters: {{friends: {n}, view: 30, stale_after: 7, relay_lifetime: 8, "
        f"gateway_hops: 3, routing_table: 20, links: both, pull_timeout: 2 s}}}}"
        for n in (4, 5)
    )
    names = [v.name for v in variants(spec(f"vary: {{system: [{titles}]}}\n"))]
    assert len(set(names)) == 2
    assert all(len(name) <= 100 for name in names)


def test_the_first_value_stands_in_for_a_varied_key_that_is_missing(tmp_path):
    (tmp_path / "a.yaml").write_text(
        BASE.replace("system: {name: vitis}\npeers: 20\n", "vary: {peers: [20], system.name: [rvr]}\n")
    )
    spec = load(tmp_path / "a.yaml")
    assert (spec.peers, spec.system.name) == (20, "rvr")


def test_values_that_look_alike_still_get_names_of_their_own():
    alike = [("vitis", {"network.jitter": text}) for text in ("1 ms", "1  ms")]
    assert _names(alike) == ["vitis.jitter=1ms", "vitis.jitter=1ms.2"]
