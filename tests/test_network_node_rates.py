"""Rates of links from the nodes of a graph of a network."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_experiment_load import problems

from emulator.experiment.file.document import ExperimentError
from emulator.experiment.file.load import load
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.file.variants import trials
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.run.runs import make_run, open_run
from emulator.network.bandwidth_spec import Bandwidth
from emulator.runtime.plan_script import network_of
from trellis.campaign.drawing import campaign_of

GRAPH = """\
graph [
  directed 0
  node [ id 0 label "a" host_bandwidth_up "10 Mbit" host_bandwidth_down "1 Gbit" ]
  node [ id 1 label "b" host_bandwidth_up "1 Mbit" host_bandwidth_down "1 Mbit" ]
  node [ id 2 label "c" host_bandwidth_up "10000 Kbit" host_bandwidth_down "1000 megabit" ]
  edge [ source 0 target 1 latency "10 ms" packet_loss 0.0 ]
  edge [ source 1 target 2 latency "20 ms" packet_loss 0.0 ]
]
"""
FILE = """\
name: nodes
system: chord
peers: 30
network:
  latency: {kind: graph, file: network.gml}
  bandwidth: {queue: 200 ms, nodes: {file: network.gml}}
workload: {lookups: {rate: 1}}
"""


def experiment(folder: Path, graph: str = GRAPH, text: str = FILE) -> Path:
    (folder / "network.gml").write_text(graph)
    path = folder / "nodes.yaml"
    path.write_text(text)
    return path


def bandwidth(spec: TrialSpec) -> Bandwidth:
    assert spec.network.bandwidth is not None
    return spec.network.bandwidth


def test_each_peer_has_the_rates_of_its_node(tmp_path: Path) -> None:
    spec = load(experiment(tmp_path))
    assert [(each.name, each.places, each.up, each.down) for each in bandwidth(spec).classes] == [
        ("10-mbit-up-1-gbit-down", [0, 2], 10_000_000, 1_000_000_000),
        ("1-mbit-up-1-mbit-down", [1], 1_000_000, 1_000_000),
    ]
    plan = draw_plan(spec)
    rows = plan.peers.to_pylist()
    assert {row["location"] for row in rows} == {0, 1, 2}
    assert all(row["link_class"] == (1 if row["location"] == 1 else 0) for row in rows)
    assert network_of(spec, plan).link_classes == [row["link_class"] for row in rows]


def test_a_run_needs_the_rates_of_the_file_no_more(tmp_path: Path) -> None:
    spec = load(experiment(tmp_path))
    run = make_run(spec, tmp_path / "run")
    (tmp_path / "network.gml").unlink()
    _, again = open_run(run.path)
    assert bandwidth(again).classes == bandwidth(spec).classes and again == spec


def test_a_run_over_several_files_of_rates_is_opened_again(tmp_path: Path) -> None:
    (tmp_path / "faster.gml").write_text(GRAPH.replace("10 Mbit", "30 Mbit"))
    both = "[[network.gml, network.gml], [faster.gml, faster.gml]]"
    varied = f'vary: {{"network.latency.file, network.bandwidth.nodes.file": {both}}}\n'
    spec = load(experiment(tmp_path, text=FILE + varied))
    _, again = open_run(make_run(spec, tmp_path / "run").path)
    rates = [bandwidth(trial.spec).classes[0].up for trial in trials(again)]
    assert rates == [10_000_000, 30_000_000]
    assert [trial.spec for trial in trials(again)] == [trial.spec for trial in trials(spec)]


NODES_GIVEN = "nodes: {file: network.gml}"
TABLE = "city;up;up2;down\na;1;2;10\nb;3;4;20\n"


@pytest.mark.parametrize(
    ("given", "varied", "rates"),
    [
        (
            NODES_GIVEN,
            "network.bandwidth.nodes.up: [host_bandwidth_up, host_bandwidth_down]",
            [[10_000_000, 1_000_000], [1_000_000_000, 1_000_000]],
        ),
        (
            NODES_GIVEN,
            "network.bandwidth.nodes.up: [host_bandwidth_up, null]",
            [[10_000_000, 1_000_000], [None] * 2],
        ),
        (
            "table: {file: t.csv, up: up}",
            "network.bandwidth.table.up: [up, up2]",
            [[10**6, 3 * 10**6], [2 * 10**6, 4 * 10**6]],
        ),
        (
            "table: {file: t.csv, up: up}",
            "network.bandwidth.table.unit: [Mbit/s, Gbit/s]",
            [[10**6, 3 * 10**6], [10**9, 3 * 10**9]],
        ),
    ],
)
def test_each_variant_reads_the_file_with_its_own_keys(
    tmp_path: Path, given: str, varied: str, rates: list[list[int | None]]
) -> None:
    (tmp_path / "t.csv").write_text(TABLE)
    text = FILE.replace(NODES_GIVEN, given) + f"vary: {{{varied}}}\n"
    spec = load(experiment(tmp_path, text=text))
    made = trials(spec)
    assert [[each.up for each in bandwidth(trial.spec).classes] for trial in made] == rates
    for trial in made:
        assert draw_plan(trial.spec).peers.num_rows == 30
    run = make_run(spec, tmp_path / "run")
    _, again = open_run(run.path)
    assert again == spec == load(run.experiment)
    assert [trial.spec for trial in trials(again)] == [trial.spec for trial in made]
    (tmp_path / ("t.csv" if "table" in given else "network.gml")).unlink()
    assert [trial.spec for trial in trials(open_run(run.path)[1])] == [trial.spec for trial in made]


def test_a_run_that_varies_the_file_itself_needs_no_file_when_it_is_opened(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(TABLE)
    (tmp_path / "b.csv").write_text(TABLE.replace("20", "30"))
    given = "table: {up: up, down: down}"
    for varied in (
        "network.bandwidth.table.file: [a.csv, b.csv]",
        "network.bandwidth.table: [{file: a.csv, down: down}, {file: b.csv, down: down}]",
        "network.bandwidth: [{up: 1 Mbit/s}, {table: {file: b.csv, up: up}}]",
    ):
        (tmp_path / "a.csv").write_text(TABLE)
        (tmp_path / "b.csv").write_text(TABLE.replace("20", "30"))
        spec = load(experiment(tmp_path, text=FILE.replace(NODES_GIVEN, given) + f"vary: {{{varied}}}\n"))
        made = [trial.spec for trial in trials(spec)]
        run = make_run(spec, tmp_path / f"run-{len(varied)}")
        (tmp_path / "a.csv").unlink()
        (tmp_path / "b.csv").write_text("another file")
        _, again = open_run(run.path)
        assert [trial.spec for trial in trials(again)] == made and again == spec


def test_experiments_without_varied_files_have_no_key_of_what_was_read(tmp_path: Path) -> None:
    spec = load(experiment(tmp_path))
    assert "rates_read" not in make_run(spec, tmp_path / "run").experiment.read_text()


def test_a_campaign_draws_how_the_file_is_read(tmp_path: Path) -> None:
    drawn = "draw: {network.bandwidth.nodes.up: {any: [host_bandwidth_up, host_bandwidth_down]}}\n"
    text = FILE + drawn + "expect: [lookup_hops < 100]\n"
    file = experiment(tmp_path, text=text)
    made = trials(campaign_of(load(file), file, 10))
    assert {bandwidth(trial.spec).classes[0].up for trial in made} == {10_000_000, 1_000_000_000}


def test_the_nodes_are_those_of_the_latency(tmp_path: Path) -> None:
    text = FILE.replace(NODES_GIVEN, "nodes: {file: other.gml}")
    (tmp_path / "other.gml").write_text(GRAPH)
    assert len(bandwidth(load(experiment(tmp_path, text=text))).classes) == 2
    (tmp_path / "other.gml").write_text(GRAPH.replace("10 Mbit", "30 Mbit"))
    (found,) = problems(experiment(tmp_path, text=text))
    assert found.startswith("nodes.yaml:6: network.bandwidth.nodes.file: is another file than ")
    assert (
        "network.gml of `network.latency`, at whose nodes the peers stand. Name that file. To vary" in found
    )


def test_a_varied_latency_takes_its_nodes_along(tmp_path: Path) -> None:
    (tmp_path / "other.gml").write_text(GRAPH.replace("10 Mbit", "30 Mbit"))
    varied = "vary: {network.latency.file: [network.gml, other.gml]}\n"
    (found,) = problems(experiment(tmp_path, text=FILE + varied))
    assert 'vary "network.latency.file, network.bandwidth.nodes.file", as one entry' in found
    assert "other.gml)" in found


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("100 Mbit", 100_000_000),
        ("100Mbit", 100_000_000),
        ("1 Gbit", 10**9),
        ("8 Kibit", 8192),
        ("1 gibibit", 2**30),
        ("2 kilobit", 2000),
        ("1.5 Mbit/s", 1_500_000),
        ("64000 bit", 64_000),
        ("64000", 64_000),
    ],
)
def test_rates_have_the_units_of_shadow(tmp_path: Path, text: str, bits: int) -> None:
    spec = load(
        experiment(tmp_path, GRAPH.replace('host_bandwidth_up "1 Mbit"', f'host_bandwidth_up "{text}"'))
    )
    assert bandwidth(spec).classes[1].up == bits


def test_other_attributes_and_one_way_alone_may_be_named(tmp_path: Path) -> None:
    graph = GRAPH.replace("host_bandwidth_up", "bandwidth_up")
    given = "nodes: {file: network.gml, up: bandwidth_up, down: null}"
    spec = load(experiment(tmp_path, graph, FILE.replace("nodes: {file: network.gml}", given)))
    assert [(each.name, each.up, each.down) for each in bandwidth(spec).classes] == [
        ("10-mbit-up", 10_000_000, None),
        ("1-mbit-up", 1_000_000, None),
    ]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (' host_bandwidth_up "1 Mbit"', "", 'network.gml:4: the node has no "host_bandwidth_up", which'),
        (
            '"1 Mbit"',
            '"1 MB"',
            "network.gml:4: host_bandwidth_up is '1 MB', which is no rate. Write a number and",
        ),
        ('"1 Mbit"', '"fast"', 'such as "100 Mbit"'),
        ('"1 Mbit"', '"0 Mbit"', "network.gml:4: host_bandwidth_up is"),
        ('"1 Mbit"', '"-1 Mbit"', "network.gml:4: host_bandwidth_up is"),
    ],
)
def test_rates_that_are_none_are_told_with_their_line(tmp_path: Path, old: str, new: str, told: str) -> None:
    assert old in GRAPH
    (found,) = problems(experiment(tmp_path, GRAPH.replace(old, new, 1)))
    assert found.startswith("nodes.yaml:6: network.bandwidth: ") and told in found


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "nodes: {file: network.gml}",
            "nodes: {}",
            "network.bandwidth.nodes.file: is not given. Name the graph",
        ),
        ("{file: network.gml}}", "{file: other.gml}}", "there is no such file"),
        (
            "{file: network.gml}}",
            "{file: network.gml, up: null, down: null}}",
            "neither `up` nor `down` names",
        ),
        (
            "{file: network.gml}}",
            "{file: network.gml}, table: {file: network.gml, up: x}}",
            "both `table` and `nodes` are given. Give one",
        ),
        (
            "{kind: graph, file: network.gml}",
            "{kind: constant, rtt: 10 ms}",
            "network.bandwidth.nodes: needs `network.latency: {kind: graph, file: network.gml}`, at whose "
            "nodes peers stand, but it is another latency",
        ),
        (
            "nodes: {file: network.gml}",
            "classes: [{name: a, places: [0, 1], up: 1 Mbit/s}]",
            "network.bandwidth.classes: the peers of other roles, regions and places have no class",
        ),
    ],
)
def test_nodes_that_cannot_be_are_refused(tmp_path: Path, old: str, new: str, told: str) -> None:
    assert old in FILE
    found = problems(experiment(tmp_path, text=FILE.replace(old, new)))
    assert told in found[0], found


@pytest.mark.parametrize("read", ["5", "[5]", "[{}]", "[{table: {file: a.csv}}]"])
def test_rates_that_were_read_by_nobody_break_nothing(tmp_path: Path, read: str) -> None:
    text = f"{FILE}rates_read: {read}\nvary: {{network.bandwidth.nodes.up: [host_bandwidth_up, null]}}\n"
    try:
        load(experiment(tmp_path, text=text))
    except ExperimentError as error:
        assert "rates_read" in str(error)
