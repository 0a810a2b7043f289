"""Latency files: the formats, what is filled in, and errors that name file and line."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest

from emulator.files.trace_error import TraceError
from emulator.network.build_network import build_network
from emulator.network.matrix_files import count_hosts, load_rtt
from emulator.network.spec import MatrixFile, NetworkSpec


def source(tmp_path: Path, kind: str, text: str | bytes, **keys: str) -> MatrixFile:
    file = tmp_path / "latencies"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return MatrixFile.model_validate({"kind": kind, "file": file, **keys})


ROWS = "0 80 90\n80 0 70\n90 70 0\n"
MS = [[0, 80, 90], [80, 0, 70], [90, 70, 0]]


def zipped(names: tuple[str, ...]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in names:
            archive.writestr(zipfile.ZipInfo(name), ROWS)  # of a fixed date
    return packed.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        gzip.compress(ROWS.encode(), mtime=0),
        lzma.compress(ROWS.encode()),
        bz2.compress(ROWS.encode()),
        zipped(("folder/m.txt",)),
        b"\xef\xbb\xbf" + ROWS.encode(),
        b"paris;london;rome\n0;80;90\n80;0;70\n90;70;0\n",
        b"host,paris,london,rome\nparis,0,80,90\nlondon,80,0,70\nrome,90,70,0\n",
        b"id a b c\n1 0 80 90\n2 80 0 70\n3 90 70 0\n",
        b"a 0 80 90\nb 80 0 70\nc 90 70 0\n",
        b"0;80,0;90,0\n80;0;70,0\n90,0;70;0\n",
        b"0\t80,0\t90\n80\t0\t70\n90\t70\t0\n",
        b"0, 80, 90\r\n80, 0, 70\r\n90, 70, 0\r\n",
    ],
)
def test_the_same_matrix_is_read_however_it_is_packed_and_written(tmp_path: Path, content: bytes) -> None:
    latencies = source(tmp_path, "planetlab", content)
    assert load_rtt(latencies).rtt * 1000 == pytest.approx(np.array(MS))
    assert count_hosts(latencies) == 3


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (gzip.compress(ROWS.encode(), mtime=0)[:-9], "cannot be uncompressed"),
        (lzma.compress(ROWS.encode())[:-9], "cannot be uncompressed"),
        (zipped(("a", "b")), "is a zip file of 2 files (a, b). Unpack it"),
        (zipped(("a",))[:40], "is a zip file that cannot be read"),
        (b"\x28\xb5\x2f\xfd" + b"0" * 20, "is a zstd file"),
        ("\ufeff0 1\n".encode("utf-16-le"), "in UTF-16. Save it as UTF-8"),
    ],
)
def test_what_cannot_be_unpacked_is_told(tmp_path: Path, content: bytes, told: str) -> None:
    with pytest.raises(TraceError, match=re.escape(told)):
        load_rtt(source(tmp_path, "planetlab", content))


def test_a_unit_is_the_experiments_to_say_and_an_unlikely_one_is_warned_of(tmp_path: Path) -> None:
    text = "0 80000\n80000 0\n"
    wrong = load_rtt(source(tmp_path, "planetlab", text))
    assert "mean RTT of 80 s is above 2 s" in wrong.facts.warnings[0]
    right = load_rtt(source(tmp_path, "planetlab", text, unit="us"))
    assert right.rtt[0, 1] == pytest.approx(0.08)
    assert right.facts.warnings == ()
    assert "2 hosts, 1 pair: RTT 80 ms to 80 ms, mean 80 ms" in right.facts.said
    seconds = source(tmp_path, "planetlab", "0 0.281\n0.281 0\n")
    assert "is below 1 ms" in load_rtt(seconds).facts.warnings[0]
    assert load_rtt(seconds.model_copy(update={"unit": "s"})).rtt[0, 1] == pytest.approx(0.281)
    topology = source(tmp_path, "p2psim-topology", "node 1\nnode 2\n1,2 5000\n", unit="us")
    assert load_rtt(topology).rtt[0, 1] == pytest.approx(0.010)


def test_a_zero_between_two_hosts_is_what_the_experiment_says(tmp_path: Path) -> None:
    text = "0 0 80\n0 0 81\n80 81 0\n"
    filled = load_rtt(source(tmp_path, "planetlab", text))
    assert (filled.filled_pairs, filled.rtt[0, 1]) == (1, pytest.approx(0.161))
    assert "1 pair has an RTT of 0, which counts as no measurement" in filled.facts.warnings[0]
    assert any("1 of 3 pairs without a measurement got" in sentence for sentence in filled.facts.said)
    near = source(tmp_path, "planetlab", text, zeros="same_host_rtt")
    assert load_rtt(near).filled_pairs == 0
    spec = NetworkSpec(latency=near, same_host_rtt="4 ms")  # type: ignore[arg-type]
    assert build_network(spec, [0, 1, 2], 1).one_way(0, 1) == pytest.approx(0.002)
    with pytest.raises(TraceError, match="latencies:1: an RTT of 0 between hosts 1 and 2"):
        load_rtt(source(tmp_path, "planetlab", text, zeros="refuse"))


@pytest.mark.parametrize("missing", ["nan", "*", "-", "NA"])
def test_a_pair_without_a_measurement_is_filled_or_refused(tmp_path: Path, missing: str) -> None:
    text = f"0 {missing} 80\n{missing} 0 81\n80 81 0\n"
    assert load_rtt(source(tmp_path, "planetlab", text)).rtt[0, 1] == pytest.approx(0.161)
    with pytest.raises(TraceError, match="latencies:1: no RTT between hosts 1 and 2, and 1 such"):
        load_rtt(source(tmp_path, "planetlab", text, gaps="refuse"))


def test_two_directions_get_their_mean_or_are_one_way_delays(tmp_path: Path) -> None:
    text = "0 80 70\n100 0 70\n70 70 0\n"
    mean = load_rtt(source(tmp_path, "planetlab", text, asymmetry="mean"))
    assert mean.rtt[0, 1] == mean.rtt[1, 0] == pytest.approx(0.09)
    assert "1 pair differs by direction, by 20 ms: the mean of both counts" in mean.facts.said
    one_way = source(tmp_path, "planetlab", text, asymmetry="one-way")
    network = build_network(NetworkSpec(latency=one_way), [0, 1, 2], 1)
    assert (network.one_way(0, 1), network.one_way(1, 0)) == (pytest.approx(0.08), pytest.approx(0.1))
    assert "3 hosts, 3 pairs: RTT 140 ms to 180 ms, mean 153 ms" in load_rtt(one_way).facts.said
    topology = "node 1\nnode 2\n1,2 5\n2,1 7\n"
    found = load_rtt(source(tmp_path, "p2psim-topology", topology, asymmetry="one-way")).rtt
    assert (found[0, 1], found[1, 0]) == (pytest.approx(0.010), pytest.approx(0.014))


def test_what_is_left_out_and_merged_is_counted(tmp_path: Path) -> None:
    said = load_rtt(source(tmp_path, "planetlab", "9 80.01\n80 0\n")).facts.said
    assert "1 value on the diagonal is not used: peers at one host are `same_host_rtt` apart" in said
    assert "1 pair differs by direction, by 0.01 ms: the mean of both counts" in said
    text = "topology X 3\nnode 1 0\nnode 2\nnode 3\n1,2 5\n2,1 5\n1,3 -1\n2,3 7\n"
    said = load_rtt(source(tmp_path, "p2psim-topology", text)).facts.said
    assert "1 pair that the file repeats count once" in said
    assert "1 delay below 0 count as no measurement" in said
    assert "what follows the number of 1 node is not used" in said
    numbered = "0 1 2 3\n1 0 5 6\n2 5 0 7\n3 6 7 0\n"
    assert (
        "if they are numbers of hosts" in load_rtt(source(tmp_path, "planetlab", numbered)).facts.warnings[0]
    )


def test_keys_that_are_not_given_are_not_written(tmp_path: Path) -> None:
    latencies = source(tmp_path, "planetlab", ROWS)
    assert latencies.model_dump(mode="json") == {"kind": "planetlab", "file": str(latencies.file)}


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
        ("planetlab", "0 inf\ninf 0\n", 1, "column 2 is 'inf'"),
        ("planetlab", "0 1_0\n1_0 0\n", 1, "column 2 is '1_0'"),
        ("planetlab", "0 nan\nnan 0\n", 0, "no RTT between hosts 1 and 2"),
        ("planetlab", "0;1.234,5\n5;0\n", 1, "column 2 is '1.234,5'"),
        ("planetlab", "0 1 2\n1 0 3\n9 3 0\n", 3, "Write `asymmetry: mean`"),
        ("planetlab", "0 1 2\n1 0 3\n2 3 0\n1 2 3\n", 4, "Names of hosts need a letter"),
        ("planetlab", "a b c\nx 0 1\n1 0\n", 3, "1 of 2 lines begin with a name"),
        ("planetlab", "%%MatrixMarket matrix array real general\n", 1, "a line of numbers for each host"),
        ("p2psim-topology", "host 1\nnode 1\nnode 2\n1,2 5\n", 1, "'host 1', but expected"),
        ("p2psim-topology", "node 1\nnode 2\nlink 5\n1,2 5\n", 3, "'link 5', but expected"),
        ("p2psim-topology", "node 1\nnode 2\n1,2 5\n1,2 6\n", 4, "1,2 is 6, earlier 5. Keep one"),
        ("p2psim-topology", "node 1\nnode 2\n1,2 5 9\n", 3, "'9' after the latency"),
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
