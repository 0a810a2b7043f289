"""The corpus of inputs: each is refused with what to write, or read as it was meant and told."""

from __future__ import annotations

from pathlib import Path

import pytest
from input_corpus import BROKEN, ODD
from typer.testing import CliRunner

from trellis.command.cli import app

EXPERIMENT = {
    "name": "small",
    "system": "vitis",
    "peers": "4",
    "phases": "{join: 2 s, settle: 12 s, measure: 4 s, drain: 2 s}",
    "network": "{latency: {kind: constant, rtt: 20 ms}}",
    "workload": "{subscriptions: {kind: random, topics: 10, buckets: 1, per_peer: 2}, "
    "publications: {events: 5}}",
}
OF_FILES = {
    "matrix": ("network", "{latency: {kind: planetlab, file: f}}"),
    "topology": ("network", "{latency: {kind: p2psim-topology, file: f}}"),
    "trace": ("churn", "{model: {kind: trace, file: f, start: 0 s, compress: 1}}"),
    "graph": ("workload", "{subscriptions: {kind: edges, file: f}, publications: {events: 5}}"),
    "editors": ("workload", "{subscriptions: {kind: editors-file, file: f}, publications: {events: 5}}"),
}
OF_KEYS = {
    "duration": ("phases", "{{join: {}, settle: 12 s, measure: 4 s, drain: 2 s}}"),
    "share": ("network", "{{latency: {{kind: constant}}, loss: {}}}"),
    "rate": ("network", "{{latency: {{kind: constant}}, bandwidth: {{up: {}, down: 100 Mbit/s}}}}"),
    "varied": ("vary", "{{{}}}"),
}


def validated(folder: Path, kind: str, content: str | bytes) -> tuple[int, str]:
    """Return the exit status of `trellis validate` and all that it says, in one line."""
    keys = dict(EXPERIMENT)
    if kind in OF_FILES:
        (folder / "f").write_bytes(content if isinstance(content, bytes) else content.encode())
        keys.update([OF_FILES[kind]])
    else:
        key, form = OF_KEYS[kind]
        keys[key] = form.format(str(content).strip("{}"))
    (folder / "x.yaml").write_text("".join(f"{key}: {value}\n" for key, value in keys.items()))
    result = CliRunner().invoke(app, ["validate", str(folder / "x.yaml")], catch_exceptions=False)
    return result.exit_code, " ".join((result.stdout + result.stderr).split())


@pytest.mark.parametrize(("kind", "content", "told"), BROKEN, ids=range(len(BROKEN)))
def test_a_broken_input_is_refused_with_what_is_wrong(
    tmp_path: Path, kind: str, content: str | bytes, told: str
) -> None:
    status, said = validated(tmp_path, kind, content)
    assert told in said
    assert status == 2 and ".log)" not in said


@pytest.mark.parametrize(("kind", "content", "told"), ODD, ids=range(len(ODD)))
def test_an_odd_input_is_read_as_it_was_meant_and_told(
    tmp_path: Path, kind: str, content: str | bytes, told: str
) -> None:
    status, said = validated(tmp_path, kind, content)
    assert told in said
    assert status == 0
