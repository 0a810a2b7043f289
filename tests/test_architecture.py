"""Who may know whom: the rooms of the house, and what protocols must not touch."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Set
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from setuptools import find_packages

ROOT = Path(__file__).parent.parent

SANS_IO = (
    "emulator.compact",
    "emulator.kernels",
    "emulator.contract.gauges",
    "emulator.contract.interests",
    "emulator.contract.outcomes",
    "emulator.messages",
    "emulator.contract.identifiers",
    "emulator.contract.protocol",
    "emulator.protocols",
)
FORBIDDEN = {
    "asyncio",
    "concurrent",
    "datetime",
    "grpc",
    "kubernetes",
    "multiprocessing",
    "numpy",
    "opentelemetry",
    "os",
    "secrets",
    "select",
    "selectors",
    "socket",
    "subprocess",
    "threading",
    "time",
    "uuid",
}
"""What reads a clock, does input or output, or draws randomness of its own."""

FLOORS: list[set[str]] = [
    {"emulator.compact", "emulator.files", "emulator.compiler", "emulator.kernels"},
    {"emulator.messages", "emulator.trust"},
    {"emulator.contract", "emulator.tracing"},
    {
        "emulator.protocols.gossip",
        "emulator.protocols.membership",
        "emulator.churn",
        "emulator.network",
        "emulator.faults",
    },
    {"emulator.protocols.overlays", "emulator.workload"},
    {
        "emulator.protocols.broadcast",
        "emulator.protocols.pubsub",
        "emulator.protocols.values",
        "emulator.experiment.file",
    },
    {"emulator.experiment.plan"},
    {"emulator.experiment.run"},
    {"emulator.layouts", "emulator.telemetry"},
    {"emulator.runtime"},
    {"emulator.runtime.virtual", "emulator.runtime.realtime"},
    {"emulator.testing", "emulator.fleet.host"},
    {"emulator.fleet.coordinator"},
    {"emulator.fleet", "emulator.fleet.pods"},
    {"emulator.trials"},
    {"emulator"},
    {"analysis.engine"},
    {"analysis.otlp"},
    {"analysis.charts"},
    {"analysis.contract"},
    {"analysis.tables"},
    {"analysis.measures"},
    {"analysis.claims"},
    {"analysis.report"},
    {"analysis.export"},
    {"analysis"},
    {"analysis.workloads"},
    {"trellis", "trellis.on_spark"},
    {"trellis.command"},
    {"services"},
]
"""The floors from the lowest up: a room may import those on the floors below it. The longest name that fits
a module says where it is."""


def modules() -> dict[str, Path]:
    found = {}
    for package in ("emulator", "analysis", "services", "trellis"):
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            if parts[:2] == ("trellis", "v1"):
                continue  # generated
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


@cache
def imports(module: str) -> frozenset[str]:
    """Return the modules that it imports, however late in it; of `from a import b` the module b if it is
    one."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(MODULES[module].read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relatively"
            base = node.module or ""
            found |= {f"{base}.{a.name}" if f"{base}.{a.name}" in MODULES else base for a in node.names}
    return frozenset(found)


def reachable(module: str) -> dict[str, list[str]]:
    """Return all that it imports through modules of the project, with the way there."""
    ways = {module: [module]}
    waiting = [module]
    while waiting:
        here = waiting.pop()
        for imported in imports(here) if here in MODULES else ():
            if imported not in ways:
                ways[imported] = [*ways[here], imported]
                waiting.append(imported)
    return ways


def inside(module: str, rooms: tuple[str, ...] | Set[str]) -> bool:
    return any(module == room or module.startswith(room + ".") for room in rooms)


PROTOCOL_MODULES = [module for module in MODULES if inside(module, SANS_IO)]


def place(module: str) -> tuple[int, str]:
    """Return (floor, the entry of `FLOORS` that says so)."""
    fitting = [
        (name, number) for number, names in enumerate(FLOORS) for name in names if inside(module, {name})
    ]
    assert fitting, f"{module} has no floor"
    name, number = max(fitting, key=lambda entry: len(entry[0]))
    return number, name


def test_there_are_protocols_to_check() -> None:
    assert {
        "emulator.protocols.pubsub.vitis.vitis",
        "emulator.protocols.overlays.small_world.overlay",
        "emulator.protocols.gossip.newscast",
    } <= set(PROTOCOL_MODULES)


