"""The gate before the Collector, on the loopback: what it lets through, and what it does not."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData
from otlp_receiver import receiving, traced
from test_telemetry_export import Collector, running

from emulator.telemetry.collector_gate import (
    NotTheirs,
    ProgramsDoor,
    open_collector,
    refuse_others,
    serve_gate,
)
from emulator.telemetry.exporter import METHODS, Exporter, ExportError, admitted
from emulator.telemetry.otlp_files import FileSink
from emulator.telemetry.recorder import Recorder
from emulator.trust.credentials import OPEN, bearer
from emulator.trust.tickets import key_of, read_ticket, write_ticket

KEY = "the key of tickets"
LOGS = {"logs": "/opentelemetry.proto.collector.logs.v1.LogsService/Export"}
UNTIL = 1 << 40
"""A Unix time of the far future."""
TICKET = write_ticket(KEY, "vitis-1", "host-3", UNTIL)


def spans(trial: str = "vitis-1", host: str = "host-3") -> TracesData:
    data = TracesData()
    resource = data.resource_spans.add()
    for key, value in (("trellis.trial", trial), ("service.instance.id", host)):
        resource.resource.attributes.add(key=key).value.string_value = value
    resource.scope_spans.add().spans.add(name="publish")
    return data


@contextmanager
def gate(collector: Collector, own: Collector | None = None) -> Iterator[str]:
    """Start the gate before this Collector, and before the programs' `own` one, and yield its address."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    programs = None
    if own is not None:
        opening = _door(f"127.0.0.1:{own.port}")
        programs = asyncio.run_coroutine_threadsafe(opening, loop).result(20)
    serving = serve_gate("127.0.0.1:0", f"127.0.0.1:{collector.port}", KEY, OPEN, programs)
    server, channel, port = asyncio.run_coroutine_threadsafe(serving, loop).result(20)
    try:
        yield f"127.0.0.1:{port}"
    finally:
        asyncio.run_coroutine_threadsafe(server.stop(0), loop).result(20)
        for each in (channel, *((programs.channel,) if programs else ())):
            asyncio.run_coroutine_threadsafe(each.close(None), loop).result(20)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _door(collector: str) -> ProgramsDoor:
    return ProgramsDoor(open_collector(collector), "token of programs")


def send(address: str, message: bytes, ticket: str = TICKET, signal: str = "traces") -> grpc.StatusCode:
    with grpc.insecure_channel(address) as channel:
        export = channel.unary_unary((METHODS | LOGS)[signal], None, None)
        try:
            export(message, timeout=20, metadata=bearer(ticket))
        except grpc.RpcError as error:
            code: grpc.StatusCode = error.code()
            return code
    return grpc.StatusCode.OK


def test_a_host_with_its_ticket_sends_its_own_telemetry(tmp_path: Path) -> None:
    with running() as collector, gate(collector) as address:
        recorder = Recorder(
            tmp_path,
            "host-3",
            experiment="example",
            trial="vitis-1",
            seed=1,
            start_unix_ns=10**18,
            sink=admitted(Exporter(f"http://{address}"), TICKET),
        )
        recorder.operation(recorder.begin(1), "publish", 1, 1, {})
        recorder.write_interval(10**9, 1, 0)
        recorder.close()
        assert collector.traces.messages and collector.metrics.messages
        assert recorder.lost_spans == 0


@pytest.mark.parametrize("signal", list(METHODS))
@pytest.mark.parametrize(
    "ticket",
    [
        "",
        "x",
        "é",
        TICKET[:-1],
        TICKET + "0",
        write_ticket("another key", "vitis-1", "host-3", UNTIL),
        write_ticket(key_of(KEY, "other"), "vitis-1", "host-3", UNTIL),
        write_ticket(KEY, "vitis-1", "host-3", 10**9),
        b"vitis-1\nhost-3".hex() + ".",
    ],
)
def test_nothing_comes_in_without_a_ticket(ticket: str, signal: str) -> None:
    if not ticket.isascii():
        assert read_ticket(KEY, ticket, 0.0) is None
        return
    with running() as collector, gate(collector) as address:
        sent = send(address, spans().SerializeToString(), ticket, signal)
        assert sent is grpc.StatusCode.UNAUTHENTICATED
        assert not collector.traces.messages and not collector.metrics.messages


def of_two() -> TracesData:
    data = spans()
    data.MergeFrom(spans(host="host-4"))
    return data


def told_twice() -> bytes:
    """Return the same attribute with both values, of which readers may take either."""
    data = spans()
    data.resource_spans[0].resource.attributes.add(key="trellis.trial").value.string_value = "vitis-2"
    return data.SerializeToString()


def without_resource() -> bytes:
    data = spans()
    data.resource_spans[0].ClearField("resource")
    return data.SerializeToString()


