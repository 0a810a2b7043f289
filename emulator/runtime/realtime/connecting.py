"""The options of channels between hosts and coordinator, and the wait until one is connected."""

from __future__ import annotations

from typing import Any, Final

import grpc
import grpc.aio

_KEEPALIVE: Final = (10_000, 10_000)
"""The ms after which a silent connection is asked whether it lives, and those that an answer may take."""
OPTIONS: list[tuple[str, Any]] = [
    ("grpc.max_receive_message_length", 256 << 20),
    ("grpc.max_send_message_length", 256 << 20),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.so_reuseport", 0),
    ("grpc.initial_reconnect_backoff_ms", 250),
    ("grpc.max_reconnect_backoff_ms", 2000),
    ("grpc.keepalive_time_ms", _KEEPALIVE[0]),
    ("grpc.keepalive_timeout_ms", _KEEPALIVE[1]),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.http2.min_ping_interval_without_data_ms", _KEEPALIVE[0] // 2),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", _KEEPALIVE[0] // 2),
]
"""The options of every server and channel between hosts and coordinator."""


async def connect(channel: grpc.aio.Channel) -> None:
    """Wait until the channel is connected. Raises ConnectionError as soon as an attempt has failed."""
    state = channel.get_state(try_to_connect=True)
    while state is not grpc.ChannelConnectivity.READY:
        if state is grpc.ChannelConnectivity.TRANSIENT_FAILURE:
            raise ConnectionError("the host does not listen")
        await channel.wait_for_state_change(state)
        state = channel.get_state(try_to_connect=True)
