"""The protocols' messages by name, for what is routed or sent encoded."""

from __future__ import annotations

from functools import cache

from google.protobuf.descriptor_pool import Default
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass


@cache
def message_class(name: str) -> type[Message]:
    """The class of a message of package `trellis.v1` that is imported. Raises KeyError for another name."""
    return GetMessageClass(Default().FindMessageTypeByName(f"trellis.v1.{name}"))
