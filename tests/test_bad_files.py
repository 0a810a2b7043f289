"""Trace, matrix and follower files that cannot be what they should be: told with file and line, at once."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from emulator.churn.avt import load_avt
from emulator.files.reading import read_regular
from emulator.files.trace_error import TraceError
from emulator.network.matrix_files import load_rtt
from emulator.network.spec import MatrixFile
from emulator.workload.followers import load_followers
from trellis.command.cli import app

pytestmark = pytest.mark.timeout(60)


def matrix_of(kind: Any) -> Callable[[Path], Any]:
    return lambda path: load_rtt(MatrixFile(kind=kind, file=path))


LOADERS: dict[str, Callable[[Path], Any]] = {
    "avt": load_avt,
    "edges": load_followers,
    "matrix": matrix_of("p2psim-matrix"),
    "planetlab": matrix_of("planetlab"),
    "topology": matrix_of("p2psim-topology"),
}
GOOD = {
    "avt": "a\t2\t0 10 20 30\nb\t1\t5 25\n",
    "edges": "1 2\n2 3\n3 1\n",
    "matrix": "0 1000 2000\n1000 0 3000\n2000 3000 0\n",
    "planetlab": "0 10 20\n10 0 30\n20 30 0\n",
    "topology": "node 1\nnode 2\nnode 3\n1,2 5\n1,3 6\n2,3 7\n",
}
DIGITS = "9" * 5000


def problem_of(kind: str, path: Path) -> str:
    began = time.process_time()
    with pytest.raises(TraceError) as caught:
        LOADERS[kind](path)
    assert time.process_time() - began < 2
    assert len(str(caught.value)) < 600
    return str(caught.value)


@pytest.mark.parametrize("kind", GOOD)
@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", ""),
        (b"# nothing\n\n", ""),
        (b"\xff\xfe\x00", "not a text file"),
        (b"\0" * 100, ""),
        (b"x" * 5000, ""),
        (b"1 2 3\nnan inf -inf\n", ""),
        (b"1e308 1e308\n1e308 1e308\n", ""),
        (f"{DIGITS} {DIGITS}\n{DIGITS} {DIGITS}\n".encode(), ""),
        (f"a\t{DIGITS}\t1 2\n".encode(), ""),
        (f"node {DIGITS}\nnode 2\n".encode(), ""),
        (f"node 1\nnode 2\n1,{DIGITS} 5\n".encode(), ""),
        (b"a\t1\t1e400 1e401\n", ""),
        (b"a\t-1\t1 2\n", ""),
        (b"node 1\nnode 2\n1,2 1e308\n", ""),
        (b"node 1\nnode 2\n1,1 5\n", ""),
        (b"<html>not found</html>\n", ""),
    ],
)
def test_content_that_is_no_trace_is_told(tmp_path: Path, kind: str, content: bytes, told: str) -> None:
    path = tmp_path / "trace"
    path.write_bytes(content)
    assert str(path) in (problem := problem_of(kind, path))
    assert told in problem


@pytest.mark.parametrize("kind", GOOD)
def test_what_is_no_file_is_told_and_never_waited_for(tmp_path: Path, kind: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "it is a pipe" in problem_of(kind, tmp_path / "pipe")
    assert "it is a device" in problem_of(kind, Path("/dev/zero"))
    assert "folder" in problem_of(kind, tmp_path)
    assert "No such file" in problem_of(kind, tmp_path / "missing")
    assert "too long" in problem_of(kind, tmp_path / ("x" * 300))
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(100_000_000)  # a line of zeros
    assert "is longer than" in problem_of(kind, tmp_path / "sparse")


def test_a_file_that_would_have_to_be_waited_for_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One such file is /proc/kmsg, which is a regular file by its mode."""
    read, write = os.pipe()
    os.set_blocking(read, False)
    monkeypatch.setattr("emulator.files.reading.open_regular", lambda path, most: os.fdopen(read, "rb"))
    with pytest.raises(OSError, match="it holds nothing now"):
        read_regular(tmp_path / "kmsg", 100)
    os.close(write)


