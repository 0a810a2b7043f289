"""A trial is valid by what happened: its end by the coordinator's clock, and the last word of every host."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from pathlib import Path
from typing import Any

import grpc
import pytest
from test_fleet_coordinator import POD_CHURN, SECOND, VERSIONS, begin, plan_of, register, result, spec_of

from emulator.experiment.run.fidelity import Fidelity
from emulator.experiment.run.telemetry_totals import Written
from emulator.fleet.coordinator.conductor import follow
from emulator.fleet.coordinator.coordinator import Coordinator
from emulator.fleet.coordinator.fidelity_checks import judge
from emulator.fleet.coordinator.journal import Journal, replay
from emulator.fleet.coordinator.service import CoordinatorService
from emulator.runtime.realtime.clock import unix_ns
from trellis.command.terminal import told
from trellis.v1 import control_pb2, control_pb2_grpc

HOSTS = ("host-0", "host-1")


@pytest.fixture
def coordinator() -> Coordinator:
    return Coordinator(spec_of(5), plan_of(5), "experiment", "trial")


def in_a_loop(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    @wraps(test)
    def run() -> None:
        asyncio.run(test())

    return run


def running(end_s: float) -> Coordinator:
    """Return a trial that began a moment ago and takes so many wall seconds."""
    spec = spec_of(5, runtime={"kind": "processes", "hosts": 2, "time_scale": end_s / 10})
    coordinator = Coordinator(spec, plan_of(5), "experiment", "trial")
    for host in HOSTS:
        register(coordinator, host, at=unix_ns())
        coordinator.ready(control_pb2.Ready(host=host), unix_ns())
    coordinator.start_ns = unix_ns()
    return coordinator


def written(start: int = 0, last_word: bool = True, **counts: int) -> control_pb2.Written:
    return control_pb2.Written(start=start, last_word=last_word, **counts)


def judged(coordinator: Coordinator) -> Fidelity:
    return judge(coordinator, VERSIONS)


def measured(fidelity: Fidelity) -> dict[str, str]:
    return {check.name: check.said for check in fidelity.checks}


@in_a_loop
async def test_words_of_an_end_do_not_end_a_trial_before_its_time() -> None:
    coordinator = running(end_s=1.0)
    for host in HOSTS:
        coordinator.finish(result(host), unix_ns())
    assert coordinator.over
    assert await follow(coordinator, lambda _: None) == ""
    assert coordinator.trial_time(unix_ns()) >= coordinator.spec.phases.end


@in_a_loop
async def test_a_trial_without_hosts_ends_early_and_says_when() -> None:
    coordinator = running(end_s=60.0)
    for host in HOSTS:
        coordinator.lose(host, "killed by SIGKILL")
    assert "no host was left at 0." in await follow(coordinator, lambda _: None)


@in_a_loop
async def test_the_text_of_a_hosts_error_is_in_the_reason_of_the_early_end() -> None:
    coordinator = running(end_s=60.0)
    coordinator.finish(result("host-0", error="netem is refused: no sch_netem"), unix_ns())

    async def end() -> None:
        while not coordinator.stopping:
            await asyncio.sleep(0.01)
        coordinator.finish(result("host-1"), unix_ns())

    why, _ = await asyncio.gather(follow(coordinator, lambda _: None), end())
    assert "host-0 could not do its work: netem is refused: no sch_netem" in why
    assert any("no sch_netem" in reason for reason in judge(coordinator, VERSIONS, why).reasons)


@in_a_loop
async def test_anybody_who_tells_the_end_early_is_refused() -> None:
    coordinator = running(end_s=56.0)
    service = CoordinatorService()
    server, address = await service.serve("127.0.0.1:0")
    await service.begin(coordinator)
    try:
        async with grpc.aio.insecure_channel(address) as channel:
            stub = control_pb2_grpc.CoordinatorStub(channel)  # type: ignore[no-untyped-call]
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await stub.Finish(result("host-0", trial="trial"), timeout=5)
            assert refused.value.code() is grpc.StatusCode.FAILED_PRECONDITION
            assert "host-0 told its end of the trial at 0." in str(refused.value.details())
            assert coordinator.members["host-0"].result is None
            coordinator.start_ns = unix_ns() - 56 * SECOND
            await stub.Finish(result("host-0", trial="trial"), timeout=5)
            assert coordinator.members["host-0"].result is not None
    finally:
        await service.close()
        await server.stop(0)


def test_what_each_start_wrote_is_kept_with_its_last_word(coordinator: Coordinator, tmp_path: Path) -> None:
    begin(coordinator)
    progress = control_pb2.HostProgress(host="host-1", written=written(spans=7, points=3, last_word=False))
    coordinator.note_progress(progress, 2 * SECOND)
    register(coordinator, "host-1", start="second", at=4 * SECOND)
    for host, start in (("host-0", 0), ("host-1", 1)):
        coordinator.finish(result(host, written=written(start, spans=20, points=9)), 12 * SECOND)
    late = control_pb2.HostProgress(host="host-0", written=written(spans=2, last_word=False))
    coordinator.note_progress(late, 12 * SECOND)
    fidelity = judged(coordinator)
    assert fidelity.written == [
        Written("host-0", 0, 20, 9, 0, 0, last_word=True),
        Written("host-1", 0, 7, 3, 0, 0, last_word=False),
        Written("host-1", 1, 20, 9, 0, 0, last_word=True),
    ]
    fidelity.write(tmp_path / "fidelity.json")
    assert '"last_word": false' in (tmp_path / "fidelity.json").read_text()


def test_a_last_word_that_comes_after_the_next_start_changes_nothing_else(coordinator: Coordinator) -> None:
    begin(coordinator)
    register(coordinator, "host-1", start="second", at=4 * SECOND)
    second = control_pb2.HostProgress(host="host-1", peers_up=2, written=written(1, last_word=False))
    coordinator.note_progress(second, 5 * SECOND)
    first = control_pb2.HostProgress(host="host-1", peers_up=1, written=written(0, spans=7))
    coordinator.note_progress(first, 5 * SECOND)
    assert coordinator.progress(5 * SECOND).peers_up == 2
    assert Written("host-1", 0, 7, 0, 0, 0, last_word=True) in coordinator.written()


def test_a_start_before_the_trial_has_written_nothing(coordinator: Coordinator) -> None:
    register(coordinator, "host-1", start="before")
    begin(coordinator)
    for host, start in (("host-0", 0), ("host-1", 1)):
        coordinator.finish(result(host, written=written(start, spans=20)), 12 * SECOND)
    assert [(told.host, told.start) for told in coordinator.written()] == [("host-0", 0), ("host-1", 1)]
    assert measured(judged(coordinator))["lost spans"] == "0 spans"


def test_what_nobody_measured_is_not_zero(coordinator: Coordinator) -> None:
    begin(coordinator)
    for host in HOSTS:
        coordinator.finish(result(host), 12 * SECOND)
    said = measured(judged(coordinator))
    for name in ("round trip error", "timer lateness", "one-way delay error", "join and leave time error"):
        assert said[f"{name}, 99th percentile"] == "not measured"
    assert said["lost spans"] == "0 spans"
    assert judged(coordinator).valid
    assert "round_trip_error_max_ms" not in judged(coordinator).measured


def test_what_hosts_measured_is_at_least_that_where_one_is_lost(coordinator: Coordinator) -> None:
    begin(coordinator)
    coordinator.lose("host-1", "killed by SIGKILL")
    coordinator.finish(result("host-0", lost_spans=2), 12 * SECOND)
    progress = coordinator.progress(12 * SECOND)
    assert "at least, of the hosts that told (1 host lost)" in told(progress, None)
    fidelity = judged(coordinator)
    said = measured(fidelity)
    assert said["lost spans"] == "at least 2 spans, told by 1 of 2 starts of hosts"
    assert said["dropped envelopes"] == "at least 0 envelopes, told by 1 of 2 hosts"
    assert said["hosts lost"] == "1 host"
    assert any(reason.startswith("lost spans: at least 2 spans") for reason in fidelity.reasons)


def test_what_ended_a_host_is_told_when_it_came_back_or_did_not(coordinator: Coordinator) -> None:
    begin(coordinator)
    for host in HOSTS:
        word = control_pb2.HostProgress(host=host, error="ValueError: a bad digit", written=written(spans=1))
        coordinator.note_progress(word, 4 * SECOND)
    register(coordinator, "host-0", start="second", at=5 * SECOND)
    coordinator.lose("host-1", "silent for 20 s")
    coordinator.finish(result("host-0"), 12 * SECOND)
    reasons = judged(coordinator).reasons
    assert any(
        "host-0" in r and "came back at" in r and "ValueError: a bad digit, at 2.5 s" in r for r in reasons
    )
    assert any("silent for 20 s (it said: ValueError: a bad digit, at 2.5 s)" in r for r in reasons)


@pytest.mark.parametrize("last_word", [True, False])
def test_a_deleted_pod_has_to_tell_what_it_wrote(last_word: bool) -> None:
    coordinator = Coordinator(spec_of(5, **POD_CHURN), plan_of(5, end=6.0), "experiment", "trial")
    hosts = [f"host-{index}" for index in range(5)]
    for host in hosts:
        register(coordinator, host)
        coordinator.ready(control_pb2.Ready(host=host), SECOND)
    for peer, host in enumerate(hosts):
        word = control_pb2.HostProgress(host=host, written=written(spans=9, last_word=last_word or peer > 0))
        coordinator.note_progress(word, 7 * SECOND)
        killed = control_pb2.Killed(peer=peer, host=host, requested_s=6.0, gone_s=6.2)
        killed.written.CopyFrom(written(start=77, spans=peer + 1))
        coordinator.note_killed(killed, 8 * SECOND)
        register(coordinator, host, start="second", at=8 * SECOND)
        coordinator.finish(result(host, written=written(1, spans=3)), 12 * SECOND)
    fidelity = judged(coordinator)
    assert fidelity.valid is last_word
    assert Written("churn-0", 77, 5, 0, 0, 0, last_word=True) in fidelity.written
    if not last_word:
        assert "host-0, start 0: what they wrote last is not known" in fidelity.reasons[0]


def test_a_coordinator_that_takes_over_knows_the_last_words(coordinator: Coordinator, tmp_path: Path) -> None:
    begin(coordinator)
    word = control_pb2.HostProgress(host="host-1", error="KeyError: 5", written=written(spans=4))
    with Journal(tmp_path / "journal") as journal:
        journal.note("note_progress", word, 3 * SECOND)
    replay(tmp_path / "journal", coordinator)
    assert coordinator.members["host-1"].errors == [("KeyError: 5", 1.5)]
    assert Written("host-1", 0, 4, 0, 0, 0, last_word=True) in coordinator.written()
