"""Messages as plain classes: the same bytes as the protobuf library, by reference until then."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor
from hypothesis import given, settings
from hypothesis import strategies as st
from librt.vecs import vec
from mypy_extensions import i64

from emulator.messages import catalogue
from emulator.messages.building import write_messages
from emulator.messages.fields import UnsupportedProto
from emulator.messages.generate import generate
from emulator.messages.message import (
    CONTROL,
    EVENT,
    MAINTENANCE,
    NOTIFICATION,
    MalformedMessage,
    Message,
    Part,
)
from trellis.v1 import options_pb2
from trellis.v1.content import EventContent, EventDelivery, ProbePub, ProbePubMulticast
from trellis.v1.overlay import Contact, Goodbye, LookupRequest, NewscastExchange, Profile, Routed
from trellis.v1.pubsub import EventData, Notification
from trellis.v1.scribe import Multicast

ROOT = Path(__file__).parent.parent
FILES = ("overlay", "pastry", "pubsub", "scribe", "content")


def generated() -> Iterator[tuple[type[Part], Any]]:
    """Yield each generated class with the protobuf library's class of the same message."""
    for name in FILES:
        library = importlib.import_module(f"trellis.v1.{name}_pb2")
        ours = importlib.import_module(f"trellis.v1.{name}")
        for message in library.DESCRIPTOR.message_types_by_name:
            yield getattr(ours, message), getattr(library, message)


CLASSES = dict(generated())


def values(kind: Any, depth: int = 2) -> st.SearchStrategy[Any]:
    """Return messages of the protobuf library, with random fields."""

    def one(field: Any) -> st.SearchStrategy[Any]:
        if field.message_type is not None:
            if field.message_type.name == "Enclosed":
                return st.builds(
                    lambda m: field.message_type._concrete_class(name=type(m).NAME, content=m.encode()),
                    st.builds(LookupRequest, st.integers(0, 2**32 - 1)) | st.builds(Goodbye),
                )
            return values(field.message_type._concrete_class, depth - 1)
        options = field.GetOptions()
        if options.Extensions[options_pb2.identifier]:
            return st.binary(min_size=16, max_size=40).filter(lambda b: any(b) if len(b) == 16 else b[0])
        match field.type:
            case FieldDescriptor.TYPE_UINT32:
                top = 5000 if options.Extensions[options_pb2.bit_set] else 2**32 - 1
                return st.integers(0, top)
            case FieldDescriptor.TYPE_UINT64:
                return st.integers(0, 2**64 - 1)
            case FieldDescriptor.TYPE_SINT32:
                return st.integers(-(2**31), 2**31 - 1)
            case FieldDescriptor.TYPE_BOOL:
                return st.booleans()
            case FieldDescriptor.TYPE_ENUM:
                return st.sampled_from([value.number for value in field.enum_type.values])
            case FieldDescriptor.TYPE_DOUBLE:
                return st.floats(allow_nan=False).map(lambda x: x + 0.0)
            case FieldDescriptor.TYPE_FLOAT:
                return st.floats(width=32, allow_nan=False).map(lambda x: x + 0.0)
            case FieldDescriptor.TYPE_STRING:
                return st.text()
            case FieldDescriptor.TYPE_BYTES:
                return st.binary()
        raise AssertionError(field.type)

    def several(field: Any) -> st.SearchStrategy[Any]:
        if not field.is_repeated:
            return one(field)
        if field.GetOptions().Extensions[options_pb2.bit_set]:
            return st.sets(one(field)).map(sorted)
        return st.lists(one(field), max_size=4)

    fields = {
        field.name: several(field)
        for field in kind.DESCRIPTOR.fields
        if depth > 0 or field.message_type is None
    }
    return st.fixed_dictionaries({}, optional=fields).map(lambda given: kind(**given))


@pytest.mark.parametrize("ours", CLASSES, ids=lambda kind: kind.__name__)
@settings(max_examples=30)  # of each class; what they have in common is tried some 1,400 times
@given(data=st.data())
def test_bytes_are_those_of_the_protobuf_library(ours: type[Any], data: st.DataObject) -> None:
    encoded = data.draw(values(CLASSES[ours])).SerializeToString(deterministic=True)
    message = ours.read(encoded, 0, len(encoded))
    assert message.encode() == encoded
    assert message.byte_size() == len(encoded)
    assert ours.read(message.encode(), 0, len(encoded)) == message


