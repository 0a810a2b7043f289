"""Faults of the network: partitions and worse links, at their time and for their peers alone."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from runtime_diary import LATENCY, Diary, diary_spec, diary_system
from small_trial import Outcome, make_plan, run

from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.plan.tables import Plan
from emulator.experiment.run.fidelity import FaultReport
from emulator.faults.spec import AttackersSpec
from emulator.files.damage import DamagedFile
from emulator.runtime.plan_script import faults_hit, network_faults
from emulator.telemetry import names
from trellis.v1.pubsub import Pull


@pytest.fixture
def diary(monkeypatch: pytest.MonkeyPatch) -> type[Diary]:
    return diary_system(monkeypatch)


def fault(name: str = "split", at: str = "2 s", lasts: str | None = "3 s", **what: Any) -> dict[str, Any]:
    return {"name": name, "at": at, **({} if lasts is None else {"for": lasts}), **what}


def spec(*faults: dict[str, Any], peers: int = 4) -> TrialSpec:
    return diary_spec(peers, faults=list(faults))


def all_to_all(
    diary: type[Diary], tmp_path: Path, asked: TrialSpec
) -> tuple[set[tuple[int, int, int]], Outcome]:
    """Let each peer send to each other one in the middle of each second, and return what comes, with its
    second."""
    seconds = range(1, 8)

    def send(peer: Diary) -> None:
        for second in seconds:
            for other in set(range(asked.peers)) - {peer.peer}:
                message = Pull(event=second)
                peer.environment.set_timer(
                    second + 0.5 - peer.environment.now,
                    lambda other=other, message=message: peer.environment.send(other, message),  # type: ignore[misc]
                )

    diary.on_start = staticmethod(send)
    drawn = draw_plan(asked)
    made = make_plan(asked.peers, [(peer, 0.0, 10.0) for peer in range(asked.peers)])
    outcome = run(asked, Plan(made.peers, made.sessions, drawn.faults, **made.tables), tmp_path)
    came = {
        (message.event, sender, peer.peer)
        for peer in diary.lives
        for _, sender, message in peer.received
        if isinstance(message, Pull)
    }
    return came, outcome


def expected(asked: TrialSpec, stopped: Any) -> set[tuple[int, int, int]]:
    """Return all messages, but from 2 to 5 s those that `stopped` holds for, given who of both is hit."""
    (hit,) = faults_hit(asked, draw_plan(asked))
    return {
        (second, sender, receiver)
        for second in range(1, 8)
        for sender in range(asked.peers)
        for receiver in range(asked.peers)
        if sender != receiver and not (2 <= second < 5 and stopped(sender in hit, receiver in hit))
    }


@pytest.mark.parametrize(
    "way, stopped",
    [
        ("both", lambda sender, receiver: sender != receiver),
        ("out", lambda sender, receiver: sender and not receiver),
        ("in", lambda sender, receiver: receiver and not sender),
    ],
)
def test_nothing_crosses_a_partition_while_it_lasts(
    diary: type[Diary], tmp_path: Path, way: str, stopped: Any
) -> None:
    asked = spec(fault(partition={"share": 0.5, "way": way}))
    came, outcome = all_to_all(diary, tmp_path, asked)
    assert came == expected(asked, stopped)
    told = [span.attributes for span in outcome.spans if span.name == names.OBSERVATION]
    assert {each[names.OBSERVED] for each in told} == {
        "fault split",
        "fault split begins",
        "fault split ends",
    }
    assert sum(each[names.OBSERVED] == "fault split" for each in told) == 4 * 3 * 7 - len(came)
    assert not any(peer.unreachable for peer in diary.lives)


def test_senders_learn_of_a_partition_if_the_experiment_says_so(diary: type[Diary], tmp_path: Path) -> None:
    asked = spec(fault(partition={"number": 1, "senders": "told"}))
    (alone,) = faults_hit(asked, draw_plan(asked))[0]
    all_to_all(diary, tmp_path, asked)
    lone = next(peer for peer in diary.lives if peer.peer == alone)
    assert [at for at, _ in lone.unreachable] == [pytest.approx(s + 2.5) for s in (2, 3, 4) for _ in range(3)]


def test_worse_links_are_slower_for_their_peers(diary: type[Diary], tmp_path: Path) -> None:
    asked = spec(fault(links={"number": 1, "delay": "200 ms"}))
    (slow,) = faults_hit(asked, draw_plan(asked))[0]
    all_to_all(diary, tmp_path, asked)
    for peer in diary.lives:
        for at, sender, message in peer.received:
            late = 0.2 if slow in (sender, peer.peer) and 2 <= message.event < 5 else 0.0  # type: ignore[attr-defined]
            assert at == pytest.approx(message.event + 0.5 + LATENCY + late, abs=1e-9)  # type: ignore[attr-defined]


def test_worse_links_lose_their_share(diary: type[Diary], tmp_path: Path) -> None:
    asked = spec(fault(links={"number": 1, "loss": 1.0}))
    assert all_to_all(diary, tmp_path, asked)[0] == expected(
        asked, lambda sender, receiver: sender or receiver
    )


NETWORKS: dict[str, dict[str, Any]] = {
    "no bandwidth": {},
    "fifo": {"bandwidth": {"up": "10 Mbit/s", "down": "10 Mbit/s", "queue": "1 s"}},
    "fair": {"bandwidth": {"up": "10 Mbit/s", "down": "10 Mbit/s", "queue": "1 s", "discipline": "fair"}},
    "in order": {"order": "kept", "jitter": "5 ms"},
}


def received(diary: type[Diary], second: int) -> Counter[tuple[int, int]]:
    """Return how often peers received the messages that were sent in a second, by sender and receiver."""
    return Counter(
        (sender, peer.peer)
        for peer in diary.lives
        for _, sender, message in peer.received
        if isinstance(message, Pull) and message.event == second
    )


@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_doubled_messages_arrive_twice(diary: type[Diary], tmp_path: Path, network: dict[str, Any]) -> None:
    asked = diary_spec(4, network=network, faults=[fault(links={"number": 1, "duplicate": 1.0})])
    (hit,) = faults_hit(asked, draw_plan(asked))
    _, outcome = all_to_all(diary, tmp_path, asked)
    for second in range(1, 8):
        for (sender, receiver), copies in received(diary, second).items():
            assert copies == (2 if 2 <= second < 5 and {sender, receiver} & set(hit) else 1)
    told = Counter(span.attributes.get(names.OBSERVED) for span in outcome.spans)
    assert told["fault split duplicates"] == 3 * 6


@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_damaged_messages_are_refused_and_counted(
    diary: type[Diary], tmp_path: Path, network: dict[str, Any]
) -> None:
    asked = diary_spec(4, network=network, faults=[fault(links={"number": 1, "corrupt": 1.0})])
    came, outcome = all_to_all(diary, tmp_path, asked)
    assert came == expected(asked, lambda sender, receiver: sender or receiver)
    ((text, count),) = outcome.fidelity.dropped.items()
    assert "dropped Pull: it was damaged on its way" in text and count == 3 * 6
    told = Counter(span.attributes.get(names.OBSERVED) for span in outcome.spans)
    assert told["fault split corrupts"] == 3 * 6
    assert outcome.fidelity.valid


def test_each_copy_of_a_doubled_message_has_a_delay_of_its_own(diary: type[Diary], tmp_path: Path) -> None:
    network = {"jitter": "50 ms"}
    asked = diary_spec(4, network=network, faults=[fault(links={"number": 1, "duplicate": 1.0})])
    all_to_all(diary, tmp_path, asked)
    times: dict[tuple[int, int, int], set[float]] = {}
    for peer in diary.lives:
        for at, sender, message in peer.received:
            if isinstance(message, Pull):
                times.setdefault((message.event, sender, peer.peer), set()).add(at)
    assert sorted(map(len, times.values())) == [1] * (4 * 3 * 7 - 18) + [2] * 18


def test_shares_of_doubled_and_damaged_messages_are_as_asked() -> None:
    asked = spec(fault(links={"share": 0.5, "duplicate": 0.3, "corrupt": 0.2, "delay": "7 ms"}), peers=10)
    faults = network_faults(asked, draw_plan(asked))
    assert faults is not None
    (hit,) = faults_hit(asked, draw_plan(asked))
    one, random = min(hit), Random(3)
    fates = [
        faults.becomes(one, other, 3.0, random) for other in range(10) for _ in range(3000) if other != one
    ]
    assert sum(fate.twice_by == "split" for fate in fates) / len(fates) == pytest.approx(0.3, abs=0.01)
    assert sum(fate.damaged_by == "split" for fate in fates) / len(fates) == pytest.approx(0.2, abs=0.01)
    assert {fate.later for fate in fates} == {0.007}
    assert not any(fate.stopped_by for fate in fates)
    assert faults.becomes(one, (one + 1) % 10, 5.0, random).observed() == []


def test_each_of_two_faults_that_damage_a_message_is_told() -> None:
    both = [fault(name, links={"peers": [0, 1], "corrupt": 1.0, "duplicate": 1.0}) for name in ("a", "b")]
    asked = spec(*both, peers=4)
    faults = network_faults(asked, draw_plan(asked))
    assert faults is not None
    told = faults.becomes(0, 1, 3.0, Random(3)).observed()
    assert told == ["fault a duplicates", "fault a corrupts", "fault b duplicates", "fault b corrupts"]


def test_the_report_of_a_partition_has_its_times_its_peers_and_what_it_stopped(
    diary: type[Diary], tmp_path: Path
) -> None:
    asked = spec(fault(partition={"share": 0.5}), fault("for-ever", "6 s", None, partition={"peers": [1]}))
    came, outcome = all_to_all(diary, tmp_path, asked)
    hit = [{"stopped": 8 * 3, "crossed": 0}, {"stopped": 6 * 2, "crossed": 0}]
    assert outcome.fidelity.faults == [
        FaultReport("split", "partition", "virtual", 2.0, 5.0, 2.0, 5.0, 2, 0, hit[0]),
        FaultReport("for-ever", "partition", "virtual", 6.0, None, 6.0, None, 1, 0, hit[1]),
    ]
    assert len(came) == 4 * 3 * 7 - 8 * 3 - 6 * 2


def test_the_report_of_worse_links_counts_the_messages_of_which_senders_tell(
    diary: type[Diary], tmp_path: Path
) -> None:
    worse = {"peers": [0, 1], "delay": "10 ms", "loss": 0.2, "duplicate": 0.5, "corrupt": 0.5}
    asked = spec(fault("worse", links=worse), fault("slow", links={"peers": [0, 2], "delay": "20 ms"}))
    _, outcome = all_to_all(diary, tmp_path, asked)
    told = Counter(span.attributes.get(names.OBSERVED) for span in outcome.spans)
    worse_report, slow_report = outcome.fidelity.faults
    assert worse_report.messages == {
        "stopped": told["fault worse"],
        "delayed": told["fault worse delays"],
        "doubled": told["fault worse duplicates"],
        "damaged": told["fault worse corrupts"],
    }
    assert worse_report.messages["stopped"] + worse_report.messages["delayed"] == 10 * 3
    assert all(worse_report.messages.values())
    assert slow_report.messages["delayed"] == told["fault slow delays"] >= 2 * 3


@pytest.mark.parametrize(
    ("rates", "messages"),
    # A message in each of three seconds from each of four peers to each other one.
    [("1 Mbit/s", 3 * 10), ({"up": "1 Mbit/s"}, 3 * 6), ({"down": "1 Mbit/s"}, 3 * 6)],
)
def test_a_fault_of_rates_alone_tells_how_many_messages_took_the_links(
    diary: type[Diary], tmp_path: Path, rates: Any, messages: int
) -> None:
    links = {"peers": [0, 1], "bandwidth": rates}
    asked = diary_spec(4, network=NETWORKS["fifo"], faults=[fault("congested", links=links)])
    _, outcome = all_to_all(diary, tmp_path, asked)
    (report,) = outcome.fidelity.faults
    assert (report.begun_s, report.ended_s, report.peers) == (2.0, 5.0, 2)
    assert report.messages.pop("at_its_rate") == messages
    assert not any(report.messages.values())


def test_messages_that_another_fault_stops_have_taken_the_links_too(
    diary: type[Diary], tmp_path: Path
) -> None:
    slow = [fault(name, links={"peers": [0], "bandwidth": {"up": "1 Mbit/s"}}) for name in ("one", "two")]
    asked = diary_spec(4, network=NETWORKS["fifo"], faults=[fault(partition={"peers": [0]}), *slow])
    _, outcome = all_to_all(diary, tmp_path, asked)
    assert [each.messages["at_its_rate"] for each in outcome.fidelity.faults[1:]] == [3 * 3] * 2


@pytest.mark.parametrize("what", [{"pause": {"peers": [1]}}, {"partition": {"peers": [1]}}])
def test_the_file_of_fidelity_counts_messages_of_faults_of_the_network_alone(
    diary: type[Diary], tmp_path: Path, what: dict[str, Any]
) -> None:
    _, outcome = all_to_all(diary, tmp_path, spec(fault(**what)))
    (told,) = json.loads(outcome.directory.fidelity.read_text())["faults"]
    assert ("messages" in told) == ("partition" in what)


def test_faults_are_drawn_from_the_seed_by_their_name() -> None:
    asked = spec(fault("a", partition={"share": 0.5}), fault("b", partition={"share": 0.5}), peers=100)
    first, second = faults_hit(asked, draw_plan(asked))
    assert len(first) == len(second) == 50 and first != second
    assert faults_hit(asked, draw_plan(asked)) == [first, second]
    other = asked.model_copy(update={"seed": 9})
    assert faults_hit(other, draw_plan(other)) != [first, second]


def test_a_plan_that_lost_its_faults_is_not_run() -> None:
    plan = draw_plan(spec())
    with pytest.raises(DamagedFile, match='no peers for the fault "split"'):
        faults_hit(spec(fault(partition={"share": 0.5})), plan)


@pytest.mark.parametrize(
    "faults, key, words",
    [
        ([fault()], "0.name", "exactly one of"),
        ([fault(partition={"share": 0.5}, links={"share": 0.5})], "0.links", "exactly one of"),
        ([fault(partition={"share": 0.01})], "0.partition.share", "is nobody"),
        ([fault(partition={})], "0.partition.share", "exactly one of `share`, `number`"),
        ([fault(links={"share": 0.5})], "0.links.delay", "nothing happens"),
        ([fault(links={"share": 0.5, "bandwidth": "0 bit/s"})], "0.links.bandwidth.up", "Give `network.band"),
        ([fault(links={"share": 0.5, "bandwidth": {}})], "0.links.delay", "nothing happens"),
        ([fault(at="90 s", partition={"share": 0.5})], "0.at", "the trial ends"),
        ([fault(partition={"share": 0.5})] * 2, "1.name", "name of an earlier fault"),
    ],
)
def test_faults_that_cannot_be_are_refused(faults: list[dict[str, Any]], key: str, words: str) -> None:
    with pytest.raises(ValueError, match=rf"faults\.{key}: .*{words}"):
        draw_plan(spec(*faults))


def test_no_fault_has_the_name_of_the_attack() -> None:
    named = spec(fault(name="attack", partition={"share": 0.5}))
    assert draw_plan(named).faults.num_rows
    attackers = AttackersSpec.model_validate({"share": 0.2, "behaviour": "black-hole"})
    with pytest.raises(ValueError, match=r"faults\.0\.name: .*is what `attackers` do"):
        draw_plan(named.model_copy(update={"attackers": attackers}))