@pytest.mark.parametrize("module", PROTOCOL_MODULES)
def test_protocols_do_no_input_or_output_and_read_no_clock(module: str) -> None:
    offences = [
        " -> ".join(way) for name, way in reachable(module).items() if name.split(".")[0] in FORBIDDEN
    ]
    assert not offences


def global_randomness(tree: ast.AST) -> Iterator[str]:
    """Yield uses of the module `random` other than its class `Random`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "random":
            yield from (f"from random import {a.name}" for a in node.names if a.name != "Random")
        elif isinstance(node, ast.Import):
            yield from (f"random as {a.asname}" for a in node.names if a.name == "random" and a.asname)
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "random"
            and node.attr != "Random"
        ):
            yield f"random.{node.attr}, line {node.lineno}"
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in {"random.Random", "Random"}:
            yield f"{ast.unparse(node)}, line {node.lineno}"


@pytest.mark.parametrize("module", PROTOCOL_MODULES)
def test_protocols_draw_no_randomness_of_their_own(module: str) -> None:
    assert not list(global_randomness(ast.parse(MODULES[module].read_text())))


@pytest.mark.parametrize(
    "code",
    [
        "import random\nrandom.random()",
        "import random\nrandom.seed(1)",
        "import random as r",
        "from random import choice",
        "import random\nrandom.Random()",
    ],
)
def test_randomness_of_its_own_would_be_noticed(code: str) -> None:
    assert list(global_randomness(ast.parse(code)))


@pytest.mark.parametrize("module", [m for m in MODULES if m != "emulator"])
def test_a_room_knows_only_the_rooms_below_it(module: str) -> None:
    here, room = place(module)
    for imported in imports(module) & MODULES.keys():
        floor, other_room = place(imported)
        allowed = floor < here or room == other_room
        assert allowed, f"{module} imports {imported}, which is not below it"


def test_no_files_import_each_other_in_a_circle() -> None:
    graph = {module: (imports(module) & MODULES.keys()) - {module} for module in MODULES}
    TopologicalSorter(graph).prepare()


def test_only_the_registry_names_the_systems() -> None:
    """Adding a system is adding a file and a line in the registry, and a layout if it needs one."""
    for module in MODULES:
        if module != "emulator.contract.registry" and not inside(
            module, ("emulator.protocols.pubsub", "emulator.layouts")
        ):
            assert not [name for name in imports(module) if inside(name, ("emulator.protocols.pubsub",))], (
                module
            )


OF_KINDS = {
    *(f"analysis.measures.{name}" for name in ("by_topic", "by_content", "of_kademlia", "of_lookups")),
    *(f"analysis.measures.{name}" for name in ("routing", "topology")),
    *(f"analysis.tables.{name}" for name in ("content", "installations", "lookups", "routing", "topology")),
}
"""What trials of some kinds of workload are judged by."""


def test_only_the_kinds_of_workload_name_what_they_are_judged_by() -> None:
    """Adding a kind is adding its file and its entry: no other part of the analysis changes."""
    for module in MODULES:
        if not inside(module, {"analysis.workloads"} | OF_KINDS):
            assert not imports(module) & OF_KINDS, module
            assert not inside("analysis.workloads", imports(module)), module
        if inside(module, {"analysis"}) and module != "analysis.contract.workload_kinds":
            text = MODULES[module].read_text()
            for node in ast.walk(ast.parse(text)) if "serves" in text else ():
                if isinstance(node, ast.Compare) and "serves" in ast.unparse(node):
                    texts = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant)]
                    assert not {"topics", "content", "lookups"} & set(texts), module


def test_every_room_is_installed() -> None:
    rooms = {name for name, path in MODULES.items() if path.name == "__init__.py"}
    folders = {path.parent for name, path in MODULES.items() if name.startswith(("emulator.", "analysis."))}
    assert all((folder / "__init__.py").exists() for folder in folders)
    with (ROOT / "pyproject.toml").open("rb") as file:
        patterns = tomllib.load(file)["tool"]["setuptools"]["packages"]["find"]["include"]
    assert rooms <= set(find_packages(str(ROOT), include=patterns))


def test_a_host_is_small_as_it_needs_no_library_for_arrays() -> None:
    """A pod with one peer is to have 45 MiB; numpy and Arrow alone have 40."""
    code = "import services.peer, emulator.telemetry.exporter, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert "grpc" in done.stdout.split()
    assert not {"numpy", "pyarrow", "pandas", "kubernetes", "pyroute2"} & set(done.stdout.split())
