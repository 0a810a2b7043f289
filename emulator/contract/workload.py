"""The description of a kind of workload: what the peers of a trial are asked for, and how it is drawn.

A kind is an instance of a subclass of `WorkloadKind`. Trellis' own kinds (topics, content, lookups) use the
same interface as those that packages offer by entry points of the group `trellis.workloads`.

Two sides of a trial use a kind. The side that checks an experiment and draws its plan has numpy and Arrow; a
host, which only asks its peers, has neither. So this module and the modules of kinds import both inside of
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
from emulator.files.input_facts import Facts

Problems = list[tuple[str, str]]
"""A dotted key below `workload:`, and what is wrong with it."""
Row = Mapping[str, Any]
"""A row of a table of the plan."""
Array = Any
"""A one-dimensional numpy array."""


class _Coded:
    """A value that travels from the plan to a host as JSON."""

    __slots__ = ()

    def encode(self) -> Any:
        """Return the values of which `decode` makes an equal object. For a dataclass these are its fields."""
        if not is_dataclass(self):
            raise TypeError(f"{type(self).__name__} is no dataclass, so it has to define encode and decode")
        return [getattr(self, field.name) for field in fields(self)]

    @classmethod
    def decode(cls, values: Any) -> Self:
        """Return the object of which `encode` made these values."""
        return cls(*values)


class Operation(_Coded, ABC):
    """A request to a peer at one time: the root of a trace.

    A subclass is a frozen dataclass. Its fields are values that JSON has, or it overrides `encode` and
    `decode`.
    """

    __slots__ = ()

    NAME: ClassVar[str]
    """The name of the root span."""
    number: int
    """The operation's number in the plan, from 0 on."""

    def about(self) -> tuple[int | None, int]:
        """Return the topic and the publication that the trace is about.

        The topic, or None, lets spans say who is interested in it; the second is the number of the
        publication, if the operation is one, or -1.
        """
        return None, -1

    def attributes(self) -> Mapping[str, int | bool]:
        """Return the attributes of the root span, whose names get the prefix `trellis.`; no number is
        negative."""
        return {"number": self.number}

    @abstractmethod
    def perform(self, protocol: Any) -> None:
        """Ask a peer's protocol, which is of the class that the kind of workload names."""


class Holding(_Coded, ABC):
    """Something that a peer holds for a time, such as a subscription; from its join on, if that is in this
    time.

    A subclass is a frozen dataclass, as those of `Operation` are. Taking it up or giving it up at a peer that
    is up is an operation of its own.
    """

    __slots__ = ()

    TAKEN: ClassVar[str]
    """The name of the root span of taking it up."""
    GIVEN_UP: ClassVar[str]
    """The name of the root span of giving it up."""
    number: int
    """The holding's number in the plan, from 0 on."""

    def about(self) -> int | None:
        """Return the topic that a peer with this holding is interested in, or None if it is about
        no topic."""
        return None

    def attributes(self) -> Mapping[str, int | bool]:
        """Return the attributes of both root spans, with the same rules as those of `Operation`."""
        return {"number": self.number}

    @abstractmethod
    def take_up(self, protocol: Any) -> None:
        """Have a peer's protocol take it up, before the peer's start or later."""

    @abstractmethod
    def give_up(self, protocol: Any) -> None:
        """Have a peer's protocol give it up."""


class Asked(NamedTuple):
    """One operation and the time at which a peer is asked for it."""

    at: float
    """The time in seconds of trial time."""
    peer: int
    operation: Operation


class Held(NamedTuple):
    """A holding of a peer from `start` to `end` (s of trial time)."""

    peer: int
    start: float
    """The start in seconds of trial time; 0 if it is held from the first join on."""
    end: float
    what: Holding


@dataclass(frozen=True)
class PlanTable:
    """A table of the plan that belongs to a kind of workload."""

    schema: Any
    """The columns, as a `pyarrow.Schema`."""
    peer: str = "peer"
    """The column of the peer that a row is about: a host gets the rows of its own peers alone."""
    asks: bool = True
    """This is true if each row is one operation: these are counted, and those of peers that are not up count
    as missed."""
    since_ever: bool = True
    """This is true if all plans have the table; if not, plans of earlier versions may lack it and count as
    having no rows."""
    in_every_plan: bool = False
    """This is true if plans of Trellis' other kinds of workload have the table too, without rows."""


class Phases(Protocol):
    """The time line of a trial in seconds of trial time."""

    @property
    def join(self) -> float:
        """The length of the join phase, which begins at 0."""

    @property
    def settle(self) -> float:
        """The length of the settle phase."""

    @property
    def measure(self) -> float:
        """The length of the measure phase."""

    @property
    def measure_start(self) -> float:
        """The time at which the measure phase begins."""

    @property
    def measure_end(self) -> float:
        """The time at which the measure phase ends."""

    @property
    def end(self) -> float:
        """The time at which the trial ends."""


