"""A run in pods by one command, against a cluster that is none."""

import functools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from release_course import EXPERIMENT, RUN, begin, course, end_trial, the_run
from release_world import claim, job

from emulator.experiment.run.directory import RunDirectory

TRELLIS = (sys.executable, "-c", "from trellis.command.cli import main; main()")


@pytest.fixture(autouse=True)
def file(trellis):
    Path("small.yaml").write_text(EXPERIMENT)


def test_one_command_installs_follows_fetches_and_removes(trellis, world):
    course(world)
    result = trellis(*RUN)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == ["valid", f"report: {the_run()}/report/index.html"]
    assert the_run().name.startswith("small-20")
    assert RunDirectory(the_run()).trial("vitis-1").read_status()["state"] == "valid"
    told = result.stderr
    assert "5 of 5 pods are ready" in told
    assert "vitis-1: measure, 50 of 80 s, 10 peers up" in told
    assert "vitis-1: valid  [1/1]" in told
    assert "deleted the volume claim demo-results" in told
    assert not world.installed
    assert world.deleted == ["persistentvolumeclaims/demo-results"]


def test_a_file_for_the_virtual_clock_whose_peers_run_in_pods_all_the_same_is_told(trellis, world):
    course(world)
    told = "small.yaml says runtime.kind: virtual, and peers run in pods instead"
    assert told not in trellis(*RUN).stderr
    document = yaml.safe_load(EXPERIMENT) | {"runtime": {"kind": "virtual"}}
    Path("small.yaml").write_text(yaml.safe_dump(document))
    result = trellis(*RUN, "--set", "runtime.hosts=3")
    assert told in result.stderr.replace("\n", " ")


def test_the_release_gets_the_resolved_experiment_and_the_values(trellis, world):
    course(world)
    Path("more.yaml").write_text("{}")
    options = ["--values", "more.yaml", "--chart-set", "a.b=1", "--image-prefix", "host/", "--image-tag", "7"]
    assert trellis(*RUN, "--set", "peers=12", *options).exit_code == 0
    (call,) = [call for call in world.helm_calls if call[0] == "install"]
    assert call[:2] == ["install", "demo"]
    assert call[2].endswith("charts/trellis")
    assert call[call.index("--values") + 1] == "more.yaml"
    settings = [call[i + 1] for i, argument in enumerate(call) if argument == "--set"]
    images = [f"images.{part}=host/trellis-{part}:7" for part in ("emulator", "analysis")]
    assert settings == [*images, "a.b=1"]
    installed = yaml.safe_load((world.folder / "experiment.yaml").read_text())
    assert installed["peers"] == 12
    assert installed["runtime"]["kind"] == "kubernetes"
    assert installed["runtime"]["hosts"] == 3
    assert installed["phases"]["settle"] == "30 s"


SWEEP = (*RUN, "--set", "runtime.kind=virtual")


def test_an_experiment_on_the_virtual_clock_is_swept_in_the_cluster(trellis, world):
    course(world)
    result = trellis(*SWEEP)
    assert result.exit_code == 0, result.output
    assert "in the namespace here, trials on the virtual clock" in result.stderr
    assert yaml.safe_load((world.folder / "experiment.yaml").read_text())["runtime"]["kind"] == "virtual"
    assert RunDirectory(the_run()).trial("vitis-1").read_status()["state"] == "valid"


@pytest.mark.parametrize("before", [[], [begin]])
def test_a_sweep_that_fails_is_told_with_its_last_words(trellis, world, before):
    world.rows = [("demo-analysis-x", "0/1", "Error", "0")]
    world.logs["demo-analysis-x"] = "no executor of Spark started in 600 s\n"

    def fail():
        world.objects["jobs"] = [job("Failed")]

    world.stages = [lambda: None, *(functools.partial(step, world) for step in before), fail]
    result = trellis(*SWEEP)
    assert result.exit_code == 2
    assert "the sweep failed: no executor of Spark started in 600 s" in result.stderr


def test_an_invalid_run_is_the_first_line_and_the_exit_status(trellis, world):
    course(world, state="invalid", reasons=["vitis-1: late"])
    result = trellis(*RUN)
    assert result.exit_code == 1
    assert result.stdout.splitlines()[0] == "INVALID: vitis-1: late"
    assert not world.installed


