"""What a kind of workload tells of itself: what the peers of a trial are asked for, and how it is drawn.

A kind is an instance of a subclass of `WorkloadKind`. Trellis' own kinds (topics, content, lookups) and those
of packages, which offer theirs by entry points of the group `trellis.workloads`, come through the same door.

Two sides of a trial use a kind. Whoever checks an experiment and draws its plan has numpy and Arrow; a host,
which only asks its peers, has neither. So this module and the modules of kinds import both inside of
functions alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from random import Random
from typing import Any, ClassVar, NamedTuple, Protocol, Self

from pydantic import BaseModel

from emulator.contract.protocol import Application

Problems = list[tuple[str, str]]
"""A dotted key below `workload:`, and what is wrong with it."""
Row = Mapping[str, Any]
"""A row of a table of the plan."""
Array = Any
"""A one-dimensional numpy array."""


class _Coded:
    """What travels from the plan to a host as values that JSON has."""

    def encode(self) -> Any:
        """The values that `decode` makes an equal object of. A dataclass has those of its fields."""
        if not is_dataclass(self):
            raise TypeError(f"{type(self).__name__} is no dataclass, so it has to define encode and decode")
        return [getattr(self, field.name) for field in fields(self)]

    @classmethod
    def decode(cls, values: Any) -> Self:
        """The object that `encode` made these values of."""
        return cls(*values)


class Operation(_Coded, ABC):
    """What a peer is asked to do at one time: the root of a trace.

    A subclass is a frozen dataclass. Its fields are values that JSON has, or it overrides `encode` and
    `decode`.
    """

    NAME: ClassVar[str]
    """Names the root span."""
    number: int
    """The operation's number in the plan, from 0 on."""

    def about(self) -> tuple[int | None, int]:
        """The topic that the trace is about, so that its spans say who is interested in it, or None; and the
        number of the publication, if the operation is one, or -1.
        """
        return None, -1

    def attributes(self) -> Mapping[str, int | bool]:
        """The attributes of the root span, whose names get `trellis.` in front; no number is negative."""
        return {"number": self.number}

    @abstractmethod
    def perform(self, protocol: Any) -> None:
        """Ask a peer's protocol, which is of the class that the kind of workload names."""


class Holding(_Coded, ABC):
    """What a peer holds for a time, such as a subscription; from its join on, if that is in this time.

    A subclass is a frozen dataclass, as those of `Operation` are. What happens at a peer that is up is an
    operation of its own.
    """

    TAKEN: ClassVar[str]
    """Names the root span of taking it up."""
    GIVEN_UP: ClassVar[str]
    """Names the root span of giving it up."""
    number: int
    """Its number in the plan, from 0 on."""

    def about(self) -> int | None:
        """The topic in which a peer is interested that holds it, if it is about one."""
        return None

    def attributes(self) -> Mapping[str, int | bool]:
        """The attributes of both root spans, as those of `Operation`."""
        return {"number": self.number}

    @abstractmethod
    def take_up(self, protocol: Any) -> None:
        """Have a peer's protocol hold it, before the peer's start or later."""

    @abstractmethod
    def give_up(self, protocol: Any) -> None:
        """Have a peer's protocol hold it no more."""


class Asked(NamedTuple):
    """One operation at its time."""

    at: float
    """Seconds of trial time."""
    peer: int
    operation: Operation


class Held(NamedTuple):
    """What a peer holds from `start` to `end` (s of trial time)."""

    peer: int
    start: float
    """0 if it is held from the first join on."""
    end: float
    what: Holding


@dataclass(frozen=True)
class PlanTable:
    """A table of the plan that belongs to a kind of workload."""

    schema: Any
    """A `pyarrow.Schema`."""
    peer: str = "peer"
    """The column of the peer that a row is about: a host is told of the rows of its own peers alone."""
    asks: bool = True
    """Each row is one operation: these are counted, and those of peers that are not up are missed."""
    since_ever: bool = True
    """False: plans of earlier versions may lack it, and are taken to have no row of it."""


class Phases(Protocol):
    """The time line of a trial in seconds of trial time."""

    @property
    def join(self) -> float:
        """How long the join phase is, which begins at 0."""

    @property
    def settle(self) -> float:
        """How long the settle phase is."""

    @property
    def measure(self) -> float:
        """How long the measure phase is."""

    @property
    def measure_start(self) -> float:
        """When the measure phase begins."""

    @property
    def measure_end(self) -> float:
        """When the measure phase ends."""

    @property
    def end(self) -> float:
        """When the trial ends."""