@pytest.mark.parametrize(
    "message",
    [
        spans(trial="vitis-2").SerializeToString(),
        spans(host="host-4").SerializeToString(),
        spans(trial="../../elsewhere").SerializeToString(),
        of_two().SerializeToString(),
        told_twice(),
        without_resource(),
        spans().SerializeToString()[:-3],
        b"no telemetry",
        b"\x0b\x0c",
    ],
)
def test_a_ticket_is_for_one_host_and_one_trial(message: bytes) -> None:
    with running() as collector, gate(collector) as address:
        assert send(address, message) is grpc.StatusCode.PERMISSION_DENIED
        assert send(address, spans().SerializeToString()) is grpc.StatusCode.OK
        assert collector.traces.messages == [spans().SerializeToString()]


def test_what_the_collector_says_reaches_the_sender() -> None:
    with running() as collector, gate(collector) as address:
        collector.traces.answers = [grpc.StatusCode.RESOURCE_EXHAUSTED]
        assert send(address, spans().SerializeToString()) is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert send(address, spans().SerializeToString()) is grpc.StatusCode.OK


def test_what_is_refused_for_good_is_counted_as_lost() -> None:
    with running() as collector, gate(collector) as address:
        sink = Exporter(f"http://{address}", closing=5)(Path("host-3-traces-0.otlp"))
        sink.write(spans().SerializeToString(), 1)
        with pytest.raises(ExportError, match="UNAUTHENTICATED"):
            sink.close()
        assert sink.lost == 1 and not collector.traces.messages


def test_files_need_no_ticket() -> None:
    assert admitted(FileSink, TICKET) is FileSink


@pytest.mark.parametrize("number", [0, 1 << 29, (1 << 32) + 1, (1 << 60) + 1])
def test_a_number_that_no_field_has_is_refused_as_some_readers_cut_it_off(number: int) -> None:
    theirs = spans().SerializeToString()
    with pytest.raises(NotTheirs, match="no field has this number"):
        refuse_others(theirs + varint(number << 3 | 2) + varint(0), "vitis-1", "host-3")


def varint(value: int) -> bytes:
    left = b""
    while value > 127:
        left += bytes([value & 127 | 128])
        value >>= 7
    return left + bytes([value])


@given(st.binary(max_size=200))
def test_whatever_comes_is_theirs_or_refused(message: bytes) -> None:
    try:
        refuse_others(message, "vitis-1", "host-3")
    except NotTheirs:
        return
    data = TracesData.FromString(message) if message else TracesData()
    assert not data.resource_spans


@given(
    st.text(alphabet=st.characters(blacklist_characters="\n", blacklist_categories=["Cs"])), st.text("ab-1")
)
def test_a_ticket_tells_what_it_is_for_to_those_who_have_the_key(trial: str, host: str) -> None:
    ticket = write_ticket(KEY, trial, host, 1000)
    assert read_ticket(KEY, ticket, 1000.0) == (trial, host)
    assert read_ticket(KEY, ticket, 1000.5) is None
    assert read_ticket("another", ticket, 0.0) is None


def test_releases_that_share_a_secret_take_no_ticket_of_each_other() -> None:
    ticket = write_ticket(key_of(KEY, "one"), "vitis-1", "host-3", UNTIL)
    assert read_ticket(key_of(KEY, "one"), ticket, 0.0) == ("vitis-1", "host-3")
    assert read_ticket(key_of(KEY, "two"), ticket, 0.0) is None


def test_what_programs_tell_of_themselves_goes_to_another_port_of_the_collector() -> None:
    with running() as collector, running() as own, gate(collector, own) as address:
        message = spans(trial="../../elsewhere").SerializeToString()
        assert send(address, message, "token of programs") is grpc.StatusCode.OK
        assert own.traces.messages == [message] and not collector.traces.messages
        assert send(address, spans().SerializeToString()) is grpc.StatusCode.OK
        assert len(own.traces.messages) == len(collector.traces.messages) == 1


def test_programs_send_their_logs_beside_their_spans() -> None:
    with running() as collector, running() as own, gate(collector, own) as address:
        assert send(address, b"a log", "token of programs", "logs") is grpc.StatusCode.OK
        assert own.logs.messages == [b"a log"] and not own.traces.messages
        assert send(address, spans().SerializeToString(), TICKET, "logs") is grpc.StatusCode.UNAUTHENTICATED
        assert len(own.logs.messages) == 1 and not collector.logs.messages


@pytest.mark.parametrize(
    ("token", "signal"),
    [("token of others", "traces"), ("token of others", "logs"), ("token of programs", "metrics")],
)
def test_the_token_of_programs_opens_the_way_for_spans_and_logs_alone(token: str, signal: str) -> None:
    with running() as collector, running() as own, gate(collector, own) as address:
        sent = send(address, spans().SerializeToString(), token, signal)
        assert sent is grpc.StatusCode.UNAUTHENTICATED
        for each in (collector, own):
            assert not each.traces.messages and not each.metrics.messages and not each.logs.messages


def test_operators_are_told_of_what_the_gate_refuses() -> None:
    with (
        receiving() as receiver,
        running() as collector,
        traced(receiver, "gate"),
        gate(collector) as address,
    ):
        assert send(address, spans().SerializeToString(), "x") is grpc.StatusCode.UNAUTHENTICATED
    refused = receiver.only("refuse telemetry")
    assert "does not show a ticket" in refused.status.message
