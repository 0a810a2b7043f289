"""The packages that took part in a run, and the code that they had."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from emulator.compiler.finder import why_package_interpreted
from emulator.contract.packages import installed_packages


@cache
def package_versions() -> dict[str, str | None]:
    """Return the version, digest and form of each installed package that adds something to Trellis.

    The digest is of its Python files; a package with the same digest is the same code.
    """
    return {
        f"package {package.name}": ", ".join(
            (
                package.version,
                *(
                    f"{module} {_digest(module)} {form_of(why_package_interpreted(module))}"
                    for module in package.modules
                ),
            )
        )
        for package in installed_packages()
    }


def form_of(why_interpreted: str) -> str:
    return f"interpreted: {why_interpreted}" if why_interpreted else "compiled"


def _digest(module: str) -> str:
    """Return the first twelve digits of the SHA-256 of all Python files of a package or of a single
    module."""
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        return "not found"
    origin = Path(spec.origin)
    folder = origin.parent
    paths = sorted(folder.rglob("*.py")) if origin.name == "__init__.py" else [origin]
    digest = hashlib.sha256()
    for path in paths:
        digest.update(f"{path.relative_to(folder)}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
