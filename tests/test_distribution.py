"""Users get one version everywhere, and dependencies that hold what was tested."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
VERSION = PROJECT["project"]["version"]


def locked(name: str) -> dict[str, str]:
    """Return the versions of a list of pinned packages."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    return dict(re.findall(r"^([a-z0-9-]+)(?:\[.*\])?==(\S+)", text, re.MULTILINE))


def asked(name: str) -> list[Requirement]:
    """Return the lines of a list of packages that are not pinned."""
    lines = (ROOT / "requirements" / f"{name}.in").read_text().splitlines()
    return [Requirement(line) for line in lines if not line.startswith("-")]


def test_the_wheel_needs_what_is_tested_and_has_bounds_around_it() -> None:
    files = PROJECT["tool"]["setuptools"]["dynamic"]["dependencies"]["file"]
    assert files == ["requirements/emulator.in", "requirements/runtime.in"]
    versions = locked("runtime")
    for requirement in [*asked("emulator"), *asked("runtime")]:
        assert requirement.specifier.contains(versions[requirement.name]), requirement
        assert {each.operator for each in requirement.specifier} in ({">=", "<"}, {"=="}), requirement


def test_figures_are_an_extra_with_bounds_around_what_is_tested() -> None:
    extras = PROJECT["tool"]["setuptools"]["dynamic"]["optional-dependencies"]
    assert extras == {"figures": {"file": ["requirements/figures.in"]}}
    assert {"dependencies", "optional-dependencies"} == set(PROJECT["project"]["dynamic"])
    (figures,) = asked("figures")
    assert figures.name == "matplotlib" and figures.specifier.contains(locked("dev")["matplotlib"])
    assert {each.operator for each in figures.specifier} == {">=", "<"}


def test_the_tools_that_build_it_are_those_of_the_image() -> None:
    needed = {each.name: each for each in map(Requirement, PROJECT["build-system"]["requires"])}
    assert needed.keys() == {each.name for each in asked("build")}
    versions = locked("build")
    assert all(str(each.specifier) == f"=={versions[name]}" for name, each in needed.items())


@pytest.mark.parametrize(
    "file",
    [
        *("charts/trellis/values.yaml", "charts/trellis/images.txt", "docs/kubernetes.md"),
        *("examples/push-gossip/README.md", "examples/push-gossip/Dockerfile"),
    ],
)
def test_images_are_named_with_the_version(file: str) -> None:
    text = (ROOT / file).read_text()
    assert set(re.findall(r"trellis-(?:emulator|analysis):([0-9.]*[0-9])", text)) == {VERSION}


def test_the_chart_has_the_version_and_the_change_log_tells_of_it() -> None:
    chart = yaml.safe_load((ROOT / "charts/trellis/Chart.yaml").read_text())
    assert chart["version"] == chart["appVersion"] == VERSION
    assert f"## {VERSION}" in (ROOT / "CHANGELOG.md").read_text().splitlines()[4]


def test_an_image_gets_every_folder_that_a_wheel_is_made_of() -> None:
    let_in = {line[1:].strip("/") for line in (ROOT / ".dockerignore").read_text().split() if line[:1] == "!"}
    assert {"analysis", "emulator", "experiments", "protos", "services", "trellis"} <= let_in
    source = (ROOT / "emulator" / "compiler" / "wheel.py").read_text()
    assert set(re.findall(r'ROOT / "(\w+)"', source)) <= let_in
