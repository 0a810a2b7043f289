"""Finds the compiled form of modules, if it was built from the source as it is now.

`python -m emulator.compiler.build` compiles the modules of the protocol rooms and of the virtual world into
native code, in the folder `emulator/_compiled`. When it is there and no source has changed since, those
modules are imported from it; else, or with TRELLIS_INTERPRETED=1 in the environment, Python interprets their
source. Both do the same, one slower. `trellis compile` adds the modules of installed packages to the library.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[2]
LIBRARY = "TRELLIS_COMPILED"
"""Environment variable: the folder of the compiled library, where that of Trellis cannot be written to."""
FOLDER = Path(os.environ.get(LIBRARY) or ROOT / "emulator" / "_compiled")
"""The extension modules, and `manifest.json`: the digest of each module's source when it was compiled."""
ROOMS = ("compact", "protocols")
"""The folders of `emulator/` that are compiled whole."""
MODULES = (
    "emulator.contract.draws",
    "emulator.contract.gauges",
    "emulator.contract.identifiers",
    "emulator.contract.interests",
    "emulator.contract.held_messages",
    "emulator.contract.message_pool",
    "emulator.contract.outcomes",
    "emulator.contract.recent",
    "emulator.messages.catalogue",
    "emulator.messages.coding",
    "emulator.messages.fingerprint",
    "emulator.messages.message",
    "emulator.contract.protocol",
    "emulator.contract.broadcast_service",
    "emulator.contract.value_service",
    "emulator.contract.membership_service",
    "emulator.runtime.script_actor",
    "emulator.runtime.peer_channels",
    "emulator.runtime.damaged",
    "emulator.runtime.pending_requests",
    "emulator.runtime.virtual.event_queue",
    "emulator.runtime.virtual.life",
    "emulator.runtime.virtual.sent_pools",
    "emulator.runtime.virtual.events",
    "emulator.runtime.virtual.paused_peers",
    "emulator.runtime.virtual.skewed_life",
    "emulator.runtime.virtual.fair_way",
    "emulator.runtime.virtual.linked_world",
    "emulator.runtime.virtual.row_world",
    "emulator.runtime.virtual.event_loop",
    "emulator.runtime.delivery_judge",
    "emulator.network.access_links",
    "emulator.network.fair_links",
    "emulator.network.busy_peers",
    "emulator.network.link_use",
    "emulator.network.rate_change",
    "emulator.network.pair_order",
    "emulator.network.placed_loss",
    "emulator.network.shared_links",
    "emulator.network.peer_network",
    "emulator.telemetry.context",
    "emulator.telemetry.span_encoding",
    "emulator.telemetry.metric_batch",
    "emulator.telemetry.observation",
    "emulator.telemetry.recorder",
    "emulator.telemetry.message_counts",
)
KERNELS = "emulator.kernels.native"
"""The module of the kernels, which is compiled from the C files in its folder."""
_NOT_COMPILED = re.compile(r"^(from|import) pydantic\b", re.MULTILINE)
INTERPRETED = "TRELLIS_INTERPRETED"
"""The environment variable that has all modules interpreted, with any text but the empty one."""


class CompiledFinder(MetaPathFinder):
    """Finds the compiled modules before their sources."""

    def __init__(self, folder: Path, modules: Sequence[str]) -> None:
        self._folder = folder
        self._modules = frozenset(modules)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the extension module of that name, if it is one of ours."""
        if fullname not in self._modules:
            return None
        file = self._folder / (fullname + EXTENSION_SUFFIXES[0])
        return spec_from_file_location(fullname, file, loader=ExtensionFileLoader(fullname, str(file)))


def compiled_modules(rooms: Sequence[str] | None = None) -> list[str]:
    """Return the names of all modules that are compiled, if these rooms (by default `ROOMS`) are."""
    found = [*MODULES]
    messages = ROOT / "trellis" / "v1"
    found += [f"trellis.v1.{path.stem}" for path in messages.glob("*.py") if "_pb2" not in path.stem]
    for room in ROOMS if rooms is None else rooms:
        for path in (ROOT / "emulator" / room).rglob("*.py"):
            if not _NOT_COMPILED.search(path.read_text()):
                found.append(".".join(path.relative_to(ROOT).with_suffix("").parts))
    return sorted(module for module in found if not module.endswith("__init__"))


def package_modules(folder: Path) -> dict[str, Path]:
    """Return the modules of a package outside of this repository that can be compiled, with their sources.

    `folder` is the package's own. Modules that import pydantic and `__init__` stay as they are.
    """
    return {
        ".".join(path.relative_to(folder.parent).with_suffix("").parts): path
        for path in sorted(folder.rglob("*.py"))
        if path.stem != "__init__" and not _NOT_COMPILED.search(path.read_text())
    }


def sources(rooms: Sequence[str] | None = None) -> dict[str, str]:
    """Return the digest of the source of each module of Trellis that is compiled, if these rooms are."""
    found = {module: digest(source_of(module)) for module in compiled_modules(rooms)}
    return found | {KERNELS: digest(*sorted(source_of(KERNELS).parent.glob("*.[ch]")))}


def source_of(module: str) -> Path:
    """Return the file that a module is compiled from."""
    return ROOT / Path(*module.split(".")).with_suffix(".py")


def digest(*paths: Path) -> str:
    """Return the digest of source files; a missing file counts as an empty one."""
    found = hashlib.sha256()
    for path in paths:
        found.update(path.read_bytes() if path.exists() else b"")
    return found.hexdigest()


def install() -> str:
    """Import compiled modules from now on. Returns why they cannot be used, or an empty text if they can."""
    if os.environ.get(INTERPRETED):
        return f"{INTERPRETED} is set"
    try:
        manifest = json.loads((FOLDER / "manifest.json").read_text())
    except (OSError, ValueError):
        return "nothing was compiled"
    if manifest.get("suffix") != EXTENSION_SUFFIXES[0]:
        return "it was compiled for another Python"
    known, now = manifest["sources"], sources(manifest.get("rooms"))
    for module in sorted(known.keys() | now.keys()):
        if known.get(module) != now.get(module):
            return f"{module} has changed since it was compiled"
    modules = [*known, manifest["library"]]
    for package, told in manifest.get("packages", {}).items():
        WHY_PACKAGES[package] = _why_stale(told)
        if not WHY_PACKAGES[package]:
            modules += told["sources"]
    sys.meta_path.insert(0, CompiledFinder(FOLDER, modules))
    return ""


def _why_stale(told: dict[str, Any]) -> str:
    """Return why what was compiled of a package is not what its source says; empty if it is."""
    folder = Path(told["folder"])
    now = {module: digest(path) for module, path in package_modules(folder).items()}
    for module in sorted(told["sources"].keys() | now.keys()):
        if told["sources"].get(module) != now.get(module):
            return f"{module} has changed since it was compiled"
    return ""


def why_package_interpreted(package: str) -> str:
    """Return why this process interprets a package, which is named as it is imported; empty if it is
    compiled."""
    return WHY_INTERPRETED or WHY_PACKAGES.get(package, "it was not compiled: `trellis compile` does that")


WHY_PACKAGES: dict[str, str] = {}
"""For each package that was compiled with Trellis, why this process interprets it; empty if it does not."""
WHY_INTERPRETED = install()
"""Why this process interprets the protocols; empty if they are compiled."""
