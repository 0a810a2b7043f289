"""Experiments that come with Trellis."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.contract.packages import BadPackage
from emulator.experiment.file import shipped
from emulator.experiment.file.package_experiments import locate


def test_an_experiment_of_trellis_is_found_by_its_name_from_any_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "name: quickstart" in locate(Path("trellis:quickstart.yaml")).read_text()
    assert locate(Path("trellis:papers/vitis/friends.yaml")).parent.name == "vitis"


def test_a_wrong_name_is_answered_by_the_nearest_one() -> None:
    with pytest.raises(BadPackage, match=r"Trellis has no experiment quikstart\.yaml.*quickstart\.yaml"):
        locate(Path("trellis:quikstart.yaml"))


def test_an_installed_trellis_has_them_within_its_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "trellis" / "experiments"
    folder.mkdir(parents=True)
    monkeypatch.setattr(shipped, "_ROOT", tmp_path)
    assert shipped.shipped_experiments() == folder