class Trial(Protocol):
    """What a kind may know of a trial when an experiment file is checked."""

    @property
    def peers(self) -> int:
        """How many peers take part, a flash crowd among them."""

    @property
    def phases(self) -> Phases:
        """The time line."""

    @property
    def workload(self) -> Any:
        """The whole `workload:`: an attribute for each key."""


class Sessions(Protocol):
    """Who is up when: rows sorted by peer and start; times in seconds of trial time."""

    @property
    def peer(self) -> Array: ...

    @property
    def start(self) -> Array: ...

    @property
    def end(self) -> Array: ...


class Drawing(Trial, Protocol):
    """A trial whose plan is being drawn."""

    @property
    def sessions(self) -> Any:
        """The `Sessions` of all peers."""

    @property
    def participants(self) -> Any:
        """Who may subscribe and publish: `emulator.workload.participants.Participants`."""

    @property
    def one_way(self) -> Callable[[int, int], float]:
        """The one-way delay (s) between two peers."""

    def random(self, name: str) -> Any:
        """The `numpy.random.Generator` of this name, which belongs to this kind and to the trial's seed."""

    def stream(self, name: str) -> Random:
        """The stream for scalar draws of this name, which belongs to this kind and to the trial's seed."""

    def somebody_up(self, at: float, random: Any, what: str) -> int:
        """A random peer that is up at this time. Raises ValueError, naming `what`, if nobody is."""


class WorkloadKind:
    """A kind of workload; a package makes one instance of a subclass and offers that."""

    name: str
    """What `System.serves` says, and how the entry point is called."""
    title: str
    """What peers are asked for in a few words, such as "subscriptions by topic": for "serves ..."."""
    text: str = ""
    """What it is in a sentence or two."""
    parameters: type[BaseModel]
    """The schema of what the key of an experiment file holds. It forbids unknown keys."""
    protocol: type[Any] = Application
    """The class of the protocols that can be asked: `Application` or a subclass, which may be abstract."""
    operations: tuple[type[Operation], ...] = ()
    """The classes of all operations that peers are asked for."""
    holding: type[Holding] | None = None
    """The class of what peers hold, if they hold anything."""
    shared: tuple[str, ...] = ()
    """Further keys of `workload:` that it takes into account, such as "roles"; it allows no others."""
    words: tuple[str, str] = ("asked", "done")
    """What progress calls operations that were begun, and deliveries."""
    analysis: str = ""
    """`module:object` that the analysis asks how an outcome is judged; the analysis alone imports it."""

    @property
    def key(self) -> str:
        """The key below `workload:` that chooses this kind if it holds its `parameters`."""
        return self.name

    def tables(self) -> Mapping[str, PlanTable]:
        """Its tables of the plan by name. None, if the sessions of peers say all."""
        return {}

    def draw(self, parameters: Any, trial: Drawing) -> Mapping[str, Mapping[str, Any]]:
        """The columns of all of its tables, by the tables' names: arrays or lists by the columns' names.

        Rows are in the order of time, or of whatever the schema says. Raises ValueError for what cannot be
        drawn, and TraceError for a bad file.
        """
        return {}

    def asked(self, tables: Mapping[str, Sequence[Row]]) -> Iterable[Asked]:
        """The operations that rows of its tables stand for."""
        return ()

    def held(self, tables: Mapping[str, Sequence[Row]]) -> Iterable[Held]:
        """What peers hold by the rows of its tables."""
        return ()

    def problems(self, parameters: Any, trial: Trial) -> Problems:
        """What cannot be drawn, and what is too large for any machine. Reads no file and draws nothing."""
        return []

    def problems_of_files(self, parameters: Any, trial: Trial) -> Problems:
        """What is wrong inside the files that parameters name. Raises TraceError for an unreadable one."""
        return []

    def misfits(self, parameters: Any, system: Any, system_parameters: Any) -> Problems:
        """What a `System` that serves this kind, with these parameters, cannot take of the workload."""
        return []

    def files(self, parameters: Any) -> Iterator[tuple[str, Path]]:
        """Each file that the parameters name, with its key below `workload:`."""
        for name in type(parameters).model_fields:
            value = getattr(parameters, name)
            if isinstance(value, Path):
                yield f"{self.key}.{name}", value
