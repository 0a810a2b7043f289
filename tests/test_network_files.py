"""Latency files: the formats, what is filled in, and errors that name file and line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from emulator.files.trace_error import TraceError
from emulator.network.matrix_files import count_hosts, load_rtt
from emulator.network.spec import MatrixFile


def source(tmp_path: Path, kind: str, text: str) -> MatrixFile:
    file = tmp_path / "latencies"
    file.write_text(text)
    return MatrixFile.model_validate({"kind": kind, "file": file})


def test_p2psim_matrix_is_rtt_in_microseconds(tmp_path: Path) -> None:
    found = load_rtt(source(tmp_path, "p2psim-matrix", "0 100000 20000\n100000 0 3000\n20000 3000 0\n"))
    assert found.rtt == pytest.approx(np.array([[0, 0.1, 0.02], [0.1, 0, 0.003], [0.02, 0.003, 0]]))
    assert found.filled_pairs == 0


def test_planetlab_is_rtt_in_milliseconds(tmp_path: Path) -> None:
    latencies = source(tmp_path, "planetlab", "0\t12.5\n12.5\t0\n")
    assert load_rtt(latencies).rtt == pytest.approx(np.array([[0, 0.0125], [0.0125, 0]]))
    assert count_hosts(latencies) == 2


def test_p2psim_topology_is_one_way_milliseconds(tmp_path: Path) -> None:
    text = "topology E2EGraph 3\n\nnode 1\nnode 2\nnode 3\n1,2 50\n1,3 10\n2,3 20\n"
    latencies = source(tmp_path, "p2psim-topology", text)
    assert load_rtt(latencies).rtt == pytest.approx(
        np.array([[0, 0.1, 0.02], [0.1, 0, 0.04], [0.02, 0.04, 0]])
    )
    assert count_hosts(latencies) == 3


def test_a_missing_pair_gets_the_shortest_two_hop_path(tmp_path: Path) -> None:
    text = "0 0 50 70\n0 0 60 20\n50 60 0 10\n70 20 10 0\n"
    found = load_rtt(source(tmp_path, "planetlab", text))
    assert found.filled_pairs == 1
    assert found.rtt[0, 1] == found.rtt[1, 0] == pytest.approx(0.090)


def test_a_pair_measured_in_one_direction_only_is_not_missing(tmp_path: Path) -> None:
    found = load_rtt(source(tmp_path, "planetlab", "0 0 5\n30 0 5\n5 5 0\n"))
    assert found.filled_pairs == 0
    assert found.rtt[0, 1] == pytest.approx(0.030)


@pytest.mark.parametrize(
    ("kind", "text", "line", "problem"),
    [
        ("planetlab", "0 1\n1 0 3\n", 2, "3 values, but the first line has 2"),
        ("planetlab", "# ms\n0 1\n\n1 x\n", 4, "column 2 is 'x'"),
        ("planetlab", "0 nan\nnan 0\n", 1, "column 2 is 'nan'"),
        ("planetlab", "0 -1\n-1 0\n", 1, "negative RTT in column 2"),
        ("planetlab", "0 1 2\n1 0 3\n9 3 0\n", 3, "asymmetric: column 1 is 9"),
        ("planetlab", "0 1 2\n1 0 3\n", 2, "2 lines of 3 values"),
        ("p2psim-matrix", "0\n", 0, "2 to 20000 hosts, this one has 1"),
        ("p2psim-matrix", "", 0, "has 0"),
        ("planetlab", "0 0 0\n0 0 7\n0 7 0\n", 0, "no RTT between hosts 1 and 2"),
        ("p2psim-topology", "node 1\nnode 2\n1,3 5\n", 3, "no `node 3` line"),
        ("p2psim-topology", "node 1\nnode 1\n", 2, "named twice"),
        ("p2psim-topology", "node x\n", 1, "`node NUMBER`"),
        ("p2psim-topology", "node 1\nnode 2\n1,2 fast\n", 3, "expected `i,j latency`"),
        ("p2psim-topology", "node 1\nnode 2\n1,2 5\n2,1 6\n", 4, "asymmetric"),
        ("p2psim-topology", "node 1\nnode 2\n1,1 5\n", 3, "with itself"),
    ],
)
def test_an_error_names_file_and_line(tmp_path: Path, kind: str, text: str, line: int, problem: str) -> None:
    latencies = source(tmp_path, kind, text)
    with pytest.raises(TraceError) as caught:
        load_rtt(latencies)
    assert caught.value.line == line
    assert problem in str(caught.value)
    assert str(caught.value).startswith(f"{latencies.file}:{line}: " if line else f"{latencies.file}: ")


def test_a_missing_or_binary_file_is_a_trace_error(tmp_path: Path) -> None:
    gone = MatrixFile.model_validate({"kind": "planetlab", "file": tmp_path / "gone"})
    with pytest.raises(TraceError, match="No such file"):
        load_rtt(gone)
    with pytest.raises(TraceError, match="No such file"):
        count_hosts(gone)
    (tmp_path / "gone").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TraceError, match="not a text file"):
        load_rtt(gone)
