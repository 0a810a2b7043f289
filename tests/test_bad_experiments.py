"""Experiment files and options that no trial can be made of: a message with file and line, at once."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from analysis.claims.papers import CLAIMS
from emulator.experiment.file.document import ExperimentError
from emulator.experiment.file.known_claims import KNOWN_CLAIMS
from emulator.experiment.file.load import load
from emulator.experiment.file.spec import ExperimentSpec
from emulator.experiment.file.variants import variants
from trellis.command.cli import app

pytestmark = pytest.mark.timeout(60)

GOOD = """\
name: small
system: {name: vitis}
peers: 20
phases: {join: 10 s, settle: 30 s, measure: 30 s, drain: 10 s}
network: {latency: {kind: king, hosts: 50}, jitter: 1 ms}
workload:
  subscriptions: {kind: random, topics: 100, per_peer: 10, buckets: 10}
  publications: {events: 20, rates: {kind: power-law, alpha: 1.0}}
churn: {model: {kind: poisson, mean_session: 1 h, mean_gap: 1 h}}
vary: {network.loss: [0, 0.1]}
"""
LIMIT_S = 2.0
"""Seconds of processor time in which bad input is refused."""


def refused(arguments: list[str], limit: float = LIMIT_S) -> str:
    """Return what the command says while it refuses this with exit status 2."""
    began = time.process_time()
    result: Result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    told = result.stdout + result.stderr
    assert result.exit_code == 2, told
    assert time.process_time() - began < limit
    assert "Traceback" not in told
    assert ".log)" not in told, "it was not foreseen"
    assert len(told) < 20_000
    return told


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str | bytes], Path]:
    def write(content: str | bytes) -> Path:
        path = tmp_path / "experiment.yaml"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def aliases(kind: str) -> str:
    """Return a text in which each line has what the line before it has, several times."""
    if kind == "lists":
        lines = ["a0: &a0 [x, x]"] + [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 30)]
    elif kind == "merged":
        lines = ["a0: &a0 {k: 1}"]
        lines += [f"a{i}: &a{i} {{<<: *a{i - 1}, x{i}: *a{i - 1}, y: *a{i - 1}}}" for i in range(1, 40)]
    else:
        lines = ["a0: &a0 [x]"] + [f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, 200)]
    return "\n".join(lines) + "\n"


TEXTS = {
    "empty": ("", "an experiment is a mapping"),
    "only a comment": ("# nothing\n", "an experiment is a mapping"),
    "a list": ("- 1\n- 2\n", "an experiment is a mapping"),
    "a word": ("name", "an experiment is a mapping"),
    "two documents": (GOOD + "---\n" + GOOD, "is not YAML"),
    "not UTF-8": (b"name: \xff\xfe\n", "not UTF-8"),
    "UTF-16": ("name: small\n".encode("utf-16"), "not UTF-8"),
    "binary": (bytes(range(256)) * 100, "not UTF-8"),
    "NUL": (GOOD + "\0", "is not YAML"),
    "escape characters": (GOOD + "title: \x1b[31m\n", "is not YAML"),
    "a tab": (GOOD + "\ttitle: x\n", "is not YAML"),
    "an open bracket": (GOOD + "title: [\n", "is not YAML"),
    "an open quote": (GOOD + 'title: "x\n', "is not YAML"),
    "an unknown alias": (GOOD + "title: *nobody\n", "is not YAML"),
    "a loop": (GOOD + "claims: &c [*c]\n", "contains itself"),
    "aliases that multiply": (aliases("lists") + GOOD, "more than 20,000 keys and values"),
    "merges that multiply": (aliases("merged") + GOOD, "more than 20,000 keys and values"),
    "aliases in each other": (aliases("deep") + GOOD, "deeper than 50 levels"),
    "3,000 lists": ("a: " + "[" * 3000 + "]" * 3000 + "\n" + GOOD, "deeper than 50 levels"),
    "3,000 mappings": ("a: " + "{a: " * 3000 + "1" + "}" * 3000 + "\n" + GOOD, "deeper than 50 levels"),
    "1,000 indented keys": ("".join(" " * i + "a:\n" for i in range(1000)), "deeper than 50 levels"),
    "100,000 open brackets": ("[" * 100_000, "deeper than 50 levels"),
    "30,000 values": (GOOD + "claims: [" + "V1," * 30_000 + "]\n", "more than 20,000 keys and values"),
    "a megabyte and more": (GOOD + "#" * 1_000_001, "more than the 1,000,000 bytes"),
    "code": (GOOD + "title: !!python/object/apply:os.system [echo]\n", "is not YAML"),
    "an own tag": (GOOD + "title: !mine x\n", "is not YAML"),
    "a set": (GOOD.replace("peers: 20", "peers: !!set {a}"), "has to be a whole number"),
    "binary data": (GOOD.replace("peers: 20", "peers: !!binary abc"), "is not YAML"),
    "no truth": (GOOD.replace("peers: 20", "peers: !!bool 7"), "no bool"),
    "no number": (GOOD.replace("peers: 20", 'peers: !!int ""'), "no int"),
    "no date": (GOOD.replace("peers: 20", "peers: 2001-99-99"), "no timestamp"),
    "5,000 digits": (GOOD.replace("peers: 20", "peers: " + "9" * 5000), "5,000 characters"),
    "5,000 hexadecimal digits": (GOOD.replace("peers: 20", "peers: 0x" + "f" * 5000), "characters"),
    "a long fraction": (GOOD.replace("0.1]", "0." + "1" * 5000 + "]"), "characters"),
    "a number of another notation": (GOOD.replace("peers: 20", "peers: " + "59:" * 2000 + "1"), "peers"),
    "not a number": (GOOD.replace("jitter: 1 ms", "loss: .nan"), "Write a finite number"),
    "infinity": (GOOD.replace("peers: 20", "peers: -.inf"), "Write a finite number"),
    "half a pair": (GOOD + 'title: "\\ud800"\n', "invalid Unicode character"),
    "half a pair as a key": (GOOD + '"\\ud800": 1\n', "invalid Unicode character"),
    "NUL as a value": (GOOD + 'title: "\\0"\n', "which no text has"),
    "NUL as a key": (GOOD + '"\\0": 1\n', "which no text has"),
    "a list as a key": (GOOD + "[1, 2]: x\n", "a key has to be a word"),
    "a mapping as a key": (GOOD + "? {a: b}\n: x\n", ""),
    "lists in a key": (GOOD + "? [[1], [2]]\n: x\n", "experiment.yaml:11: a key has to be a word"),
    "a key twice": (GOOD + "peers: 30\n", "is there twice"),
    "10,000 unknown keys": ("".join(f"k{i}: 1\n" for i in range(9000)) + GOOD, "8,980 more of the kind"),
    "many keys twice": (GOOD + "peers: 1\n" * 300, "280 more of the kind"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_that_is_no_experiment_is_refused(write: Callable[[str | bytes], Path], name: str) -> None:
    content, told = TEXTS[name]
    assert told in refused(["validate", str(write(content))])


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("peers=1", "at least 2"),
        ("peers=200001", "at most 200,000"),
        ("peers=1e308", "whole number"),
        ("peers=20.5", "whole number"),
        ('peers="20"', "whole number"),
        ("peers=true", "whole number"),
        ("peers=", "whole number"),
        ("peers=[20]", "whole number"),
        ("peers=" + "9" * 90, "at most"),
        ("name=", "text"),
        ("name=Upper", "small letters"),
        ("name=" + "a" * 65, "small letters"),
        ("name=../x", "small letters"),
        ("title=" + "x" * 1001, "title"),
        ("seed=-1", "at least 0"),
        ("seed=9223372036854775808", "seed"),
        ("repeat=0", "at least 1"),
        ("repeat=1001", "at most 1,000"),
        ("claims=[ZZ9]", "no known claim"),
        ("claims=[V1, V1]", "there already"),
        ("claims=V1", "a list"),
        ("claims=" + str(["V1"] * 101), "claims"),
        ("system=[vitis]", "a mapping"),
        ("system.name=vitus", "Did you mean"),
        ("system.parameters=7", "a mapping"),
        ("system.parameters.friend=7", "not a parameter"),
        ("system.parameters.view=1000000000000", "1,000,000,000"),
        ("system.parameters.period=0.001 ms", "1 ms"),
        ("system.parameters.period=1e300 s", "36525 d"),
        ("workload.publications.events=1000000000000", "at most 5,000,000"),
        ("workload.publications.events=-1", "at least 0"),
        ("workload.publications.payload_bytes=1000001", "at most 1,000,000"),
        ("workload.publications.rates.alpha=1e300", "at most 5"),
        ("workload.subscriptions.topics=1000000000000", "at most 10,000,000"),
        ("workload.subscriptions.topics=0", "at least 1"),
        ("workload.subscriptions.per_peer=10001", "at most 10,000"),
        ("workload.subscriptions.per_peer=101", "a bucket has only 100"),
        ("workload.subscriptions.kind=nothing", '"kind" is'),
        ("workload.subscriptions.kind=[high]", "kind"),
        ("workload.roles.relay=1e308", "at most 200,000"),
        ("workload.roles.publisher=20", "publisher"),
        ("workload.clients={per_peer: 10001}", "at most 10,000"),
        ("workload.lookups={rate: 1}", "Keep one of them"),
        ("workload.changes.share=1.5", "at most 1"),
        ("phases.measure=0 s", "at least"),
        ("phases.measure=30", "a duration needs"),
        ("phases.measure=946080000000 s", "36525 d"),
        ("phases.measure=10957500 d", "36525 d"),
        ("phases.join=20000 d", "the longest is 366 d"),
        ("phases.drain=-1 s", "a duration needs"),
        ("phases={}x", "YAML"),
        ("network.latency={kind: constant, rtt: 1e300 s}", "36525 d"),
        ("network.latency={kind: constant, rtt: 2 h}", "at most 3600 s"),
        ("network.latency.mean_rtt=2 h", "at most 3600 s"),
        ("network.latency.hosts=20001", "at most 20,000"),
        ("network.jitter=2 h", "at most 3600 s"),
        ("network.same_host_rtt=2 h", "at most 3600 s"),
        ("network.unreachable_after=2 d", "at most 86400 s"),
        ("network.loss=1", "below 1"),
        ("network.loss=nan", "a number"),
        ("network.loss=.nan", "finite"),
        ("network.latency={kind: planetlab, file: /dev/zero}", "not a file"),
        ("network.latency={kind: planetlab, file: ~nobody/x}", "nobody"),
        ("network.latency={kind: planetlab, file: ~no-such-user/x}", "has no home here"),
        ("network.latency={kind: planetlab, file: " + "x" * 300 + "}", "too long"),
        ("network.latency={kind: planetlab, file: .}", "folder"),
        ("network.latency={kind: planetlab, file: '${NO_SUCH_VARIABLE}/x'}", "is not set"),
        ("runtime={kind: processes, hosts: 0}", "at least 1"),
        ('runtime={kind: processes, hosts: "20"}', "whole number"),
        ("runtime={kind: processes, hosts: 65}", "at most 64"),
        ("runtime={kind: processes, hosts: 21}", "only 20 peers"),
        ("runtime={kind: kubernetes, hosts: 0}", "at least 1"),
        ("runtime={kind: processes, time_scale: 1e-9}", "at least 0.01"),
        ("runtime={kind: processes, time_scale: 1e300}", "at most 1,000"),
        ("runtime={kind: mars}", '"kind" is'),
        ("telemetry.metrics_interval=1 ms", "at least 100 ms"),
        ("fidelity.loop_stall=0 s", "above"),
        ("fidelity.dropped_envelopes=-1", "at least 0"),
        ("churn.model.mean_session=0 s", "above"),
        ("churn.model={kind: poisson, mean_session: 0.001 ms, mean_gap: 0.001 ms}", "sessions"),
        ("churn.model={kind: pareto, mean_session: 1 s, mean_gap: 1 s, shape: 1}", "at least 1.01"),
        ("churn.model={kind: skype, compress: 1e300}", "at most"),
        ("churn.flash_crowd={at: 1 s, peers: 20}", "make `peers` larger"),
        ("churn.graceful=-0.1", "at least 0"),
        ("vary.seed=[1, 2]", "repeat"),
        ("vary.peers=[]", "no values"),
        ("vary.peers=[2, 2]", "twice"),
        ("vary.peers=" + str(list(range(2, 5100))), "at most 10000 are allowed"),
        ("vary.nothing=[1]", "no such key"),
        ("vary=7", "a mapping"),
        ("vary.peers, network.loss=[20, 30]", "a list of 2 values"),
        ("vary.peers, nothing=[[20, 30]]", "no such key"),
        ("vary.peers,,network.loss=[[20, 1, 0]]", "no such key"),
        ("vary.,=[[1, 2]]", "no such key"),
        ("unknown=1", "not a known key"),
        ("peers", "key=value"),
        ("", "key=value"),
        ("=1", "key=value"),
        ("a..b=1", "key=value"),
        (".".join("a" * 3000) + "=1", "deeper than 50 levels"),
        ("title=" + "[" * 3000, "deeper than 50 levels"),
        ("peers=[", "is not YAML"),
        ("name.x=1", "has no keys"),
    ],
)
def test_an_option_that_no_trial_can_have_is_refused(
    write: Callable[[str | bytes], Path], option: str, told: str
) -> None:
    assert told in refused(["validate", str(write(GOOD)), "--set", option])


CONTENT = """\
name: small
system: {name: li}
peers: 20
workload:
  subscriptions:
    kind: ranges
    attributes: [{name: Attr1, low: 0, high: 100, sub_range: 10}]