@given(data=st.data(), cut=st.integers(1, 20))
def test_a_message_that_is_cut_off_is_refused_or_shorter(data: st.DataObject, cut: int) -> None:
    encoded = data.draw(values(CLASSES[NewscastExchange])).SerializeToString()[:-cut]
    try:
        message = NewscastExchange.read(encoded, 0, len(encoded))
    except MalformedMessage:
        return
    assert message.byte_size() <= len(encoded)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_message_or_refused(data: bytes) -> None:
    for kind in CLASSES:
        with contextlib.suppress(MalformedMessage):
            kind.read(data, 0, len(data))  # type: ignore[attr-defined]


def test_fields_that_a_later_version_adds_are_passed_over() -> None:
    library = CLASSES[NewscastExchange]
    encoded = library(reply=True, ages_ms=[3]).SerializeToString()
    added = b"\xa0\x06\x05" + b"\xa2\x06\x02hi" + b"\xa5\x06abcd" + b"\xa1\x06abcdefgh"
    message = NewscastExchange.read(encoded + added, 0, len(encoded + added))
    assert message == NewscastExchange(True, [], vec[i64]([3]))


def test_an_enclosed_message_is_shared_until_it_is_encoded() -> None:
    inner = EventData(event=7, topic=3, publisher=1, hops=2, payload=b"x" * 300)
    routed = Routed(1 << 100, Contact(5, 1 << 99), 4, inner, 9)
    assert routed.message is inner
    assert routed.kind() == EVENT
    encoded = routed.encode()
    assert len(encoded) == routed.byte_size()
    assert catalogue.decode("Routed", encoded) == routed


def test_a_message_says_what_it_is_there_for() -> None:
    assert (LookupRequest().kind(), Goodbye().kind()) == (CONTROL, MAINTENANCE)
    notification = Notification(event=4, topic=2, publisher=1, hops=3)
    told = (notification.event_number(), notification.topic_number(), notification.travelled())
    assert told == (4, 2, 3)
    assert Goodbye().event_number() == -1


@pytest.mark.parametrize("kind", [ProbePub, ProbePubMulticast, EventDelivery])
def test_a_message_tells_the_number_of_the_event_inside_a_part(
    kind: type[ProbePub | ProbePubMulticast | EventDelivery],
) -> None:
    message = kind(content=EventContent(event=7), hops=2)
    assert (message.event_number(), message.topic_number(), message.travelled()) == (7, -1, 2)
    assert kind().event_number() == -1


def test_a_message_around_an_event_tells_all_that_the_event_tells() -> None:
    message = Multicast(event=EventData(event=7, topic=3, hops=1))
    assert (message.event_number(), message.topic_number(), message.travelled()) == (7, 3, 1)


def test_a_part_is_no_message() -> None:
    assert not isinstance(Profile(), Message)
    with pytest.raises(KeyError):
        catalogue.decode("Profile", b"")


def test_an_unknown_enclosed_type_is_malformed() -> None:
    encoded = CLASSES[Routed](message={"name": "Nonsense", "content": b""}).SerializeToString()
    with pytest.raises(MalformedMessage, match="unknown type 'Nonsense'"):
        Routed.read(encoded, 0, len(encoded))


def test_a_set_with_a_huge_number_is_refused() -> None:
    encoded = CLASSES[Profile](topics=[2**32 - 1]).SerializeToString()
    with pytest.raises(MalformedMessage, match="too large"):
        Profile.read(encoded, 0, len(encoded))


def write(folder: Path, text: str) -> Path:
    path = folder / "strange" / "rumours.proto"
    path.parent.mkdir(exist_ok=True)
    head = 'syntax = "proto3"; package strange; import "trellis/v1/options.proto";'
    path.write_text(head + text)
    return path


KIND = "option (trellis.v1.kind) = EVENT;"


