"""The systems and kinds of workload that can be run. To add one, add its file and its line here.

Packages outside of this repository add theirs by entry points of the groups `trellis.systems`,
`trellis.overlays`, `trellis.memberships` and `trellis.workloads`, each a `System`, an `OverlayKind`, a
`MembershipKind` or a `WorkloadKind`. A module is imported when it is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from emulator.contract.packages import BadPackage, Offer, offers
from emulator.contract.protocol import Application
from emulator.contract.system import MembershipKind, OverlayKind, System
from emulator.contract.workload import Operation, WorkloadKind

_WORKLOADS = {
    "topics": "emulator.workload.event_kind:TOPICS_KIND",
    "content": "emulator.workload.event_kind:CONTENT_KIND",
    "lookups": "emulator.workload.lookup_kind:LOOKUPS_KIND",
    "values": "emulator.workload.value_kind:VALUES_KIND",
    "membership": "emulator.workload.membership_kind:MEMBERSHIP_KIND",
    "broadcast": "emulator.workload.broadcast_kind:BROADCAST_KIND",
}
_WORKLOAD_KEYS = ("subscriptions", "publications", "changes", "roles", "clients")
"""Keys of `workload:` in an experiment file that a kind of workload may share, but not have as its name."""
_SYSTEMS = {
    "vitis": "emulator.protocols.pubsub.vitis.vitis:VITIS",
    "rvr": "emulator.protocols.pubsub.vitis.rvr:RVR_SYSTEM",
    "opt": "emulator.protocols.pubsub.opt.system:OPT",
    "gossipsub": "emulator.protocols.pubsub.gossipsub.system:GOSSIPSUB",
    "gossipsub-broadcast": "emulator.protocols.pubsub.gossipsub.for_all:GOSSIPSUB_FOR_ALL",
    "li": "emulator.protocols.pubsub.li.system:LI",
    "siena": "emulator.protocols.pubsub.siena.system:SIENA",
    "kyra": "emulator.protocols.pubsub.kyra.system:KYRA",
    "groups": "emulator.protocols.pubsub.groups.system:GROUPS",
    "chord": "emulator.protocols.overlays.chord.virtual_nodes:CHORD_LOOKUPS",
    "values-kademlia": "emulator.protocols.values.kademlia_store:KADEMLIA_STORE",
    "swim": "emulator.protocols.membership.system:SWIM",
}
"""Systems by name. One with the name of an overlay, or of a system over one, stands in its place."""
_OVERLAYS = {
    "pastry": "emulator.protocols.overlays.pastry.overlay:PASTRY",
    "oscar": "emulator.protocols.overlays.oscar.overlay:OSCAR",
    "chord": "emulator.protocols.overlays.chord.overlay:CHORD",
    "kademlia": "emulator.protocols.overlays.kademlia.overlay:KADEMLIA",
    "small-world": "emulator.protocols.overlays.small_world.ring:SMALL_WORLD",
}
_OVER_ANY_OVERLAY = {
    "scribe": "emulator.protocols.pubsub.scribe.scribe:over",
    "magnet": "emulator.protocols.pubsub.magnet.magnet:over",
    "values": "emulator.protocols.values.replicated:over",
}
"""Systems that run on any structured overlay: the function that makes the system over an `OverlayKind`.

