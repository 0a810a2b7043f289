"""The backend that builds Trellis' wheel, which has the generated messages and the compiled protocols.

It is that of setuptools with two steps of its own, which `pyproject.toml` names. An editable installation is
left to `make environment`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from setuptools.build_meta import build_editable as build_editable
from setuptools.build_meta import build_sdist as build_sdist
from setuptools.build_meta import build_wheel as build_wheel
from setuptools.build_meta import get_requires_for_build_editable as get_requires_for_build_editable
from setuptools.build_meta import get_requires_for_build_sdist as get_requires_for_build_sdist
from setuptools.build_meta import get_requires_for_build_wheel as get_requires_for_build_wheel
from setuptools.build_meta import prepare_metadata_for_build_editable as prepare_metadata_for_build_editable
from setuptools.build_meta import prepare_metadata_for_build_wheel as prepare_metadata_for_build_wheel
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

from emulator.compiler.build import missing_tools
from emulator.compiler.finder import ROOT, WHY_INTERPRETED

_MESSAGES = "trellis.v1"


class BuildPackages(build_py):  # type: ignore[misc]
    """Writes the messages and compiles the protocols, unless that was done, and collects all packages and the
    experiments."""

    def run(self) -> None:
        """Raises CalledProcessError if a part of it fails."""
        if not self.editable_mode:
            if not (ROOT / "trellis" / "v1" / "stamp").exists():
                subprocess.run(["protos/generate", sys.executable], cwd=ROOT, check=True)
            if _MESSAGES not in self.packages:
                self.packages.append(_MESSAGES)
            if WHY_INTERPRETED:
                subprocess.run([sys.executable, "-m", "emulator.compiler.build"], cwd=ROOT, check=True)
        super().run()
        if not self.editable_mode:
            # `trellis.experiments` is no package: the files are found by `emulator.experiment.file.shipped`.
            target = Path(self.build_lib) / "trellis" / "experiments"
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(ROOT / "experiments", target)


class PlatformWheel(bdist_wheel):  # type: ignore[misc]
    """Makes a wheel for this version of Python and this platform, where protocols can be compiled."""

    def finalize_options(self) -> None:
        """Read the options, after it is known whether the wheel has native code."""
        if not WHY_INTERPRETED or missing_tools() is None:
            self.distribution.has_ext_modules = lambda: True
        super().finalize_options()