def test_a_package_generates_messages_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"""
        // What is told.
        message Rumour {{ {KIND} uint32 event = 1; sint32 heat = 2; optional uint32 topic = 3; }}
        message Hearsay {{ {KIND} Rumour rumour = 1; Hearsay before = 2; }}
        message Pack {{ option (trellis.v1.kind) = AS_ENCLOSED; trellis.v1.Enclosed message = 1; }}
    """
    ((path, types),) = generate([write(tmp_path, text)], [tmp_path, ROOT / "protos"], tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("strange.rumours")
    try:
        rumour = module.Rumour(event=3, heat=-2)
        assert rumour.topic is None and rumour.topic_number() == -1
        assert module.Hearsay(rumour).event_number() == 3
        assert catalogue.decode("strange.Rumour", rumour.encode()) == rumour
        assert types[0] == ("Rumour", "strange.Rumour", "event")
        assert module.Pack(rumour).kind() == EVENT
        assert module.Rumour.__doc__ == "What is told."
        assert path == tmp_path / "strange" / "rumours.py"
    finally:
        sys.modules.pop("strange.rumours")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (f"message M {{ {KIND} oneof x {{ uint32 a = 1; }} }}", "a oneof"),
        (f"message M {{ {KIND} message N {{}} }}", "a type inside it"),
        (f"message M {{ {KIND} string a = 1 [(trellis.v1.identifier) = true]; }}", "identifier is for"),
        (f"message M {{ {KIND} uint32 a = 1 [(trellis.v1.bit_set) = true]; }}", "bit_set is for"),
        ("message M { option (trellis.v1.kind) = AS_ENCLOSED; }", "encloses no single message"),
        (f"message M {{ {KIND} option (trellis.v1.shared) = true; }}", "M is no part"),
    ],
)
def test_what_classes_cannot_express_is_refused_by_name(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(UnsupportedProto, match=complaint):
        generate([write(tmp_path, text)], [tmp_path, ROOT / "protos"], tmp_path)


@pytest.mark.parametrize("name", ["None", "int", "len", "Message", "vec", "class", "_Hidden"])
def test_a_name_that_the_generated_module_needs_is_refused_with_file_line_and_fix(
    tmp_path: Path, name: str
) -> None:
    text = f"\nmessage Good {{ {KIND} }}\nmessage {name} {{ {KIND} }}\nenum E {{ A_{name} = 0; }}"
    with pytest.raises(
        UnsupportedProto, match=rf"^strange/rumours\.proto:3: the message {name}: .*Rename it$"
    ):
        generate([write(tmp_path, text)], [tmp_path, ROOT / "protos"], tmp_path)
    text = f"message M {{ {KIND} }}\nenum E {{\n {name} = 0;\n}}"
    with pytest.raises(UnsupportedProto, match=rf"rumours\.proto:3: the value E\.{name}: .*Rename it$"):
        generate([write(tmp_path, text)], [tmp_path, ROOT / "protos"], tmp_path)
    assert not (tmp_path / "strange" / "rumours.py").exists()


def test_all_names_of_fields_that_a_class_needs_are_refused_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = ("None", "encode", "kind", "self", "measure", "from", "NAME", "_size", "read", "peers_count")
    fine = ("int", "len", "list", "size", "length", "out", "tag", "reader", "message", "match", "number")
    fields = [
        f"repeated uint32 {name} = {number} [(trellis.v1.bit_set) = true];"
        for number, name in enumerate((*wrong, "peers", *fine), 1)
    ]
    lines = "\n".join(fields)
    with pytest.raises(UnsupportedProto) as raised:
        generate([write(tmp_path, f"message M {{ {KIND}\n{lines} }}")], [tmp_path, ROOT / "protos"], tmp_path)
    told = str(raised.value).splitlines()
    assert [line.partition(": the field ")[0] for line in told] == [
        f"strange/rumours.proto:{number}" for number in range(2, len(wrong) + 2)
    ]
    assert [line.partition("M.")[2].partition(":")[0] for line in told] == list(wrong)
    assert all("Rename it, such as to " in line for line in told)
    types = ("uint32", "bytes", "string", "double")
    monkeypatch.syspath_prepend(str(tmp_path))
    for option, values in (("", {"int": b"x", "len": "y"}), ("repeated ", {"int": [b"x"], "tag": [3]})):
        name = f"Fine{option.strip().title()}"
        used = [f"{option}{types[number % 4]} {field} = {number};" for number, field in enumerate(fine, 1)]
        path = write(tmp_path, f"message {name} {{ {KIND} {' '.join(used)} }}")
        generate([path], [tmp_path, ROOT / "protos"], tmp_path)
        module = importlib.import_module("strange.rumours")
        try:
            message = getattr(module, name)(**values)
            assert catalogue.decode(f"strange.{name}", message.encode()) == message
        finally:
            sys.modules.pop("strange.rumours")


def test_a_file_that_no_module_can_be_made_of_is_refused(tmp_path: Path) -> None:
    for name in ("my-messages", "class", "__init__"):
        path = tmp_path / f"{name}.proto"
        path.write_text('syntax = "proto3"; package strange; message M {}')
        with pytest.raises(UnsupportedProto, match=f'cannot import a module "{name}". Rename the file'):
            generate([path], [tmp_path, ROOT / "protos"], tmp_path)
    path = tmp_path / "system.proto"
    path.write_text('syntax = "proto3"; package strange; message M {}')
    path.with_suffix(".py").write_text("print('mine')")
    with pytest.raises(UnsupportedProto, match=r"system\.py is there already, and was not generated"):
        generate([path], [tmp_path, ROOT / "protos"], tmp_path)
    assert path.with_suffix(".py").read_text() == "print('mine')"


@pytest.mark.parametrize("text", ["", 'syntax = "proto2";'])
def test_a_file_of_another_syntax_is_refused_with_what_to_write(tmp_path: Path, text: str) -> None:
    path = tmp_path / "rumours.proto"
    path.write_text(text)
    with pytest.raises(UnsupportedProto, match='begin it with syntax = "proto3"'):
        generate([path], [tmp_path, ROOT / "protos"], tmp_path)


def test_a_file_of_parts_alone_needs_no_options(tmp_path: Path) -> None:
    path = tmp_path / "parts.proto"
    path.write_text('syntax = "proto3"; package strange; message Piece { uint32 number = 1; }')
    ((written, types),) = generate([path], [tmp_path, ROOT / "protos"], tmp_path)
    assert "class Piece(Part)" in written.read_text()
    assert types == [("Piece", "", "part")]


def made(folder: Path, package: str, text: str, name: str = "messages") -> ModuleType:
    """Return the module of a file of this proto package, in a Python package of its own."""
    path = folder / f"{package}_{name}" / f"{name}.proto"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'syntax = "proto3"; package {package}; import "trellis/v1/options.proto"; {text}')
    generate([path], [folder, ROOT / "protos"], folder)
    return importlib.import_module(f"{path.parent.name}.{name}")


