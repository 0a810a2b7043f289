"""The description of a system under test: its entry in the registry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from emulator.contract.invariants import Invariant
from emulator.contract.protocol import Application, Environment, Membership, Overlay


@dataclass(frozen=True, slots=True)
class System:
    """A system under test."""

    name: str
    title: str
    paper: str
    parameters: type[BaseModel]
    create: Callable[[Environment, Any], Application]
    """The function that makes one peer from its environment and an instance of `parameters`."""
    serves: str = "topics"
    """The name of the kind of workload that the system serves; that kind names the class of its protocol."""
    schema: Callable[[Any], Mapping[str, tuple[float, float]]] | None = None
    """The function that returns, from the parameters, the attributes that all peers must know, with their
    domains; None if any attributes will do."""
    layout: str = ""
    """The function, as `module:function`, that lays out before a trial what the operators of servers would
    set up, such as a tree over all servers. From the parameters, the plan and the peers' round-trip times (s)
    it returns the parameters that peers are made with. It raises ValueError for what cannot be laid out."""
    misfits: str = ""
    """The function, as `module:function`, that is called when an experiment file is checked. From the
    parameters, the `Trial` and a function that returns their round-trip times (s; None if the matrix
    is too large to be made for a check) it returns the key, a dotted path, and the problem of each parameter
    that does not fit."""
    takes_identifiers: bool = False
    """This is true if peers take `Environment.identifier`, so that attackers can stand next to a key."""
    invariants: Sequence[Invariant] = ()
    """Conditions on the states of its peers, which an experiment may ask to hold."""


Part = TypeVar("Part", bound=Overlay | Membership)


@dataclass(frozen=True, slots=True)
class PartKind(Generic[Part]):
    """A protocol that is a part of the systems that run over it."""

    name: str
    title: str
    paper: str
    parameters: type[BaseModel]
    create: Callable[[Environment, Any], Part]
    """The function that makes one peer's part from the environment of its channel and an instance of
    `parameters`."""
    short_title: str = ""
    """The name that titles of systems over the part use; the part's title if left out."""
    invariants: Sequence[Invariant] = ()
    """Conditions on the states of its peers, alone and as a part of a system."""

    @property
    def called(self) -> str:
        """The name of the part in the title of a system over it."""
        return self.short_title or self.title


class OverlayKind(PartKind[Overlay]):
    """A structured overlay: alone it serves lookups; systems that run on any overlay take it as a part."""


class MembershipKind(PartKind[Membership]):
    """An unstructured membership: a part of systems that only need neighbours."""
