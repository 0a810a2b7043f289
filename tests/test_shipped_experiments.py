"""Experiments that come with Trellis."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from emulator.contract.packages import BadPackage
from emulator.experiment.file import shipped
from emulator.experiment.file.document import ExperimentError, read_document
from emulator.experiment.file.package_experiments import locate
from trellis.command.package_commands import commands


def test_an_experiment_of_trellis_is_found_by_its_name_from_any_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "name: quickstart" in locate(Path("trellis:quickstart.yaml")).read_text()
    assert locate(Path("trellis:papers/vitis/friends.yaml")).parent.name == "vitis"


def test_a_wrong_name_is_answered_by_the_nearest_one() -> None:
    told = r'Trellis has no experiment quikstart\.yaml\. Did you mean "trellis:quickstart\.yaml"\?'
    with pytest.raises(BadPackage, match=told):
        locate(Path("trellis:quikstart.yaml"))
    with pytest.raises(
        BadPackage, match=r"Trellis has no experiment mine\.yaml\. `trellis experiments` lists"
    ):
        locate(Path("trellis:mine.yaml"))
    with pytest.raises(BadPackage, match='Did you mean "trellis"'):
        locate(Path("trelis:quickstart.yaml"))


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("quickstart.yaml", '"trellis:quickstart.yaml"'),
        ("experiments/papers/vitis/friends.yaml", '"trellis:papers/vitis/friends.yaml"'),
        ("vitis/twiter.yml", '"trellis:papers/vitis/twitter.yaml"'),
    ],
)
def test_a_file_that_is_not_there_is_answered_by_the_ready_experiment_of_its_name(
    path: str, meant: str, tmp_path: Path
) -> None:
    with pytest.raises(ExperimentError, match=rf"there is no such file\. Did you mean {meant}\?"):
        read_document(tmp_path / path)


def test_a_file_of_no_ready_experiment_is_told_where_they_are_listed(tmp_path: Path) -> None:
    with pytest.raises(
        ExperimentError, match=r"Check the path\. `trellis experiments` lists those that come"
    ):
        read_document(tmp_path / "my-overlay.yaml")


def test_experiments_of_trellis_are_listed_with_their_titles() -> None:
    listed = CliRunner().invoke(commands, ["experiments"], catch_exceptions=False).stdout.splitlines()
    assert "trellis:quickstart.yaml  Vitis and RVR, 200 peers" in listed
    assert len(listed) == len(shipped.shipped_files())


def test_an_installed_trellis_has_them_within_its_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "trellis" / "experiments"
    folder.mkdir(parents=True)
    monkeypatch.setattr(shipped, "_ROOT", tmp_path)
    assert shipped.shipped_experiments() == folder
