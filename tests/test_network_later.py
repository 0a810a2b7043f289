"""Latencies that change in time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from runtime_diary import Diary, diary_spec, diary_system
from small_trial import make_plan, run
from test_experiment_load import problems

from emulator.experiment.file.load import load
from emulator.network.build_network import build_network
from emulator.runtime.shortest_ways import ShortestWays
from trellis.v1.pubsub import Notification

FIRST = "a,b,100\na,c,200\nb,c,300\n"
THEN = "a,b,400\na,c,200\nb,c,20\n"


@pytest.fixture
def diary(monkeypatch: pytest.MonkeyPatch) -> type[Diary]:
    return diary_system(monkeypatch)


def network(folder: Path, **fields: Any) -> dict[str, Any]:
    for name, text in (("first", FIRST), ("then", THEN)):
        (folder / name).write_text(text)
    first, then = ({"kind": "pairs", "file": str(folder / name)} for name in ("first", "then"))
    return {"latency": first, "later": [{"at": "4 s", "latency": then}]} | fields


@pytest.mark.parametrize("order", ["any", "kept"])
def test_a_message_takes_the_delay_of_the_time_at_which_it_is_sent(
    diary: type[Diary], tmp_path: Path, order: str
) -> None:
    def send(peer: Diary) -> None:
        for at in (3.999, 4.0, 6.0) if peer.peer == 1 else ():
            peer.environment.set_timer(
                at - peer.environment.now, lambda: peer.environment.send(2, Notification())
            )

    diary.on_start = staticmethod(send)
    spec = diary_spec(3, network=network(tmp_path, order=order))
    run(spec, make_plan(3, [(peer, 0.0, 10.0) for peer in range(3)], locations=range(3)), tmp_path / "run")
    (life,) = (life for life in diary.lives if life.peer == 2)
    first, second = (4.149, 4.01) if order == "any" else (4.149, 4.149)
    assert sorted(round(at, 6) for at, _, _ in life.received) == sorted([first, second, 6.01])


def test_the_shortest_way_may_have_been_that_of_any_time(tmp_path: Path) -> None:
    spec = diary_spec(3, network=network(tmp_path, same_host_rtt="1 s"))
    ways = ShortestWays(build_network(spec.network, [0, 1, 2], 1))
    assert ways.least(1, 2, 0.0) == pytest.approx(0.01)
    assert ways.least(0, 1, 0.0) == pytest.approx(0.05)


LOSSY = """\
graph [
  node [ id 0 ] node [ id 1 ] node [ id 2 ]
  edge [ source 0 target 1 latency 5 packet_loss 0.1 ] edge [ source 1 target 2 latency 5 ]
]
"""
FILE = """\
name: moments
system: {name: vitis}
peers: 20
workload: {subscriptions: {kind: random, topics: 10, per_peer: 2, buckets: 1}}
phases: {join: 5 s, settle: 5 s, measure: 10 s, drain: 5 s}
network:
  latency: {kind: pairs, file: first}
  later:
"""


@pytest.mark.parametrize(
    ("later", "line", "told"),
    [
        (
            "- {at: 25 s, latency: {kind: pairs, file: then}}",
            9,
            "later[0].at: 25 s, but the trial ends at 25 s",
        ),
        ("- {at: 0 s, latency: {kind: pairs, file: then}}", 9, "later[0].at"),
        (
            "- {at: 9 s, latency: {kind: pairs, file: then}}\n"
            "    - {at: 8 s, latency: {kind: pairs, file: then}}",
            10,
            "later[1].at: comes before the one above it. Write them by time",
        ),
        ("- {at: 9 s, latency: {kind: pairs, file: none}}", 9, "there is no such file"),
        ("- {at: 9 s, latency: {kind: pairs, file: two}}", 9, "has 2 places, but `network.latency` has 3"),
        ("- {at: 9 s, latency: {kind: pears, file: two}}", 9, "pears"),
        ("- {at: 9 s, latency: {kind: graph, file: lossy}}", 9, "has losses, which do not change in time"),
    ],
)
def test_later_latencies_that_cannot_be_are_refused_in_their_line(
    tmp_path: Path, later: str, line: int, told: str
) -> None:
    network(tmp_path)
    (tmp_path / "two").write_text("a,b,1\n")
    (tmp_path / "lossy").write_text(LOSSY)
    file = tmp_path / "experiment.yaml"
    file.write_text(f"{FILE}    {later}\n")
    (found,) = problems(file)
    assert found.startswith(f"experiment.yaml:{line}: network.later")
    assert told in found


def test_a_graph_without_losses_may_come_later(tmp_path: Path) -> None:
    network(tmp_path)
    (tmp_path / "graph").write_text(LOSSY.replace("packet_loss 0.1", ""))
    file = tmp_path / "experiment.yaml"
    file.write_text(f"{FILE}    - {{at: 9 s, latency: {{kind: graph, file: graph}}}}\n")
    assert len(load(file).network.later) == 1


def test_netem_cannot_change_delays_in_time(tmp_path: Path) -> None:
    network(tmp_path)
    file = tmp_path / "experiment.yaml"
    runtime = "runtime: {kind: kubernetes, hosts: 20}\n"
    file.write_text(f"{FILE}    - {{at: 9 s, latency: {{kind: pairs, file: then}}}}\n{runtime}")
    (found,) = problems(file)
    assert "only the delay line can delay otherwise from a time on (network.later)" in found
