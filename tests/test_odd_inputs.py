"""Inputs of strangers, broken and odd: each is read as it was meant, or refused with what to write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator.churn.avt import load_avt
from emulator.experiment.file.document import ExperimentError
from emulator.experiment.file.load import load
from emulator.files.trace_error import TraceError
from emulator.network.matrix_files import count_hosts, load_rtt
from emulator.network.spec import MatrixFile
from emulator.workload.edge_files import read_edges

ROWS = "0,40,50,60\n40,0,70,80\n50,70,0,90\n60,80,90,0\n"
EXPERIMENT = """\
name: small
peers: 10
network: {latency: {kind: constant, rtt: 20 ms}}
workload:
  subscriptions: {kind: random, topics: 10, buckets: 1, per_peer: 2}
  publications: {events: 5}
phases: {join: 2 s, settle: 12 s, measure: 4 s, drain: 2 s}
"""


def numbered(begin: int, separator: str = ",", corner: str = "") -> str:
    """Return a matrix with the numbers of its hosts around it, as data frames are written."""
    head = separator.join([corner, *(str(begin + i) for i in range(4))])
    rows = [f"{begin + i},{row}".replace(",", separator) for i, row in enumerate(ROWS.splitlines())]
    return "\n".join([head, *rows]) + "\n"


def matrix(path: Path, text: str, **keys: Any) -> MatrixFile:
    path.write_text(text, newline="")
    return MatrixFile(kind="planetlab", file=path, **keys)


@pytest.mark.parametrize("text", [numbered(0), numbered(1), numbered(1, ";"), ROWS.replace(",", "\u00a0")])
def test_a_matrix_with_numbers_of_hosts_around_it_is_that_matrix(tmp_path: Path, text: str) -> None:
    source = matrix(tmp_path / "rtt", text)
    assert count_hosts(source) == 4
    told = load_rtt(source)
    assert np.allclose(told.rtt[0], [0, 0.04, 0.05, 0.06])
    assert not told.facts.warnings


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (numbered(0, "\t"), "begin a line that numbers the hosts with #"),
        (numbered(7), "give the numbers of hosts in the first line and column a letter"),
        (ROWS.replace("\n", "\r"), "has carriage returns inside the line. Save it with line feeds"),
        (ROWS.replace(",", "ms,").replace("\n", "ms\n"), "is '0ms', which is not a number. Write the number"),
        ("x,a,b\nb,0,40\na,40,0\n", "row 1 is of 'b', which is column 2 in the first line"),
        ("<html>\n", "It begins with '<html>'. Write a line of numbers for each"),
    ],
)
def test_a_matrix_that_may_mean_something_else_is_refused(tmp_path: Path, text: str, told: str) -> None:
    source = matrix(tmp_path / "rtt", text, asymmetry="mean")
    with pytest.raises(TraceError) as caught:
        count_hosts(source)
        load_rtt(source)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (numbered(0, corner="5"), "the first line and the first column are 0, 1, 2, ..."),
        ("0;1,234\n1,234;0\n", "if they separate thousands, remove them"),
    ],
)
def test_a_matrix_that_probably_means_something_else_is_warned_of(
    tmp_path: Path, text: str, told: str
) -> None:
    assert any(told in warning for warning in load_rtt(matrix(tmp_path / "rtt", text)).facts.warnings)


@pytest.mark.parametrize(
    "text", ["node_1,node_2\n1,2\n", '"1","2"\n', 'graph [ edge [ source "1" target 2 ] ]']
)
def test_headings_and_quotes_of_graphs_are_read(tmp_path: Path, text: str) -> None:
    (tmp_path / "graph").write_text(text)
    assert list(read_edges(tmp_path / "graph").ids) == [1, 2]


def test_an_entry_outside_of_its_matrix_is_refused(tmp_path: Path) -> None:
    (tmp_path / "graph").write_text("%%MatrixMarket matrix coordinate pattern general\n4 4 1\n3 9\n")
    with pytest.raises(TraceError, match="graph:3: '3 9' is outside of the matrix"):
        read_edges(tmp_path / "graph")


def test_ends_of_lines_of_old_macs_are_refused_in_a_trace(tmp_path: Path) -> None:
    (tmp_path / "trace").write_text("a\t1\t0 10\rb\t1\t0 10\r", newline="")
    with pytest.raises(TraceError, match="carriage returns"):
        load_avt(tmp_path / "trace")


@pytest.mark.parametrize(
    ("more", "key", "told"),
    [
        ("faults: [{name: a, for: 0 s, partition: {share: 0.5}}]", "faults[0].for", "has to be above 0 s"),
        (
            "faults: [{name: a, kind: partition, share: 0.5}]",
            "faults[0].kind",
            "Write partition: {share: 0.5}",
        ),
        (
            "faults: [{name: a, partition: {share: 0.5}}]\nvary: {faults.0.partition.share: [0.2]}",
            "vary.faults.0.partition.share",
            "Vary faults as a whole",
        ),
        ("attackers: {share: 0.2, for: 0 s, behaviour: delay}", "attackers.for", "has to be above 0 s"),
        (
            "network: {bandwidth: {classes: [{name: a, share: 1 %, up: 1 Mbit/s}, {name: b, share: 99 %}]}}",
            "network.bandwidth.classes[0].share",
            "0.01 of 10 peers is nobody",
        ),
        (
            "network: {bandwidth: {classes: [{name: a, share: 1}]}}",
            "network.bandwidth.classes",
            "no class has `up`, `down` or `loss`",
        ),
        (
            "network: {bandwidth: {classes: [{name: Home DSL, share: 1}]}}",
            "network.bandwidth.classes[0].name",
            "such as home-dsl",
        ),
        (
            "churn: {model: {kind: trace, file: t, start: 0 s}}",
            "churn.model.start",
            "the next begins at 1130000000 s",
        ),
        (
            "churn: {model: {kind: trace, file: t, start: 13079 d, until: 20000 d}}",
            "churn.model.compress",
            "lower start",
        ),
    ],
)
def test_what_does_nothing_or_hits_nobody_is_refused(tmp_path: Path, more: str, key: str, told: str) -> None:
    (tmp_path / "t").write_text("".join(f"{node}\t1\t1130000000 1130009000\n" for node in range(10)))
    kept = [line for line in EXPERIMENT.splitlines() if line.split(":")[0] != more.split(":")[0]]
    (tmp_path / "x.yaml").write_text("\n".join([*kept, "system: vitis", more]) + "\n")
    with pytest.raises(ExperimentError) as caught:
        load(tmp_path / "x.yaml")
    assert any(problem.key == key and told in problem.text for problem in caught.value.problems)