class Trial(Protocol):
    """A trial as a kind of workload may know it when an experiment file is checked."""

    @property
    def peers(self) -> int:
        """The number of peers that take part, including a flash crowd."""

    @property
    def phases(self) -> Phases:
        """The time line of the trial."""

    @property
    def workload(self) -> Any:
        """The whole `workload:`, with an attribute for each key."""


class Sessions(Protocol):
    """The sessions of peers: rows sorted by peer and start; times in seconds of trial time."""

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
        """The participants that may subscribe and publish: `emulator.workload.participants.Participants`."""

    @property
    def one_way(self) -> Callable[[int, int], float]:
        """A function that returns the one-way delay (s) between two peers."""

    def random(self, name: str) -> Any:
        """Return the `numpy.random.Generator` of this name, which belongs to this kind and to the trial's
        seed."""

    def stream(self, name: str) -> Random:
        """Return the stream of this name for scalar draws, which belongs to this kind and to the trial's
        seed."""

    def among(self, regions: Sequence[str] | None) -> Any:
        """Return for each peer whether it is in one of these regions of the latency, as a boolean array;
        None, which stands for all peers, for None."""

    def somebody_up(self, at: float, random: Any, what: str) -> int:
        """Return a random peer that is up at this time. Raises ValueError, naming `what`, if no
        peer is up."""

    def tell(self, facts: Facts) -> None:
        """Tell what was found in a file of the workload, and what was left out, filled in or merged."""


class WorkloadKind:
    """A kind of workload; a package makes one instance of a subclass and offers that."""

    name: str
    """The name that `System.serves` and the entry point use."""
    title: str
    """The words for what peers are asked for, such as "subscriptions by topic"; it follows "serves" in
    texts."""
    text: str = ""
    """A description in a sentence or two."""
    parameters: type[BaseModel]
    """The schema of what the kind's key in an experiment file holds. It forbids unknown keys."""
    protocol: type[Any] = Application
    """The class of the protocols that can be asked: `Application` or a subclass, which may be abstract."""
    operations: tuple[type[Operation], ...] = ()
    """The classes of all operations that peers are asked for."""
    holding: type[Holding] | None = None
    """The class of what peers hold, if they hold anything."""
    shared: tuple[str, ...] = ()
    """Further keys of `workload:` that the kind takes into account, such as "roles"; it allows no others."""
    words: tuple[str, str] = ("asked", "done")
    """The words by which progress calls operations that were begun, and deliveries."""
    analysis: str = ""
    """The object, as `module:object`, that says how an outcome is judged; the analysis alone imports it."""

    @property
    def key(self) -> str:
        """The key below `workload:` that chooses this kind if it holds its `parameters`."""
        return self.name

    def tables(self) -> Mapping[str, PlanTable]:
        """Return the kind's tables of the plan by name. There are none if the sessions of peers say all.

        A package's kind may have a table that Trellis has, with the same columns: rows of `publications`
        (`emulator.workload.table_schemas`) are events, whose deliveries the analysis judges.
        """
        return {}

    def draw(self, parameters: Any, trial: Drawing) -> Mapping[str, Mapping[str, Any]]:
        """Return the columns of all of the kind's tables: for each table's name, arrays or lists by column
        name.

        Rows are in the order of time, or of whatever the schema says. Raises ValueError for what cannot be
        drawn, and TraceError for a bad file.
        """
        return {}

    def asked(self, tables: Mapping[str, Sequence[Row]]) -> Iterable[Asked]:
        """Return the operations that rows of the kind's tables stand for."""
        return ()

    def held(self, tables: Mapping[str, Sequence[Row]]) -> Iterable[Held]:
        """Return what peers hold by the rows of the kind's tables."""
        return ()

    def topics(self, parameters: Any, peers: int) -> int | None:
        """Return the number of topics, which are 0 to one less; None if only the drawn plan tells."""
        return None

    def problems(self, parameters: Any, trial: Trial) -> Problems:
        """Return what cannot be drawn, and what is too large for any machine. Reads no file and draws
        nothing."""
        return []

    def problems_of_files(self, parameters: Any, trial: Trial) -> Problems:
        """Return what is wrong inside the files that parameters name. Raises TraceError for an unreadable
        one."""
        return []

    def misfits(self, parameters: Any, system: Any, system_parameters: Any) -> Problems:
        """Return what a `System` that serves this kind, with these parameters, cannot take of the
        workload."""
        return []

    def files(self, parameters: Any) -> Iterator[tuple[str, Path]]:
        """Yield each file that the parameters name, with its key below `workload:`."""
        for name in type(parameters).model_fields:
            value = getattr(parameters, name)
            if isinstance(value, Path):
                yield f"{self.key}.{name}", value