@pytest.mark.parametrize(
    ("kind", "text", "told"),
    [
        ("matrix", "0 1e308\n1e308 0\n", "trace:1: column 2 is 1e+308, more than the 3.6e+09 of an hour"),
        ("planetlab", "0 10\n3600001 0\n", "trace:2: column 1 is 3.6e+06, more than the 3.6e+06 of an hour"),
        (
            "topology",
            "node 1\nnode 2\n1,2 1800001\n",
            "latency 1.8e+06 ms is more than half an hour",
        ),
        ("avt", f"a\t{DIGITS}\t1 2\n", "trace:1: expected"),
        ("edges", f"1 {DIGITS}\n", "trace:1: '1 9999"),
    ],
)
def test_a_number_beyond_all_measure_is_told_with_its_line(
    tmp_path: Path, kind: str, text: str, told: str
) -> None:
    (tmp_path / "trace").write_text(text)
    assert told in problem_of(kind, tmp_path / "trace")


@pytest.mark.parametrize("kind", GOOD)
def test_a_good_file_is_read(tmp_path: Path, kind: str) -> None:
    (tmp_path / "trace").write_text(GOOD[kind])
    LOADERS[kind](tmp_path / "trace")


@pytest.mark.parametrize("kind", GOOD)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_mutated_file_is_read_or_told_but_never_breaks(
    tmp_path_factory: pytest.TempPathFactory, kind: str, data: st.DataObject
) -> None:
    content = GOOD[kind].encode()
    words = st.sampled_from([b"-1", b"1e308", b"nan", b" ", b"\n", b"\t", b",", b"node", b"0", b"9" * 30])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content)))
        end = data.draw(st.integers(at, min(at + 6, len(content))))
        content = content[:at] + data.draw(words | st.binary(max_size=3)) + content[end:]
    path = tmp_path_factory.mktemp("mutated") / "trace"
    path.write_bytes(content)
    try:
        LOADERS[kind](path)
    except TraceError as error:
        assert error.file == path


EXPERIMENT = """\
name: small
system: {name: vitis}
peers: 3
network: {latency: {kind: planetlab, file: rtt}, loss: 0.1}
workload:
  subscriptions: {kind: random, topics: 5, per_peer: 2, buckets: 1}
"""


def refused(folder: Path, experiment: str) -> str:
    (folder / "small.yaml").write_text(experiment)
    result = CliRunner().invoke(app, ["validate", str(folder / "small.yaml")], catch_exceptions=False)
    assert result.exit_code == 2, result.output
    return str(result.output)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("0 inf 1\ninf 0 1\n1 1 0\n", ":1: column 2 is 'inf', which is not a number"),
        ("0 1 2\n1 0\n2 1 0\n", ":2: 2 values, but the first line has 3"),
    ],
)
def test_bad_numbers_of_a_latency_file_are_refused_at_its_key(tmp_path: Path, rows: str, told: str) -> None:
    """Also if the plan needs no delays, as with topics at random."""
    (tmp_path / "rtt").write_text(rows)
    said = refused(tmp_path, EXPERIMENT)
    assert "small.yaml:4: network.latency.file: " in said
    assert told in said


@pytest.mark.parametrize("said", ["4", "30000000000", "2"])
def test_a_topology_that_says_another_number_of_hosts_than_it_has_is_refused(
    tmp_path: Path, said: str
) -> None:
    path = tmp_path / "topology"
    path.write_text(f"topology x {said}\n" + GOOD["topology"])
    assert f"the first line says '{said}' hosts, but 3 have" in problem_of("topology", path)
    path.write_text("topology x 3\n" + GOOD["topology"])
    LOADERS["topology"](path)


def test_a_value_that_is_no_number_is_told_once_and_as_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "rtt").write_text(GOOD["planetlab"])
    said = refused(tmp_path, EXPERIMENT.replace("loss: 0.1", "jitter: .nan"))
    assert "network.jitter: is nan. Write a finite number" in said
    assert "1 problem;" in said