def test_a_release_can_be_kept(trellis, world):
    course(world)
    result = trellis(*RUN, "--keep")
    assert result.exit_code == 0
    assert "trellis stop demo --namespace here" in result.stderr
    assert world.installed and not world.deleted


def test_an_analysis_that_fails_is_told_and_the_run_is_home(trellis, world):
    world.rows = [("demo-analysis-x", "0/1", "Error", "0")]
    world.logs["demo-analysis-x"] = "java.lang.OutOfMemoryError\n"

    def fail():
        world.objects["jobs"] = [job("Failed")]

    world.stages = [lambda: begin(world), lambda: end_trial(world), fail]
    result = trellis(*RUN)
    assert result.exit_code == 1
    assert result.stdout.startswith("INVALID: the analysis failed: java.lang.OutOfMemoryError")
    assert f"trellis analyze {the_run()}" in result.stdout


def test_a_transfer_that_breaks_off_is_tried_again(trellis, world):
    course(world)
    world.broken_archives = 2
    assert trellis(*RUN).exit_code == 0
    assert [path.name for path in Path("runs").iterdir()] == [the_run().name]


def test_a_run_that_does_not_come_whole_is_no_run_and_stays_on_its_volume(trellis, world):
    course(world)
    world.broken_archives = 9
    result = trellis(*RUN)
    assert result.exit_code == 2
    assert "did not come whole, in 3 attempts" in result.stderr
    assert "the volume claim demo-results stays" in result.stderr
    assert not list(Path("runs").iterdir())
    assert not world.deleted


def test_a_volume_that_is_there_is_gone_on_with(trellis, world):
    world.objects["persistentvolumeclaims"] = [claim()]
    course(world)
    result = trellis(*RUN)
    assert result.exit_code == 0
    assert "going on with what is on the volume of demo" in result.stderr


def test_a_release_of_the_same_name_is_not_touched(trellis, world):
    world.install()
    result = trellis(*RUN)
    assert result.exit_code == 2
    assert "there is a release demo in the namespace here already (deployed)" in result.stderr
    assert world.installed


@pytest.mark.parametrize("keep", [False, True])
def test_an_interrupt_says_what_is_left_and_how_to_go_on(world, tmp_path, keep):
    (tmp_path / "small.yaml").write_text(EXPERIMENT)
    world.stages = [lambda: begin(world)]
    process = subprocess.Popen(
        [*TRELLIS, *RUN, *(["--keep"] if keep else [])],
        cwd=tmp_path,
        env=os.environ | world.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + 60
        while not world.run.experiment.exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Traceback" not in said
    assert "interrupted: the run of demo in here has not ended" in said
    assert world.installed == keep
    assert not world.deleted
    if keep:
        assert "bring its run home: trellis fetch demo --namespace here" in said
    else:
        assert "Go on with: trellis run small.yaml --on kubernetes --release demo" in said
        assert "kubectl --namespace here delete pvc demo-results" in said


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--release", "Demo_1"), "--release Demo_1: a name has small letters"),
        (("--release", "x" * 41), "at most 40 characters"),
        (("--chart", "nowhere"), "nowhere is not a Helm chart"),
        (("--values", "nowhere.yaml"), "nowhere.yaml: there is no such file"),
        (("--set", "peres=3"), "peres: is not a known key"),
    ],
)
def test_bad_options_are_told_before_anything_is_asked(trellis, world, options, told):
    result = trellis("run", "small.yaml", "--on", "kubernetes", *options)
    assert result.exit_code == 2
    assert told in result.stderr
    assert not world.asked


def test_names_of_releases_are_made_from_experiment_and_time(trellis, world):
    course(world)
    world.on_install(status=1, said="Error: stop here")
    name = "name=7-times-the-very-same-thing"
    assert trellis("run", "small.yaml", "--on", "kubernetes", "--set", name).exit_code == 2
    (call,) = [call for call in world.helm_calls if call[0] == "install"]
    assert call[1].startswith("run-7-times-the-very-sam-")
    assert len(call[1]) <= 40
