"""What holds pods up: read from what a cluster tells, told when it lasts, and for thousands at once."""

import pytest
from release_world import World, claim, event, job, pod, waiting, workload

from trellis.command.release.cluster import Cluster
from trellis.command.release.errors import ReleaseError, Unreachable
from trellis.command.release.lookout import Lookout
from trellis.command.release.pod_problems import Problem, explain_pod, kind_of, refusal, unbound
from trellis.command.release.release import Release
from trellis.command.release.waiting import Waiting

UNSCHEDULED = {"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available."}


class Clock:
    """Time that passes when somebody sleeps."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def world(tmp_path):
    world = World(tmp_path)
    world.install()
    yield world
    world.close()


@pytest.fixture
def release(world, monkeypatch):
    for name, value in world.environment.items():
        monkeypatch.setenv(name, value)
    cluster = Cluster()
    yield Release(cluster, "demo")
    cluster.close()


@pytest.fixture
def look(release, clock):
    lookout = Lookout(release, 25.0, clock)
    return lambda: lookout.look(release.workloads())


def test_what_mends_itself_in_time_is_no_problem(world, look, clock):
    world.rows = [("demo-peers-0-1", "0/1", "ErrImagePull", "0")]
    world.pods["demo-peers-0-1"] = pod("demo-peers-0-1", waiting("ErrImagePull", "no such host"))
    assert look() == []
    clock.sleep(20)
    world.rows = [("demo-peers-0-1", "1/1", "Running", "0")]
    assert look() == []
    clock.sleep(20)
    world.rows = [("demo-peers-0-1", "0/1", "ErrImagePull", "0")]
    assert look() == []
    clock.sleep(25)
    (problem,) = look()
    assert problem.kind == "image"
    assert "(ErrImagePull): no such host" in problem.text


def test_an_image_that_is_tried_again_and_again_is_one_problem(world, look, clock):
    world.pods["demo-peers-0-1"] = pod("demo-peers-0-1", waiting("ImagePullBackOff", "Back-off pulling"))
    for status in ("ErrImagePull", "ImagePullBackOff", "ErrImagePull", "ImagePullBackOff"):
        world.rows = [("demo-peers-0-1", "0/1", status, "0")]
        problems = look()
        clock.sleep(10)
    assert [problem.kind for problem in problems] == ["image"]


def test_a_pod_that_nobody_has_tried_to_place_yet_is_not_in_trouble(world, look, clock):
    world.rows = [("demo-peers-0-1", "0/1", "Pending", "0")]
    world.pods["demo-peers-0-1"] = pod("demo-peers-0-1")
    look()
    clock.sleep(100)
    assert look() == []


def test_a_program_that_ends_again_is_told_at_its_second_restart(world, look):
    world.pods["demo-coordinator-0"] = pod("demo-coordinator-0", waiting("CrashLoopBackOff"))
    world.rows = [("demo-coordinator-0", "0/1", "CrashLoopBackOff", "1 (3s ago)")]
    assert look() == []
    world.rows = [("demo-coordinator-0", "0/1", "CrashLoopBackOff", "2 (3s ago)")]
    assert [problem.kind for problem in look()] == ["crash"]


def test_a_container_that_is_long_in_the_making_is_told_with_the_warning_of_its_node(world, look, clock):
    world.rows = [("demo-peers-0-1", "0/1", "ContainerCreating", "0")]
    look()
    clock.sleep(90)
    assert look() == []
    clock.sleep(10)
    assert look() == []
    world.objects["events"] = [event("Pod", "demo-peers-0-1", "FailedMount", "no claim", type="Warning")]
    (problem,) = look()
    assert problem == Problem("slow", ("demo-peers-0-1",), "its container cannot be made: no claim")


def test_thousands_of_pods_in_the_same_trouble_are_one_problem_and_few_requests(world, look, clock):
    names = [f"demo-peers-{number // 1000}-{number % 1000}" for number in range(3000)]
    world.rows = [(name, "0/1", "Pending", "0") for name in names]
    world.pods = {name: pod(name, conditions=[UNSCHEDULED]) for name in names}
    look()
    clock.sleep(30)
    world.asked.clear()
    (problem,) = look()
    assert len(problem.subjects) == 3000
    told = problem.told("demo")
    assert told.startswith("demo-peers-0-0, demo-peers-0-1, demo-peers-0-10 and 2997 more: cannot be sch")
    assert len(world.asked) < 12


def test_a_claim_without_a_volume_explains_the_pods_that_wait_for_it(world, look, clock):
    world._made = True
    world.objects["persistentvolumeclaims"] = [claim("Pending")]
    reason = "no persistent volumes available for this claim and no storage class is set"
    world.objects["events"] = [event("PersistentVolumeClaim", "claim", "FailedBinding", reason)]
    world.rows = [("demo-coordinator-0", "0/1", "Pending", "0")]
    message = "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims."
    world.pods["demo-coordinator-0"] = pod(
        "demo-coordinator-0", conditions=[UNSCHEDULED | {"message": message}]
    )
    look()
    clock.sleep(30)
    assert look() == [Problem("volume", ("demo-results",), f"the claim has no volume: {reason}")]


def test_old_refusals_of_a_workload_that_has_its_pods_are_forgotten(world, look, clock):
    world.objects["events"] = [event("StatefulSet", "demo-peers-0", "FailedCreate", "exceeded quota: few")]
    look()
    clock.sleep(30)
    assert look() == []
    world.objects["statefulsets"] = [workload("demo-peers-0", "peers", 3, 1, replicas=1)]
    look()
    clock.sleep(30)
    assert [problem.kind for problem in look()] == ["quota"]


def test_refusals_other_than_quotas_and_of_replica_sets_are_told():
    about = workload("demo-churn", "churn", 1, 0, replicas=0)
    message = 'Error creating: pods "x" is forbidden: violates PodSecurity "restricted:latest": NET_ADMIN'
    events = [
        event("ReplicaSet", "demo-churn-5d9", "FailedCreate", "old", lastTimestamp="2026-01-31T11:00:00Z"),
        event("ReplicaSet", "demo-churn-5d9", "FailedCreate", message),
        event("ReplicaSet", "other-churn-5d9", "FailedCreate", "of another"),
    ]
    problem = refusal(about, events)
    assert problem is not None
    assert problem.kind == "refused"
    assert problem.text == 'its pods cannot be made: violates PodSecurity "restricted:latest": NET_ADMIN'
    assert refusal(about, events[2:]) is None


def test_a_claim_that_waits_for_its_first_pod_is_in_no_trouble():
    waits = event("PersistentVolumeClaim", "claim", "WaitForFirstConsumer", "waits for a pod")
    assert unbound(claim("Pending"), [waits]) is None
    assert unbound(claim("Bound"), []) is None
    lost = unbound(claim("Lost"), [])
    assert lost is not None and lost.text == "its volume is lost"


def test_containers_that_prepare_are_looked_at_too():
    assert kind_of("Init:ErrImagePull") == "image"
    assert kind_of("Init:CrashLoopBackOff") == "crash"
    assert kind_of("Running") is kind_of("Completed") is kind_of("Terminating") is None
    told = explain_pod(
        pod("x", waiting("PodInitializing"), init=[waiting("ErrImagePull", "no host")]), "image"
    )
    assert told == "the image trellis-emulator:1 cannot be pulled (ErrImagePull): no host"
    told = explain_pod(pod("x", waiting("CreateContainerConfigError", 'secret "s" not found')), "create")
    assert told == 'its container cannot be started (CreateContainerConfigError): secret "s" not found'


def test_a_cluster_that_is_away_for_a_while_is_asked_again(world, release, clock):
    waits = Waiting(release, clock=clock, sleep=clock.sleep)
    world.refuse = (503, "the API server is starting")

    def return_at(seconds):
        clock.sleep(2.0)
        if clock.now > seconds:
            world.refuse, world.rows = None, []

    waits._sleep = lambda _: return_at(40)
    assert waits.gone(lambda _: None)
    world.refuse = (503, "the API server is starting")
    waits._sleep = lambda _: return_at(1000)
    with pytest.raises(Unreachable, match="the API server is starting"):
        waits.gone(lambda _: None)
    assert clock.now < 140


def test_an_analysis_that_does_not_end_is_told(world, release, clock):
    waits = Waiting(release, clock=clock, sleep=clock.sleep)
    assert waits.report(limit=100).startswith("the analysis has not ended after 100 s")


def test_an_analysis_that_cannot_start_is_told_and_not_waited_for(world, release, clock):
    world.objects["jobs"] = [job()]
    world.rows = [
        ("demo-peers-0-1", "0/1", "ErrImageNeverPull", "0"),
        ("demo-analysis-x", "0/1", "ErrImageNeverPull", "0"),
    ]
    world.pods["demo-analysis-x"] = pod("demo-analysis-x", waiting("ErrImageNeverPull", "it is not here"))
    why = Waiting(release, clock=clock, sleep=clock.sleep).report()
    assert why.startswith(
        "the analysis cannot start: demo-analysis-x: the image trellis-emulator:1 cannot be"
    )
    assert clock.now < 40


def test_answers_that_are_none_of_ours_are_no_standing(world, release):
    world.answer = lambda path, *asked: (
        (200, b"[]") if "/proxy/" in path else World.answer(world, path, *asked)
    )
    assert release.standing() is None
    with pytest.raises(ReleaseError, match="does not answer"):
        release.fetch(world.folder / "runs", lambda _: None)
