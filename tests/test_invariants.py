"""Invariants on the states of all peers: where they do not hold, and what an experiment may ask of them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import small_trial
from chord_world import ChordWorld
from small_trial import make_plan
from typer.testing import CliRunner

from analysis.contract.trials import TrialRecord
from analysis.expectations import Broken as NotAsExpected
from analysis.expectations import judge_invariants
from emulator.contract.identifiers import ClockwiseRing
from emulator.contract.invariants import Broken, Invariant, PeersUp
from emulator.contract.registry import SYSTEMS
from emulator.contract.system import System
from emulator.experiment.file.spec import SystemSpec, TrialSpec
from emulator.experiment.run.seals import seal
from emulator.files.damage import DamagedFile
from emulator.protocols.gossip import view_invariant
from emulator.protocols.overlays.chord import ring_invariant
from emulator.protocols.overlays.chord.virtual_nodes import VirtualNodes
from emulator.protocols.overlays.pastry import leaf_set_invariant
from emulator.protocols.pubsub.scribe import tree_invariant
from trellis.command.cli import app


class Peers(PeersUp):
    """Peers made by hand, with one component each."""

    now = 100.0

    def __init__(self, parts: Mapping[int, Any], down: Mapping[int, float] | None = None) -> None:
        self._parts = parts
        self._down = down or {}

    def parts(self, kind: type[Any]) -> Iterator[tuple[int, Any]]:
        return iter(()) if kind is VirtualNodes else iter(self._parts.items())

    def down_for(self, peer: int) -> float:
        return 0.0 if peer in self._parts else self._down.get(peer, math.inf)


def chord(successors: Mapping[int, list[int]], joining: tuple[int, ...] = ()) -> Broken | None:
    """Judge peers whose identifiers are 16 times their numbers, on a ring of 256."""
    space = ClockwiseRing(8)
    return ring_invariant.broken(
        Peers(
            {
                peer: SimpleNamespace(
                    environment=SimpleNamespace(peer=peer),
                    ready=peer not in joining,
                    identifier=16 * peer,
                    space=space,
                    state=SimpleNamespace(successors=[SimpleNamespace(peer=each) for each in those]),
                )
                for peer, those in successors.items()
            }
        )
    )


@pytest.mark.parametrize(
    "successors",
    [
        {},
        {3: []},
        {1: [2], 2: [3], 3: [1]},
        {1: [2], 2: [9, 3], 3: [1]},
        {1: [3], 2: [3], 3: [1]},
        {0: [5], 5: [9], 9: [0], 4: [5], 3: [4]},
    ],
)
def test_one_ordered_ring_with_appendages_is_sound(successors: dict[int, list[int]]) -> None:
    assert chord(successors) is None


@pytest.mark.parametrize(
    "successors, peers, text",
    [
        ({1: [2], 2: [1], 3: [4], 4: [3]}, [1, 3], "there are 2 rings, of 2 and 2 peers"),
        ({1: [3], 3: [2], 2: [1]}, [1, 3, 2], "goes round more than once"),
        ({1: [2], 2: [9], 3: [1]}, [2], "none of its successors is up"),
    ],
)
def test_rings_that_chord_does_not_allow_are_told(
    successors: dict[int, list[int]], peers: list[int], text: str
) -> None:
    broken = chord(successors)
    assert broken is not None and broken.peers == peers and text in broken.text


def test_a_peer_that_joins_is_on_no_ring_yet() -> None:
    assert chord({1: [2], 2: [1], 3: []}, joining=(3,)) is None


def pastry(leaves: Mapping[int, tuple[list[int], list[int]]]) -> Broken | None:
    """Judge peers whose identifiers are their numbers, by their leaves (left, right), nearest first."""
    return leaf_set_invariant.broken(
        Peers(
            {
                peer: SimpleNamespace(ready=True, identifier=peer, leaves=Leaves(*sides))
                for peer, sides in leaves.items()
            }
        )
    )


class Leaves:
    def __init__(self, left: list[int], right: list[int]) -> None:
        self.left, self.right = ([(0, peer) for peer in side] for side in (left, right))

    def __len__(self) -> int:
        return len(self.left) + len(self.right)


def test_leaf_sets_that_form_one_ring_are_sound() -> None:
    assert pastry({1: ([], [])}) is None
    assert pastry({1: ([3], [2]), 2: ([1], [9, 3]), 3: ([2, 1], [])}) is None


@pytest.mark.parametrize(
    "leaves, peers, text",
    [
        ({1: ([], [2]), 2: ([], [1]), 3: ([], [4]), 4: ([], [3])}, [1, 3], "there are 2 rings"),
        ({1: ([], [3]), 3: ([], [2]), 2: ([], [1])}, [1, 3, 2], "goes round more than once"),
        ({1: ([], [2]), 2: ([], [9]), 3: ([], [1])}, [2], "none of its leaves is up"),
    ],
)
def test_leaf_sets_that_form_no_ring_are_told(
    leaves: dict[int, tuple[list[int], list[int]]], peers: list[int], text: str
) -> None:
    broken = pastry(leaves)
    assert broken is not None and broken.peers == peers and text in broken.text


def scribe(parents: Mapping[int, Mapping[int, int]]) -> Broken | None:
    return tree_invariant.broken(
        Peers({peer: SimpleNamespace(parents=lambda of=of: of) for peer, of in parents.items()})
    )


def test_a_loop_of_parents_in_one_topic_is_told() -> None:
    assert scribe({1: {7: 2}, 2: {7: 3, 8: 1}, 3: {8: 2}}) is None
    broken = scribe({1: {7: 2}, 2: {7: 3}, 3: {7: 2, 8: 1}})
    assert broken == Broken([2, 3], "the tree of topic 7 has a loop")


def judged(
    down: dict[int, float], *, period: float = 1.0, size: int = 2, channel: str = "a"
) -> Broken | None:
    """Judge the views of peers 1 to 3, of which peer 3 is on a channel of this name and the others on "a"."""
    views = {1: [2, 8], 2: [9], 3: [1]}
    parts = {
        peer: SimpleNamespace(
            period=period,
            views=SimpleNamespace(size=size, channel=channel if peer == 3 else "a"),
            view=lambda those=those: [SimpleNamespace(peer=each) for each in those],
        )
        for peer, those in views.items()
    }
    return view_invariant.broken(Peers(parts, down))


def test_a_view_may_hold_who_went_a_short_time_ago() -> None:
    assert judged({8: 29.0, 9: 30.0}) is None
    assert judged({8: 31.0}) == Broken([1], "1 views hold a peer that has been down for up to 31 s")
    assert judged({8: 40.0, 9: 31.0}) == Broken(
        [1, 2], "2 views hold a peer that has been down for up to 40 s"
    )


@pytest.mark.parametrize(("period", "longest"), [(0.1, 30.0), (1.0, 30.0), (10.0, 300.0)])
def test_the_time_for_which_a_view_may_hold_the_dead_follows_its_rounds(
    period: float, longest: float
) -> None:
    assert judged({8: longest}, period=period) is None
    assert judged({8: longest + 1}, period=period) is not None


def test_a_view_that_has_places_for_all_who_are_up_may_hold_the_dead() -> None:
    """Newscast drops an entry for fresher ones alone: there are none where all that are up have places."""
    assert judged({8: 99.0}, size=2) is not None
    assert judged({8: 99.0}, size=3) is None
    assert judged({8: 99.0}, size=2, channel="b") is None


SPLIT = {"name": "split", "at": "60 s", "for": "20 s", "partition": {"share": 0.5}}


def trial(
    tmp_path: Path, invariants: dict[str, Any] | None, name: str = "a"
) -> tuple[TrialSpec, small_trial.Outcome]:
    """Run 12 peers of Chord, half of which are cut off from 60 to 80 s."""
    given = {} if invariants is None else {"invariants": invariants}
    phases = {"join": "10 s", "settle": "30 s", "measure": "60 s", "drain": "0 s"}
    spec = small_trial.trial_spec(
        "chord",
        12,
        100.0,
        faults=[SPLIT],
        workload={"lookups": {"rate": 1.0}},
        phases=phases,
        **given,
    )
    parameters = {"stabilization": "2 s", "timeout": "500 ms"}
    spec = spec.model_copy(update={"system": SystemSpec(name="chord", parameters=parameters)})
    plan = make_plan(12, [(peer, peer / 2, 100.0) for peer in range(12)])
    plan = type(plan)(plan.peers, plan.sessions, _half(), **plan.tables)
    return spec, small_trial.run(spec, plan, tmp_path / name)


def _half() -> Any:
    import pyarrow as pa

    from emulator.experiment.plan.tables import FAULTS

    rows = [{"fault": 0, "name": "split", "peer": peer} for peer in range(6)]
    return pa.Table.from_pylist(rows, FAULTS)


def read(outcome: small_trial.Outcome) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(outcome.directory.invariants.read_text())
    return found


def test_a_partition_breaks_the_ring_and_the_times_before_it_do_not(tmp_path: Path) -> None:
    asked = {"every": "2 s", "hold": ["ring_is_one_cycle before split", "ring_is_one_cycle during split"]}
    spec, outcome = trial(tmp_path, asked)
    found = read(outcome)
    assert found["looks"] == {asked["hold"][0]: 10, asked["hold"][1]: 10}
    assert {each["invariant"] for each in found["broken"]} == {asked["hold"][1]}
    first = found["broken"][0]
    assert 60 < first["at_s"] < 80 and len(first["peers"]) == 2 and "2 rings, of" in first["text"]
    assert first["before"] == ["60 s: fault split begins"]
    assert ["since 60 s: fault split"] in [each["before"] for each in found["broken"]]
    assert outcome.fidelity.valid
    record = TrialRecord("c-1", "c", {}, spec, outcome.directory, {}, {})
    before, during = judge_invariants([record])
    assert before.holds and not during.holds
    assert "60 s: fault split begins" in during.broken[0].told


def test_what_broke_long_after_a_fault_names_that_fault(tmp_path: Path) -> None:
    _, outcome = trial(tmp_path, {"every": "6 s", "hold": ["ring_is_one_cycle from 12 s after split"]})
    first = read(outcome)["broken"][0]
    assert first["at_s"] > 90 and first["before"] == ["until 80 s: fault split"]


def test_looking_for_parts_of_another_class_leaves_classes_as_they_are(tmp_path: Path) -> None:
    """Compiled abstract classes share one cache of isinstance, which once made lookups no lookups."""
    trial(tmp_path, {"every": "10 s"})
    world = ChordWorld([16 * number for number in range(4)], 8)
    world.run(5)
    assert [peer for peer, _ in world.look_up(0, 40)] == [3]


def test_the_first_broken_one_ends_the_trial_if_asked(tmp_path: Path) -> None:
    _, outcome = trial(tmp_path, {"every": "2 s", "stop": True})
    found = read(outcome)
    assert len(found["broken"]) == 1 and found["looks"]["ring_is_one_cycle"] < 20
    assert not outcome.fidelity.valid
    (reason,) = outcome.fidelity.reasons
    assert "when the trial was ended: there are 2 rings" in reason


def test_looking_changes_nothing(tmp_path: Path) -> None:
    _, looked = trial(tmp_path, {"every": "1 s"}, "looked")
    _, plain = trial(tmp_path, None, "plain")
    assert looked.files() == plain.files()
    assert not plain.directory.invariants.exists()


def test_an_invariant_that_nobody_looked_at_is_not_as_expected(tmp_path: Path) -> None:
    spec, outcome = trial(tmp_path, {"every": "50 s", "hold": ["ring_is_one_cycle during split"]})
    record = TrialRecord("c-1", "c", {}, spec, outcome.directory, {}, {})
    (outcome_of,) = judge_invariants([record])
    assert outcome_of.broken == [NotAsExpected("c-1", None, "nobody looked at it")]
    outcome.directory.invariants.write_text('{"broken": [3]}')
    with pytest.raises(DamagedFile, match=r"invariants\.json is damaged"):
        judge_invariants([record])


@pytest.mark.parametrize("text", ['{"looks": {"ring_is_one_cycle": 30}, "broken": []}', None])
def test_invariants_that_were_edited_or_removed_since_are_not_believed(
    tmp_path: Path, text: str | None
) -> None:
    spec, outcome = trial(tmp_path, {"every": "5 s", "hold": ["ring_is_one_cycle"]})
    status = {"digests": seal(outcome.directory)}
    record = TrialRecord("c-1", "c", {}, spec, outcome.directory, status, {})
    (before,) = judge_invariants([record])
    file = outcome.directory.invariants
    file.unlink()
    if text is not None:
        file.write_text(text)
    (after,) = judge_invariants([record])
    told = "invariants.json was changed since the trial ended"
    assert told not in str(before.broken) and told in str(after.broken)


FILE = """\
name: small
system: {system}
peers: 10
workload: {workload}
faults: [{{name: split, at: 50 s, for: 10 s, partition: {{share: 0.5}}}}]
invariants: {invariants}
{more}
"""


@pytest.mark.parametrize(
    "system, invariants, more, told",
    [
        ("chord", "{hold: [ring_is_one_circle]}", "", 'Did you mean "ring_is_one_cycle"?'),
        ("chord", "{hold: [ring_is_one_cycle after spilt]}", "", 'there is no fault "spilt"'),
        ("chord", "{hold: [ring_is_one_cycle sometimes]}", "", '"sometimes" is no part of a trial'),
        ("chord", "{hold: [Ring 3]}", "", "is the name of an invariant of the system"),
        ("chord", "{every: 1 s}", "runtime: {kind: processes, hosts: 2}", "only the virtual clock"),
    ],
)
def test_what_cannot_be_asked_is_refused_at_its_line(
    tmp_path: Path, system: str, invariants: str, more: str, told: str
) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(
        FILE.format(system=system, workload="{lookups: {rate: 1}}", invariants=invariants, more=more)
    )
    result = CliRunner().invoke(app, ["validate", str(file)], catch_exceptions=False)
    assert result.exit_code == 2 and f"{file}:6: " in result.stderr
    assert told in " ".join(result.stderr.split())


def test_invariants_of_a_system_that_declares_none_are_refused_at_their_line(tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    attribute = "{name: x, low: 0, high: 1, sub_range: 0.5, presence: 1}"
    subscriptions = f"{{kind: ranges, per_peer: 1, attributes: [{attribute}]}}"
    workload = f"{{subscriptions: {subscriptions}, publications: {{events: 1}}}}"
    system = "{name: groups, parameters: {attributes: {x: [0, 1]}}}"
    file.write_text(FILE.format(system=system, workload=workload, invariants="{every: 1 s}", more=""))
    result = CliRunner().invoke(app, ["validate", str(file)], catch_exceptions=False)
    assert result.exit_code == 2 and f"{file}:6: " in result.stderr
    assert "groups declares no invariants" in " ".join(result.stderr.split())


def test_a_wrong_fault_is_told_without_the_invariants_that_name_it(tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    held = "{hold: [ring_is_one_cycle before split, ring_is_one_cycle until 1 s]}"
    text = FILE.format(system="chord", workload="{lookups: {rate: 1}}", invariants=held, more="")
    file.write_text(text.replace("at: 50 s", "at: 50"))
    result = CliRunner().invoke(app, ["validate", str(file)], catch_exceptions=False)
    assert result.exit_code == 2 and "2 problems" in result.stderr and "no fault" not in result.stderr
    assert "faults[0].at" in result.stderr and "invariants.hold[1]" in result.stderr


def test_an_invariant_that_raises_ends_the_trial_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Invariant("always", "It always holds.", f"{__name__}:_fails")
    chord_system = SYSTEMS["chord"]
    fields = {name: getattr(chord_system, name) for name in chord_system.__dataclass_fields__}
    monkeypatch.setitem(SYSTEMS, "chord", System(**fields | {"invariants": (own,)}))
    with pytest.raises(ZeroDivisionError, match=r"in the system chord, at 40\.000 s .* in _fails"):
        trial(tmp_path, {"every": "1 s"})


def _fails(up: PeersUp) -> Broken | None:
    raise ZeroDivisionError("here")
