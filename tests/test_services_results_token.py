"""The results service asks for the token of its release."""

import base64
import http.client

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from otlp_receiver import receiving, traced, values
from served_run import begin, serving

from emulator.experiment.run.directory import RunDirectory
from emulator.trust.refusals import BAD_TOKEN


@pytest.fixture
def run(tmp_path):
    return RunDirectory(tmp_path / "run")


@pytest.fixture
def guarded(run):
    with serving(run, "the token") as server:
        yield server


def _ask_with(server, path, headers):
    connection = http.client.HTTPConnection(*server.server_address, timeout=20)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def _basic(text):
    return {"Authorization": "Basic " + base64.b64encode(text.encode()).decode()}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-Trellis-Token": "another"},
        {"X-Trellis-Token": "the token "[:-2]},
        {"Authorization": "Bearer another"},
        {"Authorization": "Bearer"},
        {"Authorization": "Basic ~"},
        {"Authorization": "Basic the token"},
        {"Authorization": "Basic dÜ=="},
        {"Authorization": "Bearer Ü"},
        {"X-Trellis-Token": "Ü"},
        _basic("the token"),
        _basic("the token:"),
    ],
)
@pytest.mark.parametrize("path", ["/", "/status", "/run.tar.zst"])
def test_without_the_token_nothing_is_read(run, guarded, headers, path):
    begin(run)
    status, told, body = _ask_with(guarded, path, headers)
    assert status == 401 and b"small" not in body and b"the token\n" not in body
    assert told["WWW-Authenticate"].startswith("Basic")
    assert guarded.refusals.counts()[BAD_TOKEN] == 1
    assert _ask_with(guarded, "/healthz", {})[0] == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Trellis-Token": "the token"},
        {"Authorization": "Bearer the token"},
        {"authorization": "bearer the token"},
        _basic("anybody:the token"),
        _basic(":the token"),
    ],
)
@pytest.mark.parametrize("path", ["/", "/status", "/run.tar.zst"])
def test_with_the_token_all_is_read(run, guarded, headers, path):
    begin(run)
    assert _ask_with(guarded, path, headers)[0] == 200


def test_operators_are_told_each_request_and_how_it_was_answered(run):
    begin(run)
    with receiving() as receiver:
        with traced(receiver, "results"), serving(run, "the token") as server:
            _ask_with(server, "/status", {"Authorization": "Bearer the token"})
            _ask_with(server, "/status?token=guessed", {})
            _ask_with(server, "/healthz", {})
        answered, refused = (span for _, span in receiver.told())
    assert answered.name == refused.name == "GET /status"
    assert answered.kind == Span.SPAN_KIND_SERVER
    about = values(answered.attributes)
    assert (about["http.response.status_code"], about["url.path"]) == (200, "/status")
    assert values(refused.attributes)["http.response.status_code"] == 401
    assert "guessed" not in str(refused)
