"""Replaying a trial's traces to a backend."""

import json
import time
from collections import Counter
from concurrent import futures
from hashlib import sha256

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import (
    TraceServiceServicer,
    add_TraceServiceServicer_to_server,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData

from emulator.experiment.run.directory import TrialDirectory
from emulator.experiment.run.fidelity import Fidelity, HostReport
from emulator.files.damage import DamagedFile
from emulator.telemetry import names
from emulator.telemetry import replay as module
from emulator.telemetry.backend_traces import OWN_IDS, BackendTraces, seed_of_ids
from emulator.telemetry.endpoint import BadEndpoint
from emulator.telemetry.otlp_files import FileSink
from emulator.telemetry.replay import ReplayError, replay

START = 1_000_000_000 * 10**9


class Collector(TraceServiceServicer):
    """Keeps requests; `answers` are given first: a status to fail with, or a response."""

    def __init__(self):
        self.requests = []
        self.answers = []

    def Export(self, request, context):
        answer = self.answers.pop(0) if self.answers else ExportTraceServiceResponse()
        if isinstance(answer, grpc.StatusCode):
            context.abort(answer, "not now")
        self.requests.append(request)
        return answer

    @property
    def spans(self):
        return [
            span
            for request in self.requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]


@pytest.fixture
def collector():
    with futures.ThreadPoolExecutor(1) as pool:
        server = grpc.server(pool)
        collector = Collector()
        add_TraceServiceServicer_to_server(collector, server)
        collector.endpoint = f"http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        server.start()
        yield collector
        server.stop(None).wait()


@pytest.fixture
def trial(tmp_path):
    directory = TrialDirectory(tmp_path / "run" / "trials" / "vitis-1")
    directory.telemetry.mkdir(parents=True)
    Fidelity("virtual", "virtual clock").write(directory.fidelity)
    directory.write_status(state="valid", progress={"trial_end": 90.0})
    return directory


def write(trial, spans_of_records, host="virtual", start=START):
    sink = FileSink(trial.telemetry / f"{host}-traces-0.otlp")
    number = 0
    for count in spans_of_records:
        data = TracesData()
        resource = data.resource_spans.add()
        resource.resource.attributes.add(key=names.START).value.int_value = start
        resource.resource.attributes.add(key=names.HOST).value.string_value = host
        scope = resource.scope_spans.add()
        for _ in range(count):
            number += 1
            scope.spans.add(
                trace_id=number.to_bytes(16, "big"),
                span_id=sha256(f"{host} {number}".encode()).digest()[:8],
                name=f"span {number}",
                start_time_unix_nano=start + number,
                end_time_unix_nano=start + number + 5,
            )
        sink.write(data.SerializeToString(), count)
    sink.close()


def test_all_spans_arrive_in_bounded_requests(trial, collector, monkeypatch):
    monkeypatch.setattr(module, "SPANS_A_REQUEST", 10)
    write(trial, [25, 3])
    write(trial, [1], host="another")
    sent = replay(trial, collector.endpoint)
    assert sent.whole
    assert (sent.spans, sent.requests) == (29, 5)
    assert sent.lines() == ["sent 29 spans in 5 requests"]
    sizes = [len(r.resource_spans[0].scope_spans[0].spans) for r in collector.requests]
    assert sizes == [1, 10, 10, 5, 3]
    assert sorted(span.name for span in collector.spans) == sorted(
        ["span 1", *(f"span {n}" for n in range(1, 29))]
    )


@pytest.mark.parametrize(
    ("kind", "numbers", "added"),
    [
        (Span.SPAN_KIND_PRODUCER, {names.TOPIC: 7}, ("send", "publish", "topic 7")),
        (Span.SPAN_KIND_PRODUCER, {}, ("send", "publish", None)),
        (Span.SPAN_KIND_CONSUMER, {names.TOPIC: 0}, ("process", "process", "topic 0")),
        (Span.SPAN_KIND_CONSUMER, {}, ("process", "process", "peer 3")),
        (Span.SPAN_KIND_INTERNAL, {names.TOPIC: 7}, None),
    ],
)
def test_a_backend_is_told_of_messages_by_the_conventions_and_the_files_stay(
    trial, collector, kind, numbers, added
):
    data = TracesData()
    span = data.resource_spans.add().scope_spans.add().spans.add(trace_id=bytes(16), kind=kind)
    for key, number in ({names.PEER: 3} | numbers).items():
        span.attributes.add(key=key).value.int_value = number
    sink = FileSink(trial.telemetry / "virtual-traces-0.otlp")
    sink.write(data.SerializeToString(), 1)
    sink.close()
    before = (trial.telemetry / "virtual-traces-0.otlp").read_bytes()
    replay(trial, collector.endpoint, shift=False)
    (sent,) = collector.spans
    told = {each.key: each.value.string_value for each in sent.attributes if each.value.string_value}
    keys = ("operation.type", "operation.name", "destination.name")
    expected = dict(zip(keys, added or (), strict=False)) | ({"system": "trellis"} if added else {})
    assert told == {f"messaging.{key}": text for key, text in expected.items() if text is not None}
    assert (trial.telemetry / "virtual-traces-0.otlp").read_bytes() == before


@pytest.mark.parametrize(("ended", "end"), [("2026-11-29T03:45:47+00:00", 1795923947), (None, None)])
def test_a_virtual_trial_is_moved_to_when_it_ended_or_now(trial, collector, ended, end):
    if ended:
        trial.write_status(ended=ended)
    write(trial, [3])
    replay(trial, collector.endpoint)
    (start,) = {r.resource_spans[0].resource.attributes[0].value.int_value for r in collector.requests}
    if end is None:
        assert abs(start + 90 * 10**9 - time.time_ns()) < 60 * 10**9
    else:
        assert start + 90 * 10**9 == end * 10**9
    assert [s.start_time_unix_nano - start for s in collector.spans] == [1, 2, 3]
    assert [s.end_time_unix_nano - s.start_time_unix_nano for s in collector.spans] == [5, 5, 5]


def test_a_trial_that_is_sent_twice_is_the_same_in_the_backend(trial, collector):
    trial.write_status(ended="2026-11-29T03:45:47+00:00")
    write(trial, [2])
    replay(trial, collector.endpoint)
    replay(trial, collector.endpoint)
    first, second = collector.spans[:2], collector.spans[2:]
    assert first == second
    assert [span.trace_id for span in first] == [
        BackendTraces(trial).id(n.to_bytes(16, "big")) for n in (1, 2)
    ]


def test_hosts_in_real_time_are_moved_to_the_coordinators_clock(trial, collector):
    offsets = {"host-0": 7_000_000, "host-1": -3_000_000}
    hosts = [HostReport(host, 1, clock_offset_start_ns=offset) for host, offset in offsets.items()]
    Fidelity("processes", "delay line", hosts=hosts).write(trial.fidelity)
    for host, offset in offsets.items():
        write(trial, [2], host, START + offset)
    replay(trial, collector.endpoint)
    assert [s.start_time_unix_nano for s in collector.spans] == [START + 1, START + 2] * 2
    assert [s.end_time_unix_nano for s in collector.spans] == [START + 6, START + 7] * 2
    replay(trial, collector.endpoint, shift=False)
    kept = [s.start_time_unix_nano for s in collector.spans[4:]]
    assert kept == [START + offset + n for offset in offsets.values() for n in (1, 2)]


def test_times_are_kept_if_asked_and_for_hosts_whose_clock_is_not_known(trial, collector):
    write(trial, [1])
    replay(trial, collector.endpoint, shift=False)
    Fidelity("processes", "delay line").write(trial.fidelity)
    replay(trial, collector.endpoint)
    assert [s.start_time_unix_nano for s in collector.spans] == [START + 1, START + 1]


def test_traces_of_real_time_keep_the_ids_that_a_release_forwarded(trial, collector):
    trial.write_status(**{OWN_IDS: True})
    write(trial, [2])
    replay(trial, collector.endpoint, shift=False)
    assert [span.trace_id for span in collector.spans] == [n.to_bytes(16, "big") for n in (1, 2)]


def test_a_share_of_the_traces_is_sent_whole_and_is_part_of_a_larger_share(trial, collector):
    for host in ("host-0", "host-1"):  # each trace has a span of both
        write(trial, [400], host=host)

    def arrived(share):
        collector.requests.clear()
        sent = replay(trial, collector.endpoint, share=share)
        assert sent.whole and sent.spans + sent.left_out == 800
        return Counter(span.trace_id for span in collector.spans)

    tenth, half = arrived(0.1), arrived(0.5)
    assert set(tenth.values()) == set(half.values()) == {2}
    assert tenth.keys() < half.keys() and 20 <= len(tenth) <= 65 and 160 <= len(half) <= 240
    assert len(arrived(1.0)) == 400


def test_what_was_left_out_is_told(trial, collector):
    write(trial, [50])
    sent = replay(trial, collector.endpoint, share=1e-12)
    assert sent.lines() == ["sent 0 spans in 0 requests; left out 50 spans of other traces"]


def test_trials_of_one_seed_in_real_time_have_trace_ids_of_their_own():
    ids = {seed_of_ids(seed, start) for seed in (1, 2) for start in (START, START + 1)}
    assert len(ids) == 4
    assert seed_of_ids(1, START) in ids


@pytest.mark.parametrize("ended", ["yesterday", "", 5, True, ["x"], "0001-01-01T00:00:00Z", "9999-01-01"])
def test_an_end_that_is_no_time_is_told_with_the_file_and_the_fix(trial, collector, ended):
    trial.write_status(ended=ended)
    write(trial, [1])
    with pytest.raises(DamagedFile) as damage:
        replay(trial, collector.endpoint)
    told = str(damage.value)
    assert told.startswith(f'{trial.status} is damaged: "ended" is {json.dumps(ended)}, but has to be')
    assert "Write null there" in told
    assert not collector.requests


def test_trials_with_one_seed_do_not_share_traces(trial, collector, tmp_path):
    other = TrialDirectory(trial.path.with_name("rvr-1"))
    other.telemetry.mkdir(parents=True)
    for directory in (trial, other):
        write(directory, [2])
        replay(directory, collector.endpoint, shift=False)
    replay(trial, collector.endpoint, shift=False)
    ids = [span.trace_id for span in collector.spans]
    assert len(set(ids)) == 4
    assert ids[:2] == ids[4:]
    assert all(len(i) == 16 for i in ids)


def test_an_unavailable_backend_is_asked_again_after_growing_pauses(trial, collector):
    write(trial, [2])
    collector.answers = [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNAVAILABLE]
    pauses, notes = [], []
    assert replay(trial, collector.endpoint, notes.append, sleep=pauses.append).spans == 2
    assert pauses == [0.5, 1.0]
    assert "attempt 2 of 6 in 0.5 s" in notes[0]


def test_a_backend_that_stays_unavailable_is_an_error(trial, collector):
    write(trial, [2, 2])
    collector.answers = [ExportTraceServiceResponse()] + [grpc.StatusCode.UNAVAILABLE] * 6
    with pytest.raises(ReplayError, match=r"after 6 attempts \(2 sent\): UNAVAILABLE: not now"):
        replay(trial, collector.endpoint, sleep=lambda _: None)


def test_a_refusal_is_not_repeated(trial, collector):
    write(trial, [2])
    collector.answers = [grpc.StatusCode.UNIMPLEMENTED]
    with pytest.raises(ReplayError, match="UNIMPLEMENTED"):
        replay(trial, collector.endpoint, sleep=lambda _: pytest.fail("slept"))
    assert collector.requests == []


def test_rejected_spans_are_counted(trial, collector):
    write(trial, [5])
    answer = ExportTraceServiceResponse()
    answer.partial_success.rejected_spans = 2
    answer.partial_success.error_message = "too old"
    collector.answers = [answer]
    sent = replay(trial, collector.endpoint)
    assert not sent.whole
    assert (sent.spans, sent.rejected) == (3, 2)
    assert sent.lines()[0] == "the backend rejected 2 spans: too old"


def test_a_cut_off_file_is_sent_to_its_last_whole_record(trial, collector):
    write(trial, [4, 4])
    (file,) = module.traces_of(trial)
    file.write_bytes(file.read_bytes()[:-7])
    sent = replay(trial, collector.endpoint)
    assert sent.spans == 4
    assert not sent.whole
    assert "virtual-traces-0.otlp is cut off at byte" in sent.lines()[0]


def test_a_damaged_file_is_sent_up_to_the_damage(trial, collector):
    write(trial, [4, 4])
    (file,) = module.traces_of(trial)
    data = bytearray(file.read_bytes())
    data[-20:] = bytes(20)
    file.write_bytes(data)
    sent = replay(trial, collector.endpoint)
    assert sent.spans == 4
    assert "is damaged" in sent.lines()[0]


@pytest.mark.parametrize(
    "endpoint", ["localhost:4317", "ftp://a:1", "http://", "http://a:99999", "http://a:1/v1/traces"]
)
def test_what_is_no_endpoint_is_refused(trial, endpoint):
    with pytest.raises(BadEndpoint, match="4317"):
        replay(trial, endpoint)
