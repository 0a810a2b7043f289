"""Lookups over any overlay: a request is routed, its end is told, the rest is the overlay's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fake_environment import FakeEnvironment
from google.protobuf.message import Message
from trellis.v1.overlay_pb2 import Goodbye, LookupRequest

from emulator.overlays.lookups import Lookups
from emulator.protocol import Contact, Environment, Handler, Lookup, Overlay


class NotedOverlay(Overlay):
    """Takes note of what it is asked."""

    def __init__(self, environment: Environment) -> None:
        self.calls: list[tuple[object, ...]] = []

    def route(self, key: int, message: Message) -> None:
        self.calls.append(("route", key, message))

    def next_hop(self, key: int) -> int | None:
        return None

    def neighbour_set(self, count: int) -> Sequence[int]:
        return []

    def neighbours(self) -> Mapping[str, Sequence[int]]:
        return {"leaf": [4, 5]}

    def handlers(self) -> dict[type[Message], Handler]:
        return {Goodbye: lambda sender, message: None}

    def start(self, bootstrap: Sequence[Contact]) -> None:
        self.calls.append(("start", *bootstrap))

    def stop(self, graceful: bool) -> None:
        self.calls.append(("stop", graceful))

    def on_unreachable(self, peer: int) -> None:
        self.calls.append(("unreachable", peer))

    def gauges(self) -> dict[str, float]:
        return {"leaves": 2.0}


class Peer:
    def __init__(self) -> None:
        self.environment = FakeEnvironment(3)
        self.overlays: list[NotedOverlay] = []
        self.lookups = Lookups(self.environment, self._create)

    def _create(self, environment: Environment) -> Overlay:
        assert environment is self.environment
        self.overlays.append(NotedOverlay(environment))
        return self.overlays[-1]


def test_a_lookup_is_a_request_routed_to_the_key() -> None:
    tested = Peer()
    tested.lookups.lookup(7, 1 << 100)
    assert tested.overlays[0].calls == [("route", 1 << 100, LookupRequest(number=7))]


def test_the_peer_where_it_ends_tells_its_origin_key_and_hops() -> None:
    tested = Peer()
    application = tested.overlays[0].application
    assert application is not None
    assert application.forward(9, LookupRequest(number=7), next_hop=4, hops=1)
    assert not tested.environment.delivered
    application.deliver(9, LookupRequest(number=7), origin=8, hops=2)
    assert tested.environment.delivered == [Lookup(number=7, origin=8, key=9, hops=2)]


def test_everything_else_is_the_overlays() -> None:
    tested = Peer()
    tested.lookups.start([Contact(1)])
    tested.lookups.on_unreachable(1)
    tested.lookups.stop(graceful=True)
    assert tested.overlays[0].calls == [("start", Contact(1)), ("unreachable", 1), ("stop", True)]
    assert tested.lookups.gauges() == {"leaves": 2.0}
    assert tested.lookups.neighbours() == {"leaf": [4, 5]}
    assert tested.lookups.handlers().keys() == {Goodbye}