"""


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("high: 100", "high: 1e308"), "at most"),
        (("low: 0", "low: -1e308"), "at least"),
        (("sub_range: 10", "sub_range: 1e-300"), "sub-ranges"),
        (("sub_range: 10", "sub_range: 1e300"), "only 100 wide"),
        (("high: 100", "high: 0"), "above"),
        (("kind: ranges", "kind: ranges\n    per_peer: 1e300"), "at most"),
        (("peers: 20", "peers: 200000\nseed: 1"), "put Attr1"),
        (("{name: li}", "{name: li, parameters: {attributes: {Attr1: [-1e300, 1e300]}}}"), "between"),
        (("{name: li}", "{name: li, parameters: {capacity: [5, 1]}}"), "capacity"),
        (("{name: li}", "{name: vitis}"), "takes subscriptions by topic"),
    ],
)
def test_content_that_cannot_be_drawn_is_refused(
    write: Callable[[str | bytes], Path], change: tuple[str, str], told: str
) -> None:
    assert told in refused(["validate", str(write(CONTENT.replace(*change)))])


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            ["peers=200000", "workload.subscriptions={kind: random, topics: 10000, per_peer: 1000}"],
            "2e+08",
        ),
        (["peers=200000", "workload.clients={per_peer: 100}"], "2e+07 clients"),
        (["workload.clients={per_peer: 100, mean_session: 1 ms, mean_gap: 1 ms}"], "sessions of clients"),
        (["phases.measure=300 d", "telemetry.metrics_interval=100 ms"], "intervals"),
        (["runtime={kind: processes, time_scale: 1000}", "phases.measure=10 d"], "of wall time"),
        (["seed=9223372036854775000", "repeat=1000"], "last seed"),
    ],
)
def test_what_is_too_much_together_is_refused_with_the_limit(
    write: Callable[[str | bytes], Path], options: list[str], told: str
) -> None:
    arguments = [part for option in ["vary={}", "churn={}", *options] for part in ("--set", option)]
    assert told in refused(["validate", str(write(GOOD)), *arguments])


@pytest.mark.parametrize("command", ["validate", "run", "plan"])
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("pipe", "it is a pipe"),
        ("/dev/zero", "it is a device"),
        ("/dev/full", "it is a device"),
        ("missing.yaml", "no such file"),
        ("x" * 300, "too long"),
        ("/".join(["x" * 200] * 50), "too long"),
        ("~nobody/x", "no such file"),
        ("no-package:x.yaml", "no installed package"),
        ("experiment.yaml/x", ""),
    ],
)
def test_what_is_no_file_is_refused(
    write: Callable[[str | bytes], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    name: str,
    told: str,
) -> None:
    write(GOOD)
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.chdir(tmp_path)
    assert told in refused([command, name])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["experiment.yaml", "pipe"]


@pytest.mark.parametrize(
    "master",
    ["mars", "spark://", "spark://[::1", "spark://x:99999999", "local[", "local[0]", "local[99999999999]"],
)
def test_what_is_no_master_of_spark_is_refused(
    write: Callable[[str | bytes], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, master: str
) -> None:
    path = write(GOOD)
    monkeypatch.chdir(tmp_path)
    assert "--on" in refused(["run", str(path), "--on", master], limit=5)
    assert not (tmp_path / "runs").exists()


def test_100_megabytes_are_refused_without_being_read(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    with path.open("wb") as file:
        file.truncate(100_000_000)
    assert "more than the 1,000,000 bytes" in refused(["validate", str(path)])


def test_the_claims_that_are_known_are_those_that_are_judged() -> None:
    assert set(KNOWN_CLAIMS) == set(CLAIMS)


WORDS = st.sampled_from(
    [
        "0",
        "-1",
        "1e308",
        ".nan",
        "null",
        "true",
        "[]",
        "{}",
        "x",
        '""',
        "1 s",
        "~",
        "*a",
        "&a",
        "!!int",
        "|",
        ":",
    ]
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_a_mutated_experiment_is_taken_or_refused_but_never_breaks(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    text = GOOD
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text) - 1))
        end = data.draw(st.integers(at, min(at + 12, len(text))))
        text = text[:at] + data.draw(WORDS | st.text(max_size=4)) + text[end:]
    path = tmp_path_factory.mktemp("mutated") / "experiment.yaml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        load(path)
    except ExperimentError as error:
        assert error.problems


def accepted(write: Callable[[str | bytes], Path], *options: str) -> ExperimentSpec:
    return load(write(GOOD), options)


def test_a_word_alone_is_the_short_form_of_a_kind(write: Callable[[str | bytes], Path]) -> None:
    short = ("system=rvr", "network.latency=king", "churn.model=static", "runtime=virtual")
    long = ("system={name: rvr}", "network.latency={kind: king}", "churn.model={kind: static}")
    assert accepted(write, *short) == accepted(write, *long)
    assert accepted(write, "vary={network.latency: [king, constant]}").vary["network.latency"][0] == "king"
    varied = accepted(write, "system=vitis", "system.parameters.friends=4", "vary={network.latency: [king]}")
    assert varied.system.parameters["friends"] == 4
    assert {variant.spec.network.latency.kind for variant in variants(varied)} == {"king"}  # type: ignore[attr-defined]
    text = refused(["validate", str(write(GOOD)), "--set", "churn.model=poisson"])
    assert "churn.model.mean_session: is missing" in text
    assert 'is "virtul". Did you mean "virtual"?' in refused(
        ["validate", str(write(GOOD)), "--set", "runtime=virtul"]
    )


def test_a_share_may_be_written_in_percent_and_a_percentage_is_explained(
    write: Callable[[str | bytes], Path],
) -> None:
    given = (
        'network.loss="1 %"',
        "churn.crash={at: 50 s, share: 10 %}",
        "workload.roles.relay=5 %",
        "vary={}",
    )
    spec = accepted(write, *given)
    crash = spec.churn.crash
    assert (spec.network.loss, crash and crash.share, spec.workload.roles.relay) == (0.01, 0.1, 0.05)
    text = refused(["validate", str(write(GOOD)), "--set", "churn.crash={at: 50 s, share: 10}"])
    assert 'has to be at most 1.0. Write 0.1, or "10 %"' in text
    text = refused(["validate", str(write(GOOD)), "--set", 'churn.graceful="200 %"'])
    assert 'is "200 %", but has to be at most 1' in text
    assert 'a share is a number such as 0.01, or "1 %"' in refused(
        ["validate", str(write(GOOD)), "--set", "churn.graceful=5 percent"]
    )


@pytest.mark.parametrize("option", ["seeds=[1, 2]", "seed=[1, 2]"])
def test_several_seeds_are_explained(write: Callable[[str | bytes], Path], option: str) -> None:
    assert 'their number as "repeat: 2"' in refused(["validate", str(write(GOOD)), "--set", option])


def test_no_problem_waits_until_another_one_is_mended(write: Callable[[str | bytes], Path]) -> None:
    wrong = {
        "system=vitiss": 'Did you mean "vitis"',
        "workload.subscriptions={kind: high, topics: 10, buckets: 3, per_peer: 10}": "do not divide",
        "network.jitter=3": "a duration needs a number and a unit",
        "churn.crash={at: 900 s, share: 0.1}": "the trial ends at 80 s",
        "telemetry.metrics_interval=0 s": "has to be at least",
    }
    text = refused(["validate", str(write(GOOD)), *(word for option in wrong for word in ("--set", option))])
    assert [told for told in wrong.values() if told not in text] == []
    assert "5 problems" in text
