"""Experiment files: what they may say, and how their errors are told."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.experiment.file.document import ExperimentError
from emulator.experiment.file.load import load
from emulator.experiment.file.resolved import resolved_yaml
from emulator.experiment.file.spec import ExperimentSpec

EXPERIMENTS = Path(__file__).parents[1] / "experiments"

SMALL = """\
name: small
system: {name: vitis}
peers: 20
workload:
  subscriptions: {kind: random, topics: 100, per_peer: 10, buckets: 10}
"""


@pytest.fixture
def write(tmp_path):
    def _write(text: str) -> Path:
        path = tmp_path / "experiment.yaml"
        path.write_text(text)
        return path

    return _write


def problems(path: Path, *options: str) -> list[str]:
    """Return the problems of a file, without the folder."""
    with pytest.raises(ExperimentError) as caught:
        load(path, options)
    return [str(problem).replace(f"{path.parent}/", "") for problem in caught.value.problems]


def test_defaults_are_filled_in(write):
    spec = load(write(SMALL))
    assert spec.phases.end == 80
    assert spec.system.parameters["friends"] == 12
    assert spec.runtime.kind == "virtual"


def test_all_problems_are_told_at_once_with_their_lines(write, monkeypatch):
    monkeypatch.delenv("NOWHERE", raising=False)
    path = write(
        """\
name: My Experiment
peers: "200"
sytem: {name: vitis}
system:
  name: vitiss
network:
  latency: {kind: kingg}
  jitter: 30
workload:
  subscriptions: {kind: edges, file: missing.edges}
  publications: {event: 3, payload_bytes: 1e3}
churn:
  model: {kind: trace, file: "${NOWHERE}/skype.avt"}
  flash_crowd: {at: 5 s, peers: 0}
runtime: {kind: virtual, hosts: 3}
peers: 100
vary:
  peers: [10, many, 1]
  phases.settel: [1 s]
  churn.graceful: []
  seed: [1, 2]