With an overlay `x` there is a system `scribe-x`.
"""
_MEMBERSHIPS = {
    "random-graph": "emulator.protocols.overlays.random_graph.membership:RANDOM_GRAPH",
    "hyparview": "emulator.protocols.gossip.hyparview.membership:HYPARVIEW",
    "cyclon": "emulator.protocols.gossip.cyclon:CYCLON",
    "newscast": "emulator.protocols.gossip.newscast_membership:NEWSCAST",
}
_OVER_ANY_MEMBERSHIP = {
    "quasar": "emulator.protocols.pubsub.quasar.system:over",
}
"""Systems that only need neighbours: the function that makes one over a `MembershipKind` or an
`OverlayKind`.
"""
_OVER_ANY_UNSTRUCTURED = {
    "plumtree": "emulator.protocols.broadcast.plumtree:over",
    "flood": "emulator.protocols.broadcast.flooding:over",
    "push-gossip": "emulator.protocols.broadcast.push_gossip:over",
    "anti-entropy": "emulator.protocols.broadcast.anti_entropy:over",
}
"""Systems that run on any unstructured membership: the function that makes one over a `MembershipKind`."""
OWN_WORKLOADS = (*_WORKLOADS, *_WORKLOAD_KEYS)
"""The names that no kind of workload of a package may have."""
OWN_SYSTEMS = tuple(
    dict.fromkeys(
        (
            *_SYSTEMS,
            *_OVERLAYS,
            *(
                f"{name}-{overlay}"
                for overlay in _OVERLAYS
                for name in (*_OVER_ANY_OVERLAY, *_OVER_ANY_MEMBERSHIP)
            ),
            *(
                f"{name}-{membership}"
                for membership in _MEMBERSHIPS
                for name in (*_OVER_ANY_MEMBERSHIP, *_OVER_ANY_UNSTRUCTURED)
            ),
        )
    )
)
"""The names that no system of a package may have."""
OWN_PARTS = (*OWN_SYSTEMS, *_MEMBERSHIPS)
"""The names that no overlay and no membership of a package may have."""
_LOOKUPS = "emulator.protocols.overlays.lookups:lookups"
"""The function that makes the system that looks keys up in an `OverlayKind`."""

V = TypeVar("V", bound=System | OverlayKind | MembershipKind | WorkloadKind)


P = TypeVar("P", OverlayKind, MembershipKind)


@dataclass(frozen=True, slots=True)
class _Entry(Generic[V]):
    """The maker of a system, an overlay or a kind of workload, and the package that it comes from."""

    make: Callable[[], V]
    package: str = ""


class Registry(MutableMapping[str, V]):
    """Systems, overlays or kinds of workload by name, each made when it is first asked for.

    Asking for one of a package that cannot be used raises BadPackage.
    """

    def __init__(self, find: Callable[[], dict[str, _Entry[V]]]) -> None:
        self._find = find
        self._found: dict[str, _Entry[V]] | None = None
        self._made: dict[str, V] = {}

    @property
    def _entries(self) -> dict[str, _Entry[V]]:
        if self._found is None:
            self._found = self._find()
        return self._found

    def package_of(self, name: str) -> str:
        """Return the package that it comes from, with its version; "" for Trellis' own. Raises KeyError."""
        return self._entries[name].package

    def usable(self) -> Iterator[V]:
        """Yield all values except those of packages that cannot be used."""
        for name in self:
            try:
                yield self[name]
            except BadPackage:
                continue

    def __getitem__(self, name: str) -> V:
        if name not in self._made:
            self._made[name] = self._entries[name].make()
        return self._made[name]

    def __setitem__(self, name: str, value: V) -> None:
        self._entries[name] = _Entry(lambda: value)
        self._made.pop(name, None)

    def __delitem__(self, name: str) -> None:
        del self._entries[name]
        self._made.pop(name, None)

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._entries))

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries


def _load(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def _offered(offer: Offer, kind: type[V]) -> V:
    """Return what a package offers, after a check of it. Raises BadPackage."""
    found = offer.load()
    if not isinstance(found, kind):
        raise offer.refusal(f"it is of type {type(found).__name__}, not {kind.__name__}")
    if getattr(found, "name", "") != offer.name:
        raise offer.refusal(f'it calls itself "{getattr(found, "name", "")}". Use one name')
    if not hasattr(found, "parameters"):
        raise offer.refusal("it has no parameters. Give it a pydantic model, which may have no field")
    if not (isinstance(found.parameters, type) and issubclass(found.parameters, BaseModel)):
        raise offer.refusal("its parameters are not a pydantic model")
    if found.parameters.model_config.get("extra") != "forbid":
        raise offer.refusal("its parameters accept unknown keys. Set extra='forbid' in their model_config")
    return found


def _offered_part(offer: Offer, kind: type[P]) -> P:
    """Return an overlay or a membership that a package offers. Raises BadPackage."""
    found = _offered(offer, kind)
    _check_texts(offer, found, "name", "title", "paper", "short_title")
    required = [name for name, field in found.parameters.model_fields.items() if field.is_required()]
    if required:
        why = "systems over it are made with the defaults"
        raise offer.refusal(f"its parameter {required[0]} has no default. Give it one: {why}")
    return found


def _check_texts(offer: Offer, found: object, *names: str) -> None:
    for name in names:
        if not isinstance(getattr(found, name), str):
            raise offer.refusal(f"its {name} is {getattr(found, name)!r:.80}. Give it a text")
    if not callable(getattr(found, "create", None)):
        raise offer.refusal("its create is no function. Give it the class of the protocol")


def _offered_system(offer: Offer) -> System:
    found = _offered(offer, System)
    _check_texts(offer, found, "name", "title", "paper", "serves", "layout", "misfits")
    if found.serves not in WORKLOADS:
        known = ", ".join(sorted(WORKLOADS))
        raise offer.refusal(f'it serves "{found.serves}", which is no kind of workload. Known: {known}')
    return found


def _offered_workload(offer: Offer) -> WorkloadKind:
    found = _offered(offer, WorkloadKind)
    if not re.fullmatch("[a-z][a-z0-9_]*", found.name) or hasattr(BaseModel, found.name):
        raise offer.refusal("its name cannot be a key of an experiment file. Use small letters, digits and _")
    for name in ("title", "key"):
        if not isinstance(getattr(found, name, None), str):
            raise offer.refusal(f"it has no {name}. Give it a text")
    if found.key != found.name:
        raise offer.refusal(f'its key is "{found.key}". The key of a package\'s kind is its name')
    if not (isinstance(found.protocol, type) and Application in found.protocol.__mro__):
        raise offer.refusal("its protocol is no subclass of Application")
    for operation in found.operations:
        if not (isinstance(operation, type) and issubclass(operation, Operation)):
            raise offer.refusal(f"{operation!r} in its operations is no subclass of Operation")
        if not isinstance(getattr(operation, "NAME", None), str):
            raise offer.refusal(f"its operation {operation.__name__} has no NAME")
    if unknown := sorted(set(found.shared) - set(_WORKLOAD_KEYS)):
        raise offer.refusal(f'it shares "{unknown[0]}". Known: {", ".join(sorted(_WORKLOAD_KEYS))}')
    return found


def _workloads() -> dict[str, _Entry[WorkloadKind]]:
    found: dict[str, _Entry[WorkloadKind]] = {
        name: _Entry(partial(_load, place)) for name, place in _WORKLOADS.items()
    }
    for offer in offers("workloads", OWN_WORKLOADS).values():
        found[offer.name] = _Entry(partial(_offered_workload, offer), offer.package)
    return found


def _overlays() -> dict[str, _Entry[OverlayKind]]:
    found: dict[str, _Entry[OverlayKind]] = {
        name: _Entry(partial(_load, place)) for name, place in _OVERLAYS.items()
    }
    for offer in offers("overlays", OWN_PARTS).values():
        found[offer.name] = _Entry(partial(_offered_part, offer, OverlayKind), offer.package)
    return found


def _memberships() -> dict[str, _Entry[MembershipKind]]:
    found: dict[str, _Entry[MembershipKind]] = {
        name: _Entry(partial(_load, place)) for name, place in _MEMBERSHIPS.items()
    }
    overlays = {name: OVERLAYS.package_of(name) for name in OVERLAYS}
    for offer in offers("memberships", OWN_PARTS, overlays).values():
        found[offer.name] = _Entry(partial(_offered_part, offer, MembershipKind), offer.package)
    return found


def _systems() -> dict[str, _Entry[System]]:
    found: dict[str, _Entry[System]] = {
        name: _Entry(partial(_load, place)) for name, place in _SYSTEMS.items()
    }
    for overlay in OVERLAYS:
        package = OVERLAYS.package_of(overlay)
        found.setdefault(overlay, _Entry(partial(_over, _LOOKUPS, overlay), package))
        for name, place in (_OVER_ANY_OVERLAY | _OVER_ANY_MEMBERSHIP).items():
            found.setdefault(f"{name}-{overlay}", _Entry(partial(_over, place, overlay), package))
    for membership in MEMBERSHIPS:
        package = MEMBERSHIPS.package_of(membership)
        for name, place in (_OVER_ANY_MEMBERSHIP | _OVER_ANY_UNSTRUCTURED).items():
            over = _Entry(partial(_over_membership, place, membership), package)
            found.setdefault(f"{name}-{membership}", over)
    others = {name: entry.package for name, entry in found.items()}
    for offer in offers("systems", OWN_SYSTEMS, others).values():
        found[offer.name] = _Entry(partial(_offered_system, offer), offer.package)
    return found


def _over(place: str, overlay: str) -> System:
    made: System = _load(place)(OVERLAYS[overlay])
    return made


def _over_membership(place: str, membership: str) -> System:
    made: System = _load(place)(MEMBERSHIPS[membership])
    return made


WORKLOADS: Registry[WorkloadKind] = Registry(_workloads)
"""Kinds of workload by name."""
OVERLAYS: Registry[OverlayKind] = Registry(_overlays)
"""Structured overlays by name."""
MEMBERSHIPS: Registry[MembershipKind] = Registry(_memberships)
"""Unstructured memberships by name."""
SYSTEMS: Registry[System] = Registry(_systems)
"""Systems under test by name."""
