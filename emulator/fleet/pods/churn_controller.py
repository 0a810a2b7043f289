"""The churn controller, which ends sessions by deleting pods at the times that the coordinator gives."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import grpc.aio

from emulator.compact.durations import Distribution
from emulator.fleet.coordinator.coordinator import CONTROLLER
from emulator.fleet.host.clock_offset import measure_clock_offset
from emulator.fleet.pods.kill_schedule import Deletion, Kill, Outcome, Pace, Pod, PodChurn
from emulator.fleet.pods.kubernetes_api import Pods
from emulator.fleet.pods.pod_names import pod_namer
from emulator.runtime.realtime.clock import unix_ns
from emulator.runtime.realtime.self_measurement import told_of
from emulator.telemetry import names
from emulator.telemetry.exporter import admitted
from emulator.telemetry.recorder import Recorder, SinkFactory
from emulator.tracing import log_lines, spans
from emulator.tracing.tracer import Attributes
from trellis.v1 import control_pb2

_KEPT_LIMIT, _KEPT_PERIOD = 10.0, 0.01
"""The seconds that the Collector has to take the end of a session, and those between two checks of it."""
_CALL_LIMIT = 10.0
_ANSWER_LIMIT = 30.0
"""The wall seconds for which the coordinator may keep the controller waiting for a trial."""
_LOOK_PERIOD = 5.0
"""The wall seconds between two checks whether the trial still runs."""
_BACK_OFF = (0.5, 5.0)
"""The wall seconds before the first and between the last attempts to reach the coordinator."""
_AGAIN = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


class _TrialOver(Exception):
    """The coordinator no longer runs this trial."""


async def run_churn(stub: Any, pods: Pods, prefix: str, sink: SinkFactory, pace: Pace) -> None:
    """Replay the kills of each trial in turn, until there will be no further trial.

    `stub` calls the coordinator, the names of the `pods` begin with `prefix`, and `sink` takes the ends of
    the sessions. Raises PodsDenied, ValueError for a host of another kind, and grpc.aio.AioRpcError if asking
    again is no use.
    """
    known: dict[str, Pod] = {}
    listed = asyncio.Event()
    replays: list[_Replay] = []

    def note(name: str, pod: Pod | None) -> None:
        if pod is None:
            known.pop(name, None)
        else:
            known[name] = pod
        for replay in replays:
            replay.see(name, pod)

    async def replay_all() -> None:
        await listed.wait()
        while (plan := await _next_plan(stub)) is not None:
            offset = await _ask_until_answered(lambda: measure_clock_offset(stub, CONTROLLER))
            replay = _Replay(stub, pods, plan, offset, pod_namer(prefix), pace)
            for name, pod in known.items():
                replay.see(name, pod)
            replays[:] = [replay]
            await replay.run(admitted(sink, plan.ticket))

    work = [asyncio.create_task(pods.follow(note, listed)), asyncio.create_task(replay_all())]
    try:
        done, _ = await asyncio.wait(work, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in work:
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)


async def _next_plan(stub: Any) -> control_pb2.ChurnPlan | None:
    """Wait for a trial and return its kills, None if there will be no further trial."""
    try:
        plan: control_pb2.ChurnPlan = await _ask_until_answered(
            lambda: stub.AwaitChurn(control_pb2.ChurnRequest(), timeout=_ANSWER_LIMIT)
        )
    except grpc.aio.AioRpcError as error:
        if error.code() is grpc.StatusCode.OUT_OF_RANGE:
            return None
        raise
    return plan


async def _ask_until_answered(ask: Callable[[], Any]) -> Any:
    """Ask again, less and less often, while the coordinator is away or has nothing to tell."""
    pause = _BACK_OFF[0]
    while True:
        try:
            return await ask()
        except grpc.aio.AioRpcError as error:
            if error.code() not in _AGAIN:
                raise
        await asyncio.sleep(pause)
        pause = min(pause * 2, _BACK_OFF[1])


class _Replay:
    """The replay of one trial's kills."""

    def __init__(
        self,
        stub: Any,
        pods: Pods,
        plan: control_pb2.ChurnPlan,
        offset_ns: int,
        pod_of: Callable[[str], str],
        pace: Pace,
    ) -> None:
        """`offset_ns` is this program's clock minus the coordinator's."""
        self._stub = stub
        self._pods = pods
        self._plan = plan
        self._start_ns = plan.start_unix_ns + offset_ns
        self._churn = PodChurn((self._kill(kill, pod_of(kill.host)) for kill in plan.kills), pace)
        self._changed = asyncio.Event()
        self._outcomes: asyncio.Queue[Outcome] = asyncio.Queue()
        self._late, self._took = Distribution(), Distribution()
        self._failed = 0

    def see(self, name: str, pod: Pod | None) -> None:
        """Note the state of the pod of this name, None if there is none."""
        self._churn.see(name, pod, _now())
        self._changed.set()

    async def run(self, sink: SinkFactory) -> None:
        """Delete pods and report what became of the kills, until the trial is over."""
        plan = self._plan
        recorder = Recorder(
            Path(tempfile.gettempdir()),
            CONTROLLER,
            experiment=plan.experiment,
            trial=plan.trial,
            seed=plan.seed,
            start_unix_ns=self._start_ns,
            sink=sink,
            incarnation=unix_ns(),
        )
        log_lines.of_trial(plan.trial, plan.trace)
        _say(f"{plan.trial}: {len(plan.kills)} sessions are to end with their pods")
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._await_end())
                group.create_task(self._report(recorder))
                await self._delete_when_due(group)
        except ExceptionGroup as failures:
            if not isinstance(failures.exceptions[0], _TrialOver):
                raise failures.exceptions[0] from None
            _say(self._summary())
        finally:
            try:
                await asyncio.to_thread(recorder.close)
            except OSError as error:
                _say(f"{plan.trial}: {error}")
            log_lines.of_trial("", "")

    async def _delete_when_due(self, group: asyncio.TaskGroup) -> None:
        churn = self._churn
        while True:
            self._changed.clear()
            now = _now()
            while (deletion := churn.take(now)) is not None:
                group.create_task(self._delete(deletion))
            for outcome in churn.outcomes(now):
                self._outcomes.put_nowait(outcome)
            wake_at = churn.wake_at()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(None if wake_at is None else wake_at - _now()):
                    await self._changed.wait()

    async def _delete(self, deletion: Deletion) -> None:
        kill = deletion.kill
        error = await self._pods.delete(kill.pod, deletion.uid, graceful=kill.graceful)
        if error:
            self._churn.refuse(deletion, error)
        else:
            self._churn.answer(deletion)
        self._changed.set()

    async def _report(self, recorder: Recorder) -> None:
        """Record what became of each kill, and tell the coordinator."""
        while True:
            outcome = await self._outcomes.get()
            kill = outcome.kill
            asked_s, gone_s = self._trial_s(outcome.asked), -1.0
            _tell_operators(outcome, self._plan.trace)
            if outcome.gone is None:
                self._failed += 1
            else:
                gone_s = self._trial_s(outcome.gone)
                self._late.add(outcome.asked - kill.due)
                self._took.add(outcome.gone - outcome.asked)
                if not kill.graceful:  # otherwise the peer says so itself
                    attributes = {names.SESSION: kill.session, names.GRACEFUL: False}
                    recorder.operation(recorder.begin(), "leave", kill.peer, int(gone_s * 1e9), attributes)
                    recorder.flush()
            await _until_kept(recorder)
            await self._tell(
                control_pb2.Killed(
                    peer=kill.peer,
                    session=kill.session,
                    host=kill.host,
                    requested_s=asked_s,
                    gone_s=gone_s,
                    error=outcome.error,
                    trial=self._plan.trial,
                    written=told_of(recorder.written()._replace(last_word=True)),
                )
            )

    async def _tell(self, killed: control_pb2.Killed) -> None:
        try:
            await _ask_until_answered(lambda: self._stub.ReportKilled(killed, timeout=_CALL_LIMIT))
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.FAILED_PRECONDITION:
                raise
            raise _TrialOver from error

    async def _await_end(self) -> None:
        """Ask until the trial is over. Raises _TrialOver when the coordinator runs another trial, or none."""
        own = self._plan.trial, self._plan.start_unix_ns
        while True:
            await asyncio.sleep(_LOOK_PERIOD)
            plan = await _next_plan(self._stub)
            if plan is None or (plan.trial, plan.start_unix_ns) != own:
                raise _TrialOver

    def _kill(self, kill: control_pb2.Kill, pod: str) -> Kill:
        due = self._start_ns * 1e-9 + kill.at_s * self._plan.time_scale
        return Kill(kill.peer, kill.session, kill.host, pod, due, kill.graceful)

    def _trial_s(self, unix_s: float) -> float:
        return (unix_s - self._start_ns * 1e-9) / self._plan.time_scale

    def _summary(self) -> str:
        late, took = (f"{d.quantile(0.99) * 1e3:.0f} ms" for d in (self._late, self._took))
        return (
            f"{self._plan.trial}: {len(self._late)} pods are gone, {self._failed} kills failed; "
            f"99 % were asked for at most {late} late and gone {took} later"
        )


def _tell_operators(outcome: Outcome, trace: str) -> None:
    """Tell a deletion in the trial's trace, from the request to the pod's end."""
    kill = outcome.kill
    about: Attributes = {
        "k8s.pod.name": kill.pod,
        "trellis.host": kill.host,
        "trellis.peer": kill.peer,
        "trellis.session": kill.session,
        "trellis.graceful": kill.graceful,
        "trellis.late_s": outcome.asked - kill.due,
    }
    ended = _now() if outcome.gone is None else outcome.gone
    spans.record("delete pod", int(outcome.asked * 1e9), int(ended * 1e9), about, trace, error=outcome.error)


async def _until_kept(recorder: Recorder) -> None:
    """Wait until the last span is written or lost.

    A span that takes too long counts as lost; the coordinator hears later if it was written after all.
    """
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_KEPT_LIMIT):
            while recorder.unsettled_spans:
                await asyncio.sleep(_KEPT_PERIOD)


def _now() -> float:
    return unix_ns() * 1e-9


def _say(text: str) -> None:
    print(text, flush=True)