def test_messages_of_packages_and_of_trellis_never_collide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    one = made(tmp_path, "one", f"message Heartbeat {{ {KIND} uint32 peer = 1; }}")
    two = made(tmp_path, "two", f"message Heartbeat {{ {KIND} string name = 1; }}")
    assert (one.Heartbeat.NAME, two.Heartbeat.NAME) == ("one.Heartbeat", "two.Heartbeat")
    assert catalogue.message_type("one.Heartbeat") is one.Heartbeat
    assert catalogue.message_type("two.Heartbeat") is two.Heartbeat
    encoded = Routed(message=two.Heartbeat(name="x")).encode()
    assert Routed.read(encoded, 0, len(encoded)).message == two.Heartbeat(name="x")


def test_two_message_types_of_one_name_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    made(tmp_path, "same", f"message Goodbye {{ {KIND} }}", "a")
    with pytest.raises(ValueError, match=r"two message types are called same\.Goodbye.*another package"):
        made(tmp_path, "same", f"message Goodbye {{ {KIND} }}", "b")


@pytest.mark.parametrize(
    ("package", "complaint"),
    [
        ("", "names no package.*begin it with package NAME;"),
        ("package trellis.v1;", "trellis.v1 is Trellis' own"),
        (f"package {'long' * 50};", "longer than 200 characters"),
    ],
)
def test_a_package_that_names_no_messages_is_refused(tmp_path: Path, package: str, complaint: str) -> None:
    path = tmp_path / "rumours.proto"
    path.write_text(
        f'syntax = "proto3"; {package} import "trellis/v1/options.proto"; message Rumour {{ {KIND} }}'
    )
    with pytest.raises(UnsupportedProto, match=complaint):
        write_messages([path], tmp_path)


def test_a_message_is_of_the_kind_of_what_rides_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    text = """
        message Rumour { uint32 event = 1; }
        message Ping {
          option (trellis.v1.kind) = MAINTENANCE;
          uint32 sequence = 1;
          repeated Rumour rumours = 2 [(trellis.v1.carries) = EVENT];
          Rumour asked = 3 [(trellis.v1.carries) = NOTIFICATION];
          repeated uint32 changed = 4 [(trellis.v1.carries) = CONTROL, (trellis.v1.vector) = true];
          optional uint32 joined = 5 [(trellis.v1.carries) = CONTROL];
        }
    """
    module = made(tmp_path, "riding", text)
    ping, rumour = module.Ping, module.Rumour(7)
    assert ping(sequence=3).kind() == MAINTENANCE
    assert ping(joined=0).kind() == CONTROL
    assert ping(changed=vec[i64]([1])).kind() == CONTROL
    assert ping(asked=rumour, joined=1).kind() == NOTIFICATION
    assert ping(rumours=[rumour], asked=rumour, joined=1).kind() == EVENT


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (f"message M {{ {KIND} uint32 a = 1 [(trellis.v1.carries) = CONTROL]; }}", "M is EVENT already"),
        ("message M { uint32 a = 1 [(trellis.v1.carries) = EVENT]; }", "no kind of its own"),
    ],
)
def test_a_field_cannot_carry_what_its_message_is_not(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(UnsupportedProto, match=rf"M\.a carries .*{complaint}"):
        generate([write(tmp_path, text)], [tmp_path, ROOT / "protos"], tmp_path)
