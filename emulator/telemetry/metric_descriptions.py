"""Unit and description of the metrics that every trial has, as a backend shows them.

Units are those of the Unified Code for Units of Measure, as OpenTelemetry's conventions for metrics ask.
Gauges of components have what the component declares.
"""

from __future__ import annotations

from typing import Final

from emulator.telemetry import names

METRICS: Final[dict[str, tuple[str, str]]] = {
    names.SENT_MESSAGES: ("{message}", "Messages that peers of the host sent."),
    names.SENT_BYTES: ("By", "Encoded size of the messages that peers of the host sent."),
    names.LOST_MESSAGES: ("{message}", "Messages of these that the network lost."),
    names.LOST_BYTES: ("By", "Encoded size of the messages that the network lost."),
    names.LOST_SPANS: ("{span}", "Spans that were recorded and could not be kept."),
    names.DROPPED: ("{envelope}", "Envelopes that the host dropped."),
    names.PEERS_UP: ("{peer}", "Peers of the host that are up."),
    names.PEER_SENT_MESSAGES: ("{message}", "Messages that the peer sent."),
    names.PEER_SENT_BYTES: ("By", "Encoded size of the messages that the peer sent."),
    names.LINK: ("{link}", "A link of the peer to a neighbour; always 1."),
    names.TAKEN_IDENTIFIER: ("{identifier}", "An identifier that the peer took; always 1."),
}
"""Unit and description of each metric by its name."""
