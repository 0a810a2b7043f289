"""The options of `trellis/v1/options.proto` that `.proto` files declare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto

_F = FieldDescriptorProto
TOLD = {"hops": "travelled", "event": "event_number", "topic": "topic_number"}
"""The methods by which telemetry asks a message, by the field that has the answer."""
KINDS = ("PART", "EVENT", "NOTIFICATION", "CONTROL", "MAINTENANCE", "AS_ENCLOSED")


class Options:
    """The options that the files declare."""

    def __init__(self, files: descriptor_pb2.FileDescriptorSet) -> None:
        pool = descriptor_pool.DescriptorPool()
        for file in files.file:
            pool.Add(file)
        self._kind: Any = pool.FindExtensionByName("trellis.v1.kind")
        self._carries: Any = pool.FindExtensionByName("trellis.v1.carries")
        self._shared: Any = pool.FindExtensionByName("trellis.v1.shared")
        self._field: dict[str, Any] = {
            name: pool.FindExtensionByName(f"trellis.v1.{name}")
            for name in ("bit_set", "identifier", "vector", "rider")
        }
        self._messages, self._fields = (
            message_factory.GetMessageClass(pool.FindMessageTypeByName(f"google.protobuf.{name}"))
            for name in ("MessageOptions", "FieldOptions")
        )
        self.modules = {
            f".{file.package}.{message.name}": file.name.removesuffix(".proto").replace("/", ".")
            for file in files.file
            for message in file.message_type
        }
        self._types = {
            f".{file.package}.{message.name}": message for file in files.file for message in file.message_type
        }

    def told(self, type_name: str, above: Sequence[str] = ()) -> dict[str, str]:
        """Return what the type tells telemetry, by method: a field of its own, or else the one part that
        tells it.

        `above` are the types that it is a part of, because a type may be a part of itself.
        """
        told = {}
        above = [*above, type_name]
        single = [field for field in self._types[type_name].field if field.label != _F.LABEL_REPEATED]
        for name, method in TOLD.items():
            own = [field for field in single if field.name == name and field.type == _F.TYPE_UINT32]
            if own:
                absent = f" if self.{name} is not None else -1" if own[0].proto3_optional else ""
                told[method] = f"self.{name}{absent}"
                continue
            parts = [
                field.name
                for field in single
                if field.type == _F.TYPE_MESSAGE
                and field.type_name not in above
                and method in self.told(field.type_name, above)
            ]
            if len(parts) == 1:
                told[method] = f"self.{parts[0]}.{method}() if self.{parts[0]} is not None else -1"
        return told

    def kind(self, message: DescriptorProto) -> str:
        return KINDS[self._of(message).Extensions[self._kind]]

    def carries(self, message: DescriptorProto, field: str) -> str:
        """Return the kind that a field of the message declares, or PART."""
        found = next(each for each in message.field if each.name == field)
        options = self._fields.FromString(found.options.SerializeToString())
        return KINDS[options.Extensions[self._carries]]

    def shared(self, message: DescriptorProto) -> bool:
        return bool(self._of(message).Extensions[self._shared])

    def _of(self, message: DescriptorProto) -> Any:
        return self._messages.FromString(message.options.SerializeToString())

    def declared(self, field: FieldDescriptorProto) -> set[str]:
        options = self._fields.FromString(field.options.SerializeToString())
        return {name for name, option in self._field.items() if options.Extensions[option]}
