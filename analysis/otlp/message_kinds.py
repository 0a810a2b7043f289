"""The kinds of messages that the analysis tells apart, as telemetry names them."""

from __future__ import annotations

from emulator.messages import message

EVENT = message.KINDS[message.EVENT]
"""The kind of a message that carries an event: what a peer gets in one is a copy."""
NOTIFICATION = message.KINDS[message.NOTIFICATION]
"""The kind of a message that announces an event, or asks for one."""
