"""An experiment that is good, and the command that refuses what is made of it."""

from __future__ import annotations

import time
from pathlib import Path

from typer.testing import CliRunner, Result

from trellis.command.cli import app

GOOD = """\
name: small
system: {name: vitis}
peers: 20
phases: {join: 10 s, settle: 30 s, measure: 30 s, drain: 10 s}
network: {latency: {kind: king, hosts: 50}, jitter: 1 ms}
workload:
  subscriptions: {kind: random, topics: 100, per_peer: 10, buckets: 10}
  publications: {events: 20, rates: {kind: power-law, alpha: 1.0}}
churn: {model: {kind: poisson, mean_session: 1 h, mean_gap: 1 h}}
vary: {network.loss: [0, 0.1]}
"""


LIMIT_S = 2.0
"""Seconds of processor time in which bad input is refused."""


def refused(arguments: list[str], limit: float = LIMIT_S) -> str:
    """Return what the command says while it refuses this with exit status 2."""
    began = time.process_time()
    result: Result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    told = result.stdout + result.stderr
    assert result.exit_code == 2, told
    assert time.process_time() - began < limit
    assert "Traceback" not in told
    assert ".log)" not in told, "it was not foreseen"
    assert len(told) < 20_000
    return told


def write(folder: Path, content: str | bytes) -> Path:
    """Return the experiment file of this content, in the folder."""
    path = folder / "experiment.yaml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path
