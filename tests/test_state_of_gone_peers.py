"""What peers keep does not grow with the peers that were there once and are gone."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Any

import pytest
from small_trial import make_plan, trial_spec

from emulator.contract.registry import SYSTEMS
from emulator.experiment.file.spec import TrialSpec
from emulator.network.build_network import build_network
from emulator.runtime.virtual.event_loop import VirtualWorld
from emulator.telemetry.recorder import Recorder

END = 600.0
STAY = 4
"""The peers that stay; of the others one comes each `EVERY` seconds and is there for `STAYS`."""
EVERY, STAYS = 4.0, 45.0
BOUNDED = {
    "_seen._entries": "the events seen last, a fixed number",
    "_here": "the events to be pulled, a fixed number",
    "_estimates": "the round trips measured last, the parameter `round_trips`",
    "_greedy[]": "the candidates since knowledge changed last, at most all that are known",
}
"""State that grows until it has a size of its own."""
OPT_FULL = {"name": "opt", "parameters": {"knowledge": "full", "directory": 0}}


def sizes_in(root: object) -> dict[str, int]:
    """Return the sizes of all containers that a component of a protocol reaches, by their attributes'
    names."""
    found: dict[str, int] = {}
    seen: set[int] = set()
    todo: list[tuple[Any, str]] = [(root, type(root).__name__)]
    while todo:
        thing, path = todo.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, (dict, set, list, deque)):
            found[path] = found.get(path, 0) + len(thing)
            held = thing.values() if isinstance(thing, dict) else thing
            todo += [(each, f"{path}[]") for each in held]
        elif type(thing).__module__.startswith("emulator.protocols"):
            slots = [name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())]
            for name in {*getattr(thing, "__dict__", {}), *slots} - {"environment", "_environment"}:
                if (part := getattr(thing, name, None)) is not None:
                    todo.append((part, f"{path}.{name}"))
    return found


def world_of(system: dict[str, Any], folder: Path) -> VirtualWorld:
    serves = SYSTEMS[system["name"]].serves
    coming = int((END - 2) / EVERY)
    sessions = [(peer, 0.0, END) for peer in range(STAY)]
    for number in range(coming):
        start = 1.0 + number * EVERY
        sessions.append((STAY + number, start, min(END, start + STAYS)))
    peers = STAY + coming
    made = trial_spec(system["name"], peers, END).model_dump(mode="json") | {"system": system}
    if serves == "lookups":
        made["workload"] = {"lookups": {"rate": 1}}
    spec = TrialSpec.model_validate(made)
    times = [20.0 + 3.0 * number for number in range(int((END - 30) / 3))]
    plan = make_plan(
        peers,
        sessions,
        [(peer, peer % 3, 0.0, END) for peer in range(peers)] if serves == "topics" else (),
        [(at, n % STAY, n % 3) for n, at in enumerate(times)] if serves == "topics" else (),
        lookups=[(at, n % STAY, n * 2**120 % 2**128) for n, at in enumerate(times)]
        if serves == "lookups"
        else (),
    )
    recorder = Recorder(folder, "virtual", experiment="x", trial="t", seed=1, start_unix_ns=10**18)
    return VirtualWorld(spec, plan, build_network(spec.network, [0] * peers, 1), recorder)


@pytest.mark.parametrize(
    "system",
    [{"name": "oscar"}, {"name": "chord"}, {"name": "kademlia"}, {"name": "scribe-pastry"}, OPT_FULL],
    ids=lambda system: system["name"],
)
def test_what_peers_keep_does_not_grow_with_those_that_are_gone(
    system: dict[str, Any], tmp_path: Path
) -> None:
    world = world_of(system, tmp_path)
    seen: list[dict[str, int]] = []
    for at in (END / 3, END * 2 / 3, END - 5):
        world.run_until(at)
        total: dict[str, int] = {}
        for peer in range(STAY):
            life = world._lives[peer]
            assert life is not None
            for _, component in life.components():
                for path, size in sizes_in(component).items():
                    total[path] = total.get(path, 0) + size
        seen.append(total)
    world.recorder.close()
    assert world.delivered > 0
    first, second, last = seen
    grown = {
        path: (first.get(path, 0), second.get(path, 0), size)
        for path, size in last.items()
        if size > 1.25 * second.get(path, 0) > 1.5 * first.get(path, 0) and size - first.get(path, 0) > 30
    }
    assert {p: g for p, g in grown.items() if not p.endswith(tuple(BOUNDED))} == {}
