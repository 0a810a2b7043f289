"""Sweeps that change several keys together: what they make, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.experiment.file.document import ExperimentError
from emulator.experiment.file.load import load
from emulator.experiment.file.resolved import resolved_yaml
from emulator.experiment.file.spec import ExperimentSpec
from emulator.experiment.file.variants import trials, variants

BASE = """\
name: small
system: {name: vitis}
peers: 20
workload:
  subscriptions: {kind: random, topics: 100, per_peer: 10, buckets: 10}
"""
SIZES = 'vary: {"peers, system.parameters.routing_table": [[20, 15], [30, 16]]}\n'
Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(more: str) -> Path:
        path = tmp_path / "experiment.yaml"
        path.write_text(BASE + more)
        return path

    return write


def found(path: Path, *options: str) -> list[str]:
    """Return the problems, without the folder."""
    with pytest.raises(ExperimentError) as caught:
        load(path, options)
    return [str(problem).replace(f"{path.parent}/", "") for problem in caught.value.problems]


def test_keys_that_are_varied_together_change_together(write: Write) -> None:
    made = variants(load(write(SIZES)))
    assert [v.name for v in made] == ["vitis.peers=20.routing_table=15", "vitis.peers=30.routing_table=16"]
    assert [(v.spec.peers, v.spec.system.parameters["routing_table"]) for v in made] == [(20, 15), (30, 16)]
    assert made[1].values == {"peers": 30, "system.parameters.routing_table": 16}


def test_other_keys_are_combined_with_them(write: Write) -> None:
    more = 'vary: {"peers, network.loss": [[20, 0], [30, 0.1]], system.name: [vitis, rvr]}\n'
    made = variants(load(write(more)))
    assert [(v.spec.peers, v.spec.network.loss, v.spec.system.name) for v in made] == [
        *((20, 0.0, "vitis"), (20, 0.0, "rvr")),
        *((30, 0.1, "vitis"), (30, 0.1, "rvr")),
    ]


@settings(deadline=None, max_examples=30)
@given(
    together=st.lists(
        st.tuples(st.integers(2, 50), st.integers(1, 9), st.integers(1, 9)),
        min_size=1,
        max_size=6,
        unique=True,
    ),
    jitters=st.lists(st.integers(0, 99), min_size=1, max_size=3, unique=True),
    space=st.sampled_from(["", " "]),
)
def test_each_list_of_values_is_a_variant_with_all_of_them(
    tmp_path_factory: pytest.TempPathFactory,
    together: list[tuple[int, int, int]],
    jitters: list[int],
    space: str,
) -> None:
    folder = tmp_path_factory.mktemp("together", numbered=True)
    keys = ("peers", "workload.publications.events", "system.parameters.gateway_hops")
    entry = f",{space}".join(keys)
    vary: dict[str, list[Any]] = {
        entry: [list(values) for values in together],
        "network.jitter": [f"{jitter} ms" for jitter in jitters],
    }
    (folder / "a.yaml").write_text(f"{BASE}repeat: 2\nvary: {json.dumps(vary)}\n")
    spec = load(folder / "a.yaml")
    made = variants(spec)
    assert [tuple(v.values[key] for key in keys) for v in made[:: len(jitters)]] == together
    assert [v.spec.peers for v in made] == [peers for peers, *_ in together for _ in jitters]
    assert len({trial.name for trial in trials(spec)}) == 2 * len(together) * len(jitters)
    (folder / "b.yaml").write_text(resolved_yaml(spec))
    again = load(folder / "b.yaml")
    assert again == spec and trials(again) == trials(spec)


def test_the_first_values_stand_in_for_keys_that_are_missing(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    base = BASE.replace("system: {name: vitis}\npeers: 20\n", "")
    path.write_text(base + 'vary: {"peers, system.name": [[20, rvr], [30, vitis]]}\n')
    spec = load(path)
    assert (spec.peers, spec.system.name) == (20, "rvr")
    text = resolved_yaml(spec)
    assert "# The system of each variant" in text and "routing_table" not in text.partition("\n# The")[0]


def test_files_that_are_varied_together_are_found_beside_the_experiment(write: Write, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.edges").write_text("1 2\n2 1\n")
    entry = '"peers, workload.subscriptions"'
    values = ", ".join(f"[{n}, {{kind: edges, file: {name}.edges}}]" for n, name in ((2, "a"), (2, "b")))
    made = variants(load(write(f"vary: {{{entry}: [{values}]}}\n")))
    assert [v.spec.workload.subscriptions.file for v in made] == [tmp_path / "a.edges", tmp_path / "b.edges"]
    (tmp_path / "b.edges").unlink()
    (told,) = found(tmp_path / "experiment.yaml")
    assert told.startswith("experiment.yaml:6: vary.peers, workload.subscriptions[1][1].file: ")


@pytest.mark.parametrize(
    ("options", "peers", "vary"),
    [
        (["peers=50"], [50], {}),
        (["system.parameters.routing_table=17"], [20], {}),
        (["system.parameters={}"], [20], {}),
        (["vary.peers=[40, 50]"], [40, 50], {"peers": [40, 50]}),
        (["vary.network.loss=[0]"], [20, 30], None),
    ],
)
def test_an_option_drops_a_key_with_all_that_is_varied_with_it(
    write: Write, options: list[str], peers: list[int], vary: dict[str, Any] | None
) -> None:
    spec: ExperimentSpec = load(write(SIZES), options)
    assert [v.spec.peers for v in variants(spec)] == peers
    if vary is not None:
        assert spec.vary == vary
        assert {v.spec.system.parameters["routing_table"] for v in variants(spec)} <= {15, 17}


def test_an_option_varies_keys_together(write: Write) -> None:
    spec = load(write(""), ["vary.peers, network.loss=[[20, 0], [30, 0.5]]"])
    assert [(v.spec.peers, v.spec.network.loss) for v in variants(spec)] == [(20, 0.0), (30, 0.5)]


def test_a_part_of_a_key_that_is_varied_with_others_cannot_be_set_alone(write: Write) -> None:
    path = write('vary: {"system, peers": [[{name: vitis}, 20], [{name: rvr}, 30]]}\n')
    (told,) = found(path, "system.name=rvr")
    assert told.endswith('is a part of "system", which the file varies. Set vary.system, peers instead')


LOSS = "peers, network.loss"


@pytest.mark.parametrize(
    ("vary", "expected"),
    [
        ({"peers, phases.settel": [[20, "1 s"]]}, [(7, "", '"phases.settel": there is no such key. Did')]),
        ({"peers, loss": [[20, 0]]}, [(7, "", '"loss": there is no such key. loss belongs to network')]),
        ({"churn.jitter": [0]}, [(7, "", "there is no such key. jitter belongs to network")]),
        ({"peers, ": [[20, 1]]}, [(7, "", '"": there is no such key')]),
        ({"peers, repeat": [[20, 1]]}, [(7, "", '"repeat": cannot be varied')]),
        ({"name.x, peers": [[1, 20]]}, [(7, "", '"name.x": cannot be varied')]),
        ({"system, system.name": [[{}, "x"]]}, [(7, "", '"system.name": is a part of "system"')]),
        ({"peers, peers": [[20, 30]]}, [(7, "", 'varies "peers" twice')]),
        ({LOSS: [[20, 0]], "peers": [30]}, [(7, "", 'varies "peers" twice'), (8, "", "twice")]),
        ({LOSS: []}, [(7, "", "has no values")]),
        ({LOSS: [[20, 0], [20, 0]]}, [(7, "", "has the value [20, 0] twice")]),
        ({LOSS: [[20, 0], 30]}, [(7, "[1]", "has to be a list of 2 values, one for each of peers, network")]),
        ({LOSS: [[20], [20, 0, 1]]}, [(7, "[0]", "a list of 2"), (7, "[1]", "a list of 2")]),
        ({LOSS: [[20, 0], [1, 7]]}, [(7, "[1][0]", "at least 2"), (7, "[1][1]", "below 1")]),
    ],
)
def test_what_cannot_be_varied_together_is_refused_with_its_line(
    write: Write, vary: dict[str, list[Any]], expected: list[tuple[int, str, str]]
) -> None:
    lines = [f"  {json.dumps(entry)}: {json.dumps(values)}" for entry, values in vary.items()]
    told = found(write("vary:\n" + "\n".join(lines) + "\n"))
    assert len(told) == len(expected), told
    for line, place, text in expected:
        start = f"experiment.yaml:{line}: vary.{list(vary)[line - 7]}{place}: "
        assert any(one.startswith(start) and text in one for one in told), (start, text, told)
