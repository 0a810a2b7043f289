"""Makes the message classes of a package that adds a system, while the package is built or installed.

The package's `pyproject.toml` asks for it, and its `.proto` files lie in its folders of Python modules:

    [tool.setuptools.cmdclass]
    build_py = "emulator.messages.building.BuildMessages"
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from setuptools.command.build_py import build_py

from emulator.messages.generate import Made, generate


class BuildMessages(build_py):  # type: ignore[misc] # setuptools has no types
    """Writes `name.py` beside each `name.proto` before the modules are collected."""

    def run(self) -> None:
        """Generate the classes, then do what setuptools does.

        Raises ValueError for a file that cannot be used.
        """
        folders = [Path(self.get_package_dir(package)) for package in self.packages or ()]
        found = sorted(file for folder in folders for file in folder.glob("*.proto"))
        if found:
            write_messages(found)
        super().run()


def write_messages(files: Sequence[Path], top: Path = Path(), out: Path | None = None) -> list[Made]:
    """Write the classes of files below `top` (what their imports are relative to); return what was made.

    A message is named with its proto package, such as `push_gossip.Rumour`. The files may import those of
    Trellis, such as `trellis/v1/options.proto`. `out` is `top` if it is not given. Raises ValueError for a
    file that cannot be used.
    """
    import trellis.v1

    for file in files:
        if file.exists() and not file.is_file():  # protoc would wait for what a pipe brings
            raise ValueError(f"{file} is no file")
    installed = Path(str(trellis.v1.__file__)).parents[2]
    return generate(files, [top, installed], top if out is None else out, reserved="trellis")
