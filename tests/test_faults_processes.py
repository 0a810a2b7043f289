"""Faults in processes: they begin, end and hit as on the virtual clock."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fleet_toys import PATH
from small_trial import Outcome, run

from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.run.directory import TrialDirectory
from emulator.experiment.run.fidelity import FaultReport
from emulator.fleet.processes import run_processes
from emulator.runtime.plan_script import faults_hit
from emulator.telemetry import names

SPEC: dict[str, Any] = {
    "system": {"name": "flood"},
    "peers": 16,
    "network": {"latency": {"kind": "constant", "rtt": "100 ms"}, "unreachable_after": "1 s"},
    "workload": {
        "subscriptions": {"kind": "random", "topics": 10, "per_peer": 5, "buckets": 1},
        "publications": {"events": 20},
    },
    "phases": {"join": "2 s", "settle": "2 s", "measure": "10 s", "drain": "4 s"},
    "faults": [
        {"name": "stopped", "at": "5 s", "for": "4 s", "pause": {"peers": [0, 1, 2, 3]}},
        {"name": "gone", "at": "6 s", "for": "3 s", "crash": {"peers": [4, 5]}},
        {"name": "kept", "at": "6 s", "for": "3 s", "crash": {"peers": [12, 13], "state": "kept"}},
        {"name": "no-tracker", "at": "8 s", "for": "2.5 s", "bootstrap": "away"},
        {"name": "fast", "at": "5 s", "for": "4 s", "clock": {"peers": [6], "drift": "100 %"}},
        {"name": "noise", "at": "4 s", "links": {"peers": [8, 9, 10, 11], "duplicate": 0.5, "corrupt": 0.3}},
        {"name": "slow", "at": "4 s", "for": "6 s", "links": {"peers": [12, 13], "delay": "50 ms"}},
        {"name": "split", "at": "11 s", "for": "2 s", "partition": {"peers": [0, 2, 14, 15]}},
    ],
    # The tests' machine may be busy.
    "fidelity": {
        "timer_lateness_p99": "25 s",
        "delay_error_p99": "25 s",
        "session_error_p99": "25 s",
        "fault_error": "25 s",
        "loop_stall": "25 s",
    },
}


def told(reports: list[FaultReport]) -> dict[str, tuple[str, float, float | None, int]]:
    """Return the kind, the times asked for and the peers hit of each fault, those of all hosts together."""
    peers = defaultdict[str, int](int)
    for each in reports:
        peers[each.name] += each.peers
    return {
        each.name: (each.kind, each.asked_begin_s, each.asked_end_s, peers[each.name]) for each in reports
    }


def lateness_told(reports: list[FaultReport], outcome: Outcome) -> Iterator[float]:
    """Yield how late (s) each fault began and ended at each host.

    None is early, and each peer that it hit tells of it in telemetry, at that time or later; those that lost
    their state do not tell of its end.
    """
    events = defaultdict[tuple[str, str], list[float]](list)
    for span in outcome.spans:
        host = f"host-{span.attributes[names.PEER] % 2}" if names.PEER in span.attributes else ""
        events[host, str(span.attributes.get(names.OBSERVED))].append(span.end)
    for each in reports:
        for word, asked, at in (
            ("begins", each.asked_begin_s, each.begun_s),
            ("ends", each.asked_end_s, each.ended_s),
        ):
            assert (asked is None) == (at is None), each
            if asked is None or at is None:
                continue
            told = events[each.host, f"fault {each.name} {word}"]
            lost = (each.name, word) == ("gone", "ends")
            assert len(told) == (0 if lost else each.peers), (each, word)
            assert asked <= at <= min(told, default=at) + 1e-6, (each, word)
            yield at - asked


def test_faults_of_peers_in_processes_are_those_of_the_virtual_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", PATH)
    asked = TrialSpec.model_validate(SPEC)
    plan = draw_plan(asked)
    virtual = run(asked, plan, tmp_path / "virtual")
    runtime = {"kind": "processes", "hosts": 2, "time_scale": 0.3}
    directory = TrialDirectory(tmp_path / "processes" / "trials" / "flood-1")
    directory.path.mkdir(parents=True)
    real_spec = TrialSpec.model_validate(SPEC | {"runtime": runtime})
    real = Outcome(directory, run_processes(real_spec, plan, directory, lambda progress: None))
    assert virtual.fidelity.valid and real.fidelity.valid, real.fidelity.reasons
    reports = real.fidelity.faults
    assert told(reports) == told(virtual.fidelity.faults)
    assert {each.host for each in reports} == {"host-0", "host-1"} and len(reports) == 16
    (check,) = [check for check in real.fidelity.checks if check.name.startswith("fault time error")]
    assert check.measured == pytest.approx(1000 * max(lateness_told(reports, real)), abs=0.01)
    paused = {(each.host, "pause"): each for each in reports if each.kind == "pause"}
    for outcome in (virtual, real):
        for span in outcome.spans:
            peer = span.attributes.get(names.PEER)
            if names.DEPTH not in span.attributes or peer not in faults_hit(asked, plan)[0]:
                continue
            here = paused[f"host-{peer % 2}", "pause"] if outcome is real else virtual.fidelity.faults[0]
            assert here.begun_s is not None and here.ended_s is not None
            assert not here.begun_s < span.end < here.ended_s, span
    assert all(each.waited > 0 for each in paused.values()) and virtual.fidelity.faults[0].waited > 0
    joins = {
        (span.attributes[names.PEER], span.attributes[names.SESSION]): span.start
        for span in real.spans
        if span.name == "join"
    }
    assert {peer: round(joins[peer, 1]) for peer in (4, 5)} == {4: 11, 5: 11}
    assert not {(12, 1), (13, 1)} & joins.keys()
    for outcome in (virtual, real):
        kept = [each for each in outcome.fidelity.faults if each.name == "kept"]
        times = [(each.begun_s, each.ended_s) for each in kept]
        handled = [
            (span.attributes[names.PEER], span.end)
            for span in outcome.spans
            if names.DEPTH in span.attributes
        ]
        for peer in (12, 13):
            begun, ended = times[peer % 2 if outcome is real else 0]
            assert begun is not None and ended is not None
            assert not [at for who, at in handled if who == peer and begun + 0.01 < at < ended - 0.01]
            assert [at for who, at in handled if who == peer and at > ended]
        observed = Counter(span.attributes.get(names.OBSERVED) for span in outcome.spans)
        assert observed["fault noise duplicates"] > 50 and observed["fault noise corrupts"] > 30
        refused = {text for text in outcome.fidelity.dropped if "it was damaged on its way" in text}
        counts = [outcome.fidelity.dropped[text] for text in refused]
        assert 0.8 * observed["fault noise corrupts"] < sum(counts) < 2 * observed["fault noise corrupts"]
        hit = Counter[tuple[str, str]]()
        for report in outcome.fidelity.faults:
            hit.update({(report.name, what): count for what, count in report.messages.items()})
        assert hit["noise", "doubled"] == observed["fault noise duplicates"]
        assert hit["noise", "damaged"] == observed["fault noise corrupts"]
        assert hit["slow", "delayed"] == observed["fault slow delays"] > 50
        assert hit["split", "stopped"] == observed["fault split"] > 50
        assert hit["split", "crossed"] == 0
        (crossed,) = [check for check in outcome.fidelity.checks if "crossed" in check.name]
        assert crossed.measured == 0 and crossed.limit == 0