"""
    )
    told = problems(path)
    expected = [
        ("1", "name", "small letters"),
        ("2", "peers", "has to be a whole number"),
        ("3", "sytem", 'Did you mean "system"'),
        ("5", "system.name", 'Did you mean "vitis"'),
        ("7", "network.latency", 'Did you mean "king"'),
        ("8", "network.jitter", "a duration needs a number and a unit"),
        ("10", "workload.subscriptions.file", "no such file"),
        ("11", "workload.publications.event", 'Did you mean "events"'),
        ("11", "workload.publications.payload_bytes", "Write 1000"),
        ("13", "churn.model.file", "environment variable NOWHERE is not set"),
        ("14", "churn.flash_crowd.peers", "at least 1"),
        ("15", "runtime.hosts", "belongs to kind processes"),
        ("16", "peers", "is there twice, first in line 2"),
        ("18", "vary.peers[1]", "has to be a whole number"),
        ("18", "vary.peers[2]", "at least 2"),
        ("19", "vary.phases.settel", 'Did you mean "phases.settle"'),
        ("20", "vary.churn.graceful", "has no values"),
        ("21", "vary.seed", "cannot be varied"),
    ]
    for line, key, text in expected:
        start = f"experiment.yaml:{line}: {key}: "
        assert any(p.startswith(start) and text in p for p in told), (start, text, told)
    assert len(told) == len(expected)


@pytest.mark.parametrize(
    ("text", "line"),
    [("name: [", 1), ("name: x\npeers: a: b\n", 2), ("name: x\nsystem: &a [*a]\n", 2), ("", 1), ("- 1\n", 1)],
)
def test_what_is_not_an_experiment_names_the_line(write, text, line):
    assert problems(write(text))[0].startswith(f"experiment.yaml:{line}: ")


def test_missing_keys_are_named(write):
    assert {p.split(": ")[1] for p in problems(write("name: x\n"))} == {"peers", "system", "workload"}


def test_a_file_that_is_not_there_or_not_text_is_told(tmp_path):
    assert "no such file" in problems(tmp_path / "nothing.yaml")[0]
    (tmp_path / "bytes.yaml").write_bytes(b"name: x\ntitle: \xff\n")
    assert problems(tmp_path / "bytes.yaml")[0].startswith("bytes.yaml:2: is not UTF-8")


def test_infinite_numbers_are_refused(write):
    told = problems(write(SMALL + "network: {loss: .nan}\nchurn: {graceful: .inf}\n"))
    assert [re.match(r"[^ ]+ ([^ ]+):", p)[1] for p in told] == ["network.loss", "churn.graceful"]


def test_an_option_overrides_a_key_with_the_type_of_yaml(write):
    options = [
        "peers=30",
        "system.parameters.friends=4",
        "phases.measure=5 s",
        "title=A b",
        "network.jitter=2 ms",
    ]
    spec = load(write(SMALL), options)
    assert (spec.peers, spec.system.parameters["friends"], spec.phases.measure, spec.title) == (
        30,
        4,
        5,
        "A b",
    )
    assert spec.network.jitter == 0.002


def test_errors_in_options_name_the_option(write):
    told = problems(
        write(SMALL), "peers=many", "pers=3", "peers.x=1", "nonsense", "system.parameters.frends=3"
    )
    assert [p.split(": ")[0] for p in told] == [
        "--set nonsense",
        "--set peers.x=1",
        "--set peers=many",
        "--set pers=3",
        "--set system.parameters.frends=3",
    ]
    assert 'Did you mean "friends"' in told[4]


def test_an_option_pins_a_key_that_the_file_varies(write):
    spec = load(write(SMALL + "vary: {peers: [20, 40]}\n"), ["peers=50"])
    assert spec.peers == 50
    assert spec.vary == {}


def test_an_option_may_set_what_is_varied(write):
    assert load(write(SMALL), ["vary.peers=[20, 40]"]).vary == {"peers": [20, 40]}


def test_a_part_of_a_varied_key_cannot_be_set_alone(write):
    path = write(SMALL + "vary:\n  system: [{name: vitis}, {name: rvr}]\n")
    assert 'is a part of "system", which the file varies' in problems(path, "system.name=rvr")[0]


def test_parameters_are_checked_for_the_system_of_every_variant(write):
    path = write(
        SMALL.replace("vitis", "vitis, parameters: {friends: 4}") + "vary: {system.name: [vitis, rvr]}\n"
    )
    (told,) = problems(path)
    assert told.startswith("experiment.yaml:2: system.parameters.friends: is not a parameter of rvr.")
    assert "system.name=rvr" in told


def test_impossible_combinations_are_refused_in_the_variant_that_has_them(write):
    path = write(SMALL + "runtime: {kind: processes, hosts: 10}\nvary: {peers: [5, 20]}\n")
    (told,) = problems(path)
    assert told.startswith("experiment.yaml:6: runtime.hosts: is 10, but there are only 5 peers")


def test_plan_inputs_are_checked_with_their_lines(write):
    (told,) = problems(write(SMALL + "churn:\n  flash_crowd: {at: 1 h, peers: 3}\n"))
    assert told.startswith("experiment.yaml:7: churn.flash_crowd.at: ")


def test_too_many_trials_are_refused(write):
    path = write(SMALL + "repeat: 1000\nvary: {peers: [20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30]}\n")
    assert "makes 11000 trials" in problems(path)[0]


def test_files_are_found_beside_the_experiment_and_by_environment(write, tmp_path, monkeypatch):
    (tmp_path / "a.edges").write_text("1 2\n2 1\n3 1\n")
    text = SMALL.replace("kind: random, topics: 100, per_peer: 10, buckets: 10", "kind: edges, file: FILE")
    beside = load(write(text.replace("FILE", "a.edges").replace("20", "3")))
    assert beside.workload.subscriptions.file == tmp_path / "a.edges"
    monkeypatch.setenv("FOLDER", str(tmp_path))
    path = write(text.replace("FILE", '"${FOLDER}/a.edges"').replace("20", "3"))
    assert load(path).workload == beside.workload


def test_a_file_of_an_option_is_found_from_the_current_folder(write, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "a.edges").write_text("1 2\n2 1\n")
    monkeypatch.chdir(tmp_path / "here")
    spec = load(write(SMALL), ["peers=2", "workload.subscriptions={kind: edges, file: a.edges}"])
    assert spec.workload.subscriptions.file == tmp_path / "here" / "a.edges"


def test_a_bad_line_in_a_named_file_is_told_before_anything_runs(write, tmp_path):
    (tmp_path / "bad.edges").write_text("1 2\n2\n")
    path = write(
        SMALL.replace("kind: random, topics: 100, per_peer: 10, buckets: 10", "kind: edges, file: bad.edges")
    )
    (told,) = problems(path)
    assert told.startswith("experiment.yaml:5: workload.subscriptions.file: cannot be used: bad.edges:2")


def test_a_file_may_be_gone_when_a_run_is_opened_again(write, tmp_path):
    path = write(
        SMALL.replace("kind: random, topics: 100, per_peer: 10, buckets: 10", "kind: edges, file: gone")
    )
    assert load(path, check_files=False).workload.subscriptions.file == tmp_path / "gone"


def test_a_kind_may_be_left_out_where_it_has_a_default(write):
    assert load(write(SMALL + "network: {latency: {hosts: 50}}\n")).network.latency.kind == "king"


def test_a_resolved_file_says_everything_and_loads_to_the_same(write, tmp_path):
    spec = load(write(SMALL + "vary: {churn.model.kind: [static, skype], peers: [20, 30]}\n"))
    text = resolved_yaml(spec)
    assert "gateway_hops: 5" in text
    assert "unreachable_after: 2 s" in text
    (tmp_path / "resolved.yaml").write_text(text)
    assert load(tmp_path / "resolved.yaml") == spec


durations = st.one_of(
    st.integers(1, 3_600_000).map(lambda ms: f"{ms} ms"),
    st.floats(1e-3, 3600).map(lambda s: f"{s!r} s"),
)


@settings(deadline=None, max_examples=60)
@given(
    st.fixed_dictionaries(
        {
            "peers": st.integers(2, 200_000),
            "seed": st.integers(0, 2**63 - 1),
            "network.loss": st.floats(0, 0.99),
            "phases.measure": durations,
            "title": st.text(max_size=30).filter(lambda t: t.isprintable()),
            "churn.model": st.sampled_from(
                ["{kind: static}", "{kind: poisson, mean_session: 9 h, mean_gap: 9 h}"]
            ),
            "vary.network.jitter": st.lists(durations, min_size=1, max_size=3, unique=True),
        }
    )
)
def test_any_spec_survives_being_written_and_loaded(tmp_path_factory, values):
    folder = tmp_path_factory.mktemp("round", numbered=True)
    (folder / "a.yaml").write_text(SMALL)
    options = [f"{key}={_yaml(value)}" for key, value in values.items()]
    spec = load(folder / "a.yaml", options)
    (folder / "b.yaml").write_text(resolved_yaml(spec), encoding="utf-8")
    assert load(folder / "b.yaml") == spec
    assert spec.title == values["title"]


def _yaml(value: object) -> str:
    return (
        value
        if isinstance(value, str) and value.startswith("{kind")
        else json.dumps(value, ensure_ascii=False)
    )


@pytest.mark.parametrize(
    "path", sorted(EXPERIMENTS.rglob("*.yaml")), ids=lambda p: str(p.relative_to(EXPERIMENTS))
)
def test_ready_experiments_are_valid(path, monkeypatch):
    monkeypatch.setenv("TRELLIS_DATA", "/data")
    assert isinstance(load(path, check_files=False), ExperimentSpec)


@pytest.mark.parametrize(
    ("given", "number"),
    [
        *(("128 kB", 128_000), ("128KiB", 131_072), ("131072", 131_072), ("1.5 kB", 1500)),
        *(("abc", 131_072), ("-1 kB", 131_072), (1.5, 131_072)),
    ],
)
def test_a_size_of_events_is_told_in_bytes(write, given, number):
    key, told = "workload.publications", "a whole number of bytes, such as"
    (found,) = problems(write(SMALL), f"{key}.payload_bytes={given!r}")
    assert found.endswith(f"but has to be {told} {number}")
    (found,) = problems(write(SMALL), f"{key}.size={given!r}")
    assert found.endswith(f"is not a known key. The size of an event is {told} payload_bytes: {number}")


@pytest.mark.parametrize("key", ["workload.broadcast.bytes", "workload.broadcast.bytes.least"])
def test_a_size_of_broadcast_messages_is_told_in_bytes(write, key):
    found = problems(write(SMALL), "workload={broadcast: {rate: 1}}", f"{key}=128 kB")
    assert any(each.endswith("but has to be a whole number of bytes, such as 128000") for each in found)
