"""Lookups over any overlay: a request is routed, its end is told, the rest is the overlay's."""

from __future__ import annotations

from fake_environment import FakeEnvironment
from noted_overlay import NotedOverlay
from pydantic import BaseModel

from emulator.contract.protocol import Lookup
from emulator.contract.system import OverlayKind
from emulator.protocols.overlays.lookups import Lookups, lookups
from emulator.protocols.overlays.small_world.ring import SMALL_WORLD
from trellis.v1.overlay import Contact, LookupRequest


class Peer:
    def __init__(self) -> None:
        self.environment = FakeEnvironment(3)
        self.overlay = NotedOverlay(self.environment.channel("overlay"))
        self.lookups = Lookups(self.environment, self.overlay)


def test_a_lookup_is_a_request_routed_to_the_key() -> None:
    tested = Peer()
    tested.lookups.lookup(7, 1 << 100)
    assert tested.overlay.calls == [("route", 1 << 100, LookupRequest(number=7))]


def test_the_peer_where_it_ends_tells_its_origin_key_and_hops() -> None:
    tested = Peer()
    request = LookupRequest(number=7)
    application = tested.overlay.application_of(request)
    assert application.forward(9, request, next_hop=4, hops=1)
    assert not tested.environment.delivered
    application.deliver(9, request, origin=Contact(8, 88), hops=2)
    assert tested.environment.delivered == [Lookup(number=7, origin=8, key=9, hops=2)]


def test_the_overlay_starts_and_stops_with_it() -> None:
    tested = Peer()
    tested.lookups.start([1])
    tested.lookups.stop(graceful=True)
    assert tested.overlay.calls == [("start", 1), ("stop", True)]


class Nothing(BaseModel):
    pass


def test_an_overlay_alone_is_a_system_that_serves_lookups() -> None:
    kind = OverlayKind(
        "noted", "A noted overlay", "none", Nothing, lambda environment, _: NotedOverlay(environment)
    )
    system = lookups(kind)
    assert (system.name, system.title, system.parameters) == ("noted", "A noted overlay", Nothing)
    assert system.serves == "lookups"
    environment = FakeEnvironment(3)
    system.create(environment, Nothing())
    assert isinstance(environment.life.channels["overlay"].component, NotedOverlay)


def test_the_small_world_alone_is_such_a_system() -> None:
    system = lookups(SMALL_WORLD)
    environment = FakeEnvironment(3)
    system.create(environment, system.parameters()).start([])
    assert environment.fake.identifiers.keys() == {"overlay"}
