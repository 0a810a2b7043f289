"""Spans of messages that did not reach their receiver have the status ERROR, and no others have a status."""

from __future__ import annotations

from pathlib import Path

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Status
from recorded_telemetry import recorder, spans

from emulator.faults.network_faults import Fate, stopping_observations
from emulator.network.access_links import DOWN_LINK_DROP, UP_LINK_DROP
from emulator.network.busy_peers import PROCESSING_DROP
from emulator.network.peer_network import LOSS, PEER_DOWN
from emulator.telemetry.observation import Observation


def stopped_by(fault: str) -> str:
    fate = Fate()
    fate.stopped_by = fault
    (name,) = fate.observed()
    return name


@pytest.mark.parametrize(
    ("observed", "told"),
    [
        (LOSS, "the network lost the message"),
        (PEER_DOWN, "the receiver was down"),
        (UP_LINK_DROP, "the message did not fit into its sender's up link"),
        (DOWN_LINK_DROP, "the message did not fit into its receiver's down link"),
        (PROCESSING_DROP, "the receiver had too many messages to handle"),
        (stopped_by("cut"), "the message was not received: fault cut"),
        (stopping_observations("noise")[1], "the message was not received: fault noise corrupts"),
        ("fault slow delays", None),
        ("fault twins duplicates", None),
        ("view", None),
    ],
)
def test_what_failed_has_a_status_with_a_description(observed: str, told: str | None, tmp_path: Path) -> None:
    tested = recorder(tmp_path)
    context = tested.begin()
    tested.observation(context, 1, 0, "", 5, Observation(observed, 100.0, 2, "bytes"))
    tested.close()
    (span,) = spans(tmp_path)
    failed = Status(code=Status.STATUS_CODE_ERROR, message=told) if told else Status()
    assert span.status == failed
    assert span.HasField("status") == bool(told)
