"""Options that no trial can be made of: a message that says what is wrong with the value."""

from __future__ import annotations

from pathlib import Path

import pytest
from refused_experiments import GOOD, refused, write

from emulator.experiment.file.load import load
from emulator.experiment.file.spec import ExperimentSpec
from emulator.experiment.file.variants import variants

pytestmark = pytest.mark.timeout(60)


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
        ("phases.drain=-1 s", "a duration is not negative"),
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
        ("vary.system.nam=[vitis, rvr]", 'Did you mean "system.name"?'),
        ("vary.netwrk.loss=[0, 1]", 'Did you mean "network.loss"?'),
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
def test_an_option_that_no_trial_can_have_is_refused(tmp_path: Path, option: str, told: str) -> None:
    assert told in refused(["validate", str(write(tmp_path, GOOD)), "--set", option])


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
    tmp_path: Path, options: list[str], told: str
) -> None:
    arguments = [part for option in ["vary={}", "churn={}", *options] for part in ("--set", option)]
    assert told in refused(["validate", str(write(tmp_path, GOOD)), *arguments])


@pytest.mark.parametrize(
    "master",
    ["mars", "spark://", "spark://[::1", "spark://x:99999999", "local[", "local[0]", "local[99999999999]"],
)
def test_what_is_no_master_of_spark_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, master: str
) -> None:
    path = write(tmp_path, GOOD)
    monkeypatch.chdir(tmp_path)
    assert "--on" in refused(["run", str(path), "--on", master], limit=5)
    assert not (tmp_path / "runs").exists()


def accepted(tmp_path: Path, *options: str) -> ExperimentSpec:
    return load(write(tmp_path, GOOD), options)


def test_a_word_alone_is_the_short_form_of_a_kind(tmp_path: Path) -> None:
    short = ("system=rvr", "network.latency=king", "churn.model=static", "runtime=virtual")
    long = ("system={name: rvr}", "network.latency={kind: king}", "churn.model={kind: static}")
    assert accepted(tmp_path, *short) == accepted(tmp_path, *long)
    assert accepted(tmp_path, "vary={network.latency: [king, constant]}").vary["network.latency"][0] == "king"
    varied = accepted(
        tmp_path, "system=vitis", "system.parameters.friends=4", "vary={network.latency: [king]}"
    )
    assert varied.system.parameters["friends"] == 4
    assert {variant.spec.network.latency.kind for variant in variants(varied)} == {"king"}  # type: ignore[attr-defined]
    text = refused(["validate", str(write(tmp_path, GOOD)), "--set", "churn.model=poisson"])
    assert "churn.model.mean_session: is missing" in text
    assert 'is "virtul". Did you mean "virtual"?' in refused(
        ["validate", str(write(tmp_path, GOOD)), "--set", "runtime=virtul"]
    )


def test_a_share_may_be_written_in_percent_and_a_percentage_is_explained(
    tmp_path: Path,
) -> None:
    given = (
        'network.loss="1 %"',
        "churn.crash={at: 50 s, share: 10 %}",
        "workload.roles.relay=5 %",
        "vary={}",
    )
    spec = accepted(tmp_path, *given)
    crash = spec.churn.crash
    assert (spec.network.loss, crash and crash.share, spec.workload.roles.relay) == (0.01, 0.1, 0.05)
    text = refused(["validate", str(write(tmp_path, GOOD)), "--set", "churn.crash={at: 50 s, share: 10}"])
    assert 'has to be at most 1.0. Write 0.1, or "10 %"' in text
    text = refused(["validate", str(write(tmp_path, GOOD)), "--set", 'churn.graceful="200 %"'])
    assert 'is "200 %", but has to be at most 1' in text
    assert 'a share is a number such as 0.01, or "1 %"' in refused(
        ["validate", str(write(tmp_path, GOOD)), "--set", "churn.graceful=5 percent"]
    )


@pytest.mark.parametrize("option", ["seeds=[1, 2]", "seed=[1, 2]"])
def test_several_seeds_are_explained(tmp_path: Path, option: str) -> None:
    assert 'their number as "repeat: 2"' in refused(["validate", str(write(tmp_path, GOOD)), "--set", option])


def test_no_problem_waits_until_another_one_is_mended(tmp_path: Path) -> None:
    wrong = {
        "system=vitiss": 'Did you mean "vitis"',
        "workload.subscriptions={kind: high, topics: 10, buckets: 3, per_peer: 10}": "do not divide",
        "network.jitter=3": "a duration needs a number and a unit",
        "churn.crash={at: 900 s, share: 0.1}": "the trial ends at 80 s",
        "telemetry.metrics_interval=0 s": "has to be at least",
    }
    text = refused(
        ["validate", str(write(tmp_path, GOOD)), *(word for option in wrong for word in ("--set", option))]
    )
    assert [told for told in wrong.values() if told not in text] == []
    assert "5 problems" in text
