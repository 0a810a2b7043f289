"""Compiles the protocol rooms and the virtual world by mypyc, from the source that Python interprets.

    python -m emulator.compiler.build

It needs a C compiler. Modules that import pydantic are left out: parameters are read once, when a peer is
made.
"""

from __future__ import annotations

import json
import os
import shutil
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from emulator.compiler import finder
from emulator.compiler.finder import FOLDER, KERNELS, ROOT, compiled_modules, digest, package_modules, sources

_LIBRARY = "trellis_core"
_KERNEL_ARGUMENTS = ["-O2", "-Wall", "-Wextra", "-fvisibility=hidden", "-ffp-contract=off"]
"""With the last one a sum of products is rounded as in Python, on every processor."""


def build(folder: Path, packages: Sequence[Path] = ()) -> None:
    """Compile Trellis, and the packages in these folders, into one library in `folder`, which is replaced.

    It is one library because classes of a package inherit from those of Trellis, and calls between compiled
    classes of one library are direct. Raises SystemExit if mypyc or the C compiler complains.
    """
    from mypyc.build import include_dir, mypycify
    from setuptools import Extension, setup
    from setuptools.command.build_ext import build_ext

    class _ParallelBuild(build_ext):  # type: ignore[misc]
        """Compiles as many files of the library, and then as many of its modules, at a time as there are
        processors."""

        extensions: list[Extension]

        def build_extensions(self) -> None:
            library, *modules = self.extensions
            compile_one, link = self.compiler._compile, self.compiler.link
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                compiling: list[Future[None]] = []

                def link_when_compiled(*what: Any, **how: Any) -> None:
                    for one in compiling:
                        one.result()
                    link(*what, **how)

                self.compiler._compile = lambda *what: compiling.append(pool.submit(compile_one, *what))
                self.compiler.link = link_when_compiled
                self.extensions = [library]
                super().build_extensions()
            self.compiler._compile, self.compiler.link = compile_one, link
            self.extensions, self.parallel = modules, os.cpu_count()
            super().build_extensions()

    modules = compiled_modules()
    of_packages = {package: package_modules(package) for package in packages}
    with tempfile.TemporaryDirectory() as work:
        here = Path.cwd()
        os.chdir(work)
        try:
            paths = [*_copy(modules, Path(work)), *_copy_packages(of_packages, Path(work))]
            extensions: list[Extension] = mypycify(
                ["--config-file=", "--ignore-missing-imports", "--follow-imports=silent", *paths],
                opt_level="2",
                debug_level="0",
                multi_file=True,
                target_dir=str(Path(work) / "c"),
                group_name=_LIBRARY,
            )
            # Modules of the library then call each other directly, not through the table of the loader.
            extensions[0].extra_compile_args = [*extensions[0].extra_compile_args, "-fvisibility=hidden"]
            kernels = sorted(Path(*KERNELS.split(".")).parent.glob("*.c"))
            files = [str(path) for path in kernels]
            for_kernels = [*_KERNEL_ARGUMENTS, "-isystem", include_dir()]
            extensions.append(Extension(KERNELS, files, extra_compile_args=for_kernels))
            arguments = ["-q", "build_ext", "--build-lib", "built", "--build-temp", "objects"]
            setup(
                name=_LIBRARY,
                packages=[],
                ext_modules=extensions,
                script_args=arguments,
                cmdclass={"build_ext": _ParallelBuild},
            )
            built = Path(work) / "built"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            for path in built.rglob("*.so"):
                name = ".".join(path.relative_to(built).parts)
                shutil.copyfile(path, folder / name)
        finally:
            os.chdir(here)
    manifest = {
        "suffix": EXTENSION_SUFFIXES[0],
        "library": f"{_LIBRARY}__mypyc",
        "rooms": [*finder.ROOMS],
        "sources": sources(),
        "packages": {
            package.name: {
                "folder": str(package),
                "sources": {module: digest(path) for module, path in found.items()},
            }
            for package, found in of_packages.items()
        },
    }
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1))


def _copy(modules: list[str], work: Path) -> Iterator[str]:
    """Copy the sources into one tree, with all that they import."""
    for top in ("emulator", "trellis"):
        name = Path(top).name
        shutil.copytree(ROOT / top, work / name, ignore=shutil.ignore_patterns("_compiled", "__pycache__"))
    for module in modules:
        yield str(Path(*module.split(".")).with_suffix(".py"))


def _copy_packages(packages: Mapping[Path, Mapping[str, Path]], work: Path) -> Iterator[str]:
    """Lay the packages' sources out beside those of Trellis."""
    for package, modules in packages.items():
        shutil.copytree(package, work / package.name, ignore=shutil.ignore_patterns("__pycache__"))
        for module in modules:
            yield str(Path(*module.split(".")).with_suffix(".py"))


def missing_tools() -> str | None:
    """Name what compiling needs and this machine lacks."""
    if shutil.which(os.environ.get("CC", "cc")) is None:
        return "A C compiler was"
    if not (Path(sysconfig.get_path("include")) / "Python.h").exists():
        return "Python's headers were"
    absent = [name for name in ("mypyc", "setuptools") if find_spec(name) is None]
    return f"{absent[0]} was" if absent else None


def main() -> None:
    """Run the program, which says in one line what it did."""
    if (missing := missing_tools()) is not None:
        print(
            f"{missing} not found: the protocols are interpreted, which works, seven to twelve times slower. "
            "Install what is missing and build again: by `make environment` in a clone, else by installing "
            "the sdist again."
        )
        return
    build(FOLDER)
    print(f"{len(compiled_modules())} modules are compiled.")


if __name__ == "__main__":
    main()
