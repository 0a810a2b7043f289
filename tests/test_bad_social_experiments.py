"""Experiments with Quasar, OPT, groups or followers that no trial can be made of."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.experiment.file.document import ExperimentError
from emulator.experiment.file.load import load

EXPERIMENT = """\
name: bad
peers: 100
system: {system}
workload:
  subscriptions: {subscriptions}
  publications: {{events: 10}}
"""
GROUPS = "{kind: groups, size: 10}"


def told(tmp_path: Path, system: str, subscriptions: str = GROUPS) -> str:
    path = tmp_path / "bad.yaml"
    path.write_text(EXPERIMENT.format(system=system, subscriptions=subscriptions))
    with pytest.raises(ExperimentError) as refused:
        load(path)
    return str(refused.value)


@pytest.mark.parametrize(
    ("system", "problem"),
    [
        (
            "{name: opt, parameters: {knowledge: full, directory: 100}}",
            "bad.yaml:3: system.parameters.directory: is 100, but the peers are numbered from 0 to 99",
        ),
        ("{name: opt, parameters: {greedy: 0, random: 0}}", "nobody would seek a link"),
        (
            "{name: quasar-random-graph, parameters: {brnach: 3}}",
            "bad.yaml:3: system.parameters.brnach: is not a parameter of quasar-random-graph",
        ),
        ("{name: quasar-pastry, parameters: {filter_bytes: 500}}", "500 is no power of two"),
        (
            "{name: quasar-random-graph, parameters: {overlay: {degree: 4, spread: 3}}}",
            "bad.yaml:3: system.parameters.overlay: ",
        ),
    ],
)
def test_a_system_that_cannot_be_is_told_with_its_line(tmp_path: Path, system: str, problem: str) -> None:
    assert problem in told(tmp_path, system)


@pytest.mark.parametrize(
    ("subscriptions", "problem"),
    [
        (
            "{kind: groups, size: 2.5}",
            "bad.yaml:5: workload.subscriptions.size: is 2.5, but has to be a share",
        ),
        (
            "{kind: groups, size: 101}",
            "bad.yaml:5: workload.subscriptions.size: 101 members, but there are 100 peers",
        ),
        ("{kind: groups, smallest: 101}", "smallest: 101 members, but there are 100 peers"),
        ("{kind: groups, smallest: 9, largest: 5}", "9 members, but the largest group has 5"),
        ("{kind: followers}", "bad.yaml:5: workload.subscriptions.largest: is missing"),
        ("{kind: edges, file: few.edges}", "has 3 nodes, but there are 100 peers"),
        ("{kind: edges, file: words.edges}", "words.edges:2: '3 x' is not two whole numbers"),
    ],
)
def test_groups_and_followers_that_cannot_be_are_told_with_their_line(
    tmp_path: Path, subscriptions: str, problem: str
) -> None:
    (tmp_path / "few.edges").write_text("1 2\n2 3\n")
    (tmp_path / "words.edges").write_text("1 2\n3 x\n")
    assert problem in told(tmp_path, "{name: opt}", subscriptions)
