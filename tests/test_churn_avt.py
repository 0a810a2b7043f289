"""Availability traces: the .avt format, its errors, and replay."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from emulator.churn.avt import load_avt, replay
from emulator.churn.draw_sessions import draw_sessions
from emulator.churn.spec import TraceFile
from emulator.files.trace_error import TraceError


def trace_file(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "trace.avt"
    file.write_text(text)
    return file


def test_reads_a_line_for_each_node(tmp_path: Path) -> None:
    trace = load_avt(trace_file(tmp_path, "a\t2\t 10 20 30.5 40\nb\t0\n\nc\t1\t5 6\n"))
    assert trace.nodes == 3
    assert trace.node.tolist() == [0, 0, 2]
    assert trace.start.tolist() == [10, 30.5, 5]
    assert trace.end.tolist() == [20, 40, 6]


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("a\t1\t1 2\nb\n", 2, "expected `id TAB count"),
        ("a\tone\t1 2\n", 1, "expected `id TAB count"),
        ("a\t2\t1 2\n", 1, "says 2 sessions, which are 4 times, but has 2"),
        ("a\t1\t1 2\n\nb\t1\t1 x\n", 3, "'x' is not a number"),
        ("a\t1\t5 5\n", 1, "does not end after it starts"),
        ("a\t1\t5 inf\n", 1, "does not end after it starts"),
        ("a\t1\t-5 3\n", 1, "does not end after it starts"),
        ("a\t2\t1 5 4 9\n", 1, "overlaps or precedes the one that ends at 5"),
        ("a\t2\t6 9 1 5\n", 1, "overlaps or precedes"),
        ("a\t1\t1 2\na\t1\t3 4\n", 2, "node a is already in line 1"),
        ("", 0, "has no session"),
    ],
)
def test_an_error_names_file_and_line(tmp_path: Path, text: str, line: int, problem: str) -> None:
    file = trace_file(tmp_path, text)
    with pytest.raises(TraceError) as caught:
        load_avt(file)
    assert caught.value.line == line
    assert problem in str(caught.value)
    assert str(file) in str(caught.value)


def test_sessions_that_touch_are_one_and_it_is_told(tmp_path: Path) -> None:
    file = trace_file(tmp_path, "a\t3\t1 5 5 9 9 12\nb\t2\t3 4 6 7\nc\t0\n")
    trace = load_avt(file)
    assert (trace.start.tolist(), trace.end.tolist(), trace.node.tolist()) == (
        [1, 3, 6],
        [12, 4, 7],
        [0, 1, 1],
    )
    said = trace.facts(file).said
    assert said[0].startswith("trace.avt: 3 nodes, 3 sessions from 1 s to 12 s")
    assert said[1:] == (
        "1 node has no session",
        "2 sessions that begin when the one before ends are one with it",
    )


def test_replay_moves_and_compresses_time(tmp_path: Path) -> None:
    trace = load_avt(trace_file(tmp_path, "a\t2\t 100 160 220 280\n"))
    peer, start, end = replay(trace, 1, start=100, compress=60, random=np.random.default_rng(1))
    assert (peer.tolist(), start.tolist(), end.tolist()) == ([0, 0], [0, 2], [1, 3])


def test_peers_are_a_random_choice_of_the_nodes(tmp_path: Path) -> None:
    trace = load_avt(trace_file(tmp_path, "".join(f"n{k}\t1\t{k} {k + 1000}\n" for k in range(50))))
    peer, start, _ = replay(trace, 20, 0, 1, np.random.default_rng(1))
    _, other, _ = replay(trace, 20, 0, 1, np.random.default_rng(2))
    assert sorted(peer.tolist()) == list(range(20))
    assert len(set(start.tolist())) == 20
    assert set(start.tolist()) != set(other.tolist())


def test_a_trace_that_does_not_suit_the_trial_is_refused(tmp_path: Path) -> None:
    file = trace_file(tmp_path, "a\t1\t0 500\nb\t1\t0 900\n")
    model = TraceFile.model_validate({"kind": "trace", "file": file, "start": "0 s", "compress": 10})
    random = np.random.default_rng(1)
    assert len(draw_sessions(model, 2, 1.0, 90.0, random).peer) == 2
    with pytest.raises(TraceError, match=r"has 2 nodes, but the trial needs 3"):
        draw_sessions(model, 3, 1.0, 90.0, random)
    with pytest.raises(TraceError, match=r"beyond the end of the trace at 900 s"):
        draw_sessions(model, 2, 1.0, 91.0, random)
