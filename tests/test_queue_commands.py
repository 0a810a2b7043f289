"""queue, pause and resume of releases in a queue, and `trellis run --queue`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from queue_world import entry_lease
from release_course import EXPERIMENT, RUN
from release_world import labels, workload

from emulator.fleet.pods.queue_order import PLACES


@pytest.fixture
def queue(world):
    """A queue in which one release runs and two wait."""
    place = {
        "metadata": {"name": "trellis-default-0", "labels": {PLACES: "default"}},
        "spec": {"holderIdentity": "old/uid-old"},
    }
    world.objects["leases"] = [
        entry_lease("young", "2026-01-31T12:00:02Z", "waiting", renewed="2026-01-31T12:00:02.5Z"),
        entry_lease("old", "2026-01-31T12:00:00Z", "running", renewed="2026-01-31T12:00:02.5Z"),
        entry_lease("demo", "2026-01-31T12:00:03Z", "waiting", 7, renewed="2026-01-31T12:00:03.5Z"),
        place,
    ]
    return world


def test_a_queue_is_listed_in_the_order_in_which_its_releases_run(trellis, queue):
    told = json.loads(trellis("queue", "--json").stdout)
    assert [(each["release"], each["state"], each["line"]) for each in told] == [
        ("old", "running", None), ("demo", "waiting", 1), ("young", "waiting", 2)
    ]  # fmt: skip
    assert (told[0]["place"], told[1]["priority"]) == ("trellis-default-0", 7)
    assert told[0]["age_s"] > told[1]["age_s"] > 0
    shown = trellis("queue", "default").stdout
    assert "old" in shown and "not heard of" in shown.replace("\n", " ")
    empty = trellis("queue", "other").stdout
    assert "there is no release in the queue other of the namespace here" in empty.replace("\n", " ")


def test_pause_and_resume_ask_the_program_of_the_release(trellis, queue):
    assert trellis("pause", "old").exit_code == 0
    notes = queue.objects["leases"][1]["metadata"]["annotations"]
    assert notes["trellis/paused"] == "true"
    assert json.loads(trellis("queue", "--json").stdout)[0]["paused"] is True
    assert trellis("resume", "old").exit_code == 0
    assert "trellis/paused" not in queue.objects["leases"][1]["metadata"]["annotations"]


def test_only_a_release_in_a_queue_can_be_paused(trellis, world):
    result = trellis("pause", "demo")
    assert result.exit_code == 2
    assert "demo is in no queue of the namespace here" in result.stderr.replace("\n", " ")


def test_status_says_how_far_a_release_is_in_its_queue(trellis, queue):
    queue.install()
    held = workload("demo-queue", "queue") | {"spec": {}}
    analysis = {
        "metadata": {"name": "demo-analysis", "uid": "uid-job", "labels": labels("demo", "analysis")},
        "spec": {"suspend": True},
    }
    queue.objects["jobs"] = [held, analysis]
    lines = trellis("status", "demo").stdout.splitlines()
    assert "  demo-analysis: 0 of 0 pods ready" in lines
    (line,) = [line for line in lines if line.startswith("  queue default: ")]
    assert line.endswith(", 1 in line, priority 7")


def test_a_run_in_a_queue_is_installed_and_left_alone(trellis, world):
    Path("small.yaml").write_text(EXPERIMENT)
    result = trellis(*RUN, "--queue", "--chart-set", "queue.priority=3")
    assert result.exit_code == 0, result.output
    assert "demo runs when its turn comes" in result.stderr.replace("\n", " ")
    (call,) = [call for call in world.helm_calls if call[0] == "install"]
    settings = [call[i + 1] for i, argument in enumerate(call) if argument == "--set"]
    assert settings[-2:] == ["queue.enabled=true", "queue.priority=3"]
    assert world.installed
    assert not Path("runs").exists()


def test_an_experiment_that_the_check_refuses_is_in_no_queue(trellis, world):
    Path("small.yaml").write_text(EXPERIMENT)
    world.on_install(status=1, said="Error: failed pre-install")
    result = trellis(*RUN, "--queue")
    assert result.exit_code == 2
    assert "failed pre-install" in result.stderr
