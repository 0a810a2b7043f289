"""The `bandwidth:` part of `network:` in an experiment file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from emulator.files.quantities import Duration, Rate, Share
from emulator.network.access_links import NANOSECONDS, AccessLinks, LinkRates
from emulator.network.link_table import MOST_CLASSES, LinkTable
from emulator.network.node_rates import NodeRates
from emulator.network.peer_classes import PeerClass, Population, class_problems
from emulator.network.rate_change import RateChange
from emulator.network.shared_links import SharedLinks


class _Rates(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    up: Rate | None = Field(None, description="what a peer can send; unlimited if it is left out")
    down: Rate | None = Field(None, description="what a peer can receive; unlimited if it is left out")


class LinkClass(PeerClass, _Rates):
    """A class of peers that have links of the same rates."""

    loss: Share = Field(
        0.0, ge=0, lt=1, description="share of the messages that vanish on such a link, in each direction"
    )


class Bandwidth(_Rates):
    """The links of all peers, or of classes of peers."""

    discipline: Literal["fifo", "fair"] = Field(
        "fifo", description='"fair": messages to or from different peers share a link equally'
    )
    queue: Duration = Field(0.1, gt=0, le=3600, description="what may wait at a link, as time at its rate")
    classes: list[LinkClass] = Field(default_factory=list, max_length=MOST_CLASSES)
    table: LinkTable | None = Field(
        None,
        description="a file with the classes, instead of `classes`",
        exclude_if=lambda given: given is None,
    )

    nodes: NodeRates | None = Field(
        None,
        description="a graph of which each peer has the rates of the node that it stands at, instead of "
        "`classes`",
        exclude_if=lambda given: given is None,
    )

    @model_validator(mode="after")
    def _with_classes(self) -> Bandwidth:
        """Return this with the classes of the file, so that whoever has it needs no file.

        A file that is not there is told of where all files are.
        """
        if self.table is not None and self.nodes is not None:
            raise ValueError("both `table` and `nodes` are given. Give one")
        key, source = ("nodes", self.nodes) if self.table is None else ("table", self.table)
        if source is None or source.file is None or not source.file.is_file():
            return self
        if self.classes:
            raise ValueError(f"both `classes` and `{key}` are given. Give one")
        classes = TypeAdapter(list[LinkClass]).validate_python(source.read(source.file))
        return self.model_copy(update={"classes": classes, key: source.model_copy(update={"file": None})})

    def all_classes(self) -> list[LinkRates]:
        """Return the rates of the classes, or those of all peers as the one class."""
        each: Sequence[_Rates] = self.classes or [self]
        queue_ns = round(self.queue * NANOSECONDS)
        return [LinkRates(some.up or 0, some.down or 0, queue_ns) for some in each]

    def losses(self, classes: Sequence[int]) -> list[float]:
        """Return the share that vanishes on the link of each peer, by its class (an index)."""
        return [self.classes[index].loss if self.classes else 0.0 for index in classes]

    def links(self, classes: Sequence[int], overhead: int) -> AccessLinks:
        """Return the links of peers of these classes (indices), in order of arrival and of constant rates; a
        message has `overhead` bytes beside its own."""
        return AccessLinks(self.all_classes(), classes, overhead)

    def shared_links(
        self, classes: Sequence[int], overhead: int, changes: Sequence[RateChange]
    ) -> SharedLinks:
        """Return the links of peers of these classes (indices) for the discipline that is asked for, with
        these changes of rates."""
        return SharedLinks(self.all_classes(), classes, overhead, self.discipline == "fair", changes)

    def without(self, way: str) -> list[str]:
        """Return the names of what has no rate `way` ("up" or "down"): classes, or "" for all peers."""
        if not self.classes:
            return [""] if getattr(self, way) is None else []
        return [each.name for each in self.classes if getattr(each, way) is None]

    def problems(self, crowd: Population) -> list[tuple[str, str]]:
        """Return the key below `network.bandwidth` and the problem of each combination that cannot be."""
        problems = []
        if self.classes:
            problems += [
                (key, "the classes say what each peer has. Move it into a class")
                for key in ("up", "down")
                if getattr(self, key) is not None
            ]
            problems += class_problems(self.classes, crowd, may_be_empty=self.table is not None)
            if not any(each.up or each.down or each.loss for each in self.classes):
                text = "no class has `up`, `down` or `loss`, so nothing is limited. Give one"
                problems.append(("classes", text))
        elif self.table is not None:
            if self.table.file is None:
                problems.append(("table.file", "is not given. Name the file that has the columns"))
        elif self.nodes is not None:
            if self.nodes.file is None:
                problems.append(("nodes.file", "is not given. Name the graph of `network.latency`"))
        elif self.up is None and self.down is None:
            problems.append(
                ("up", "neither `up` nor `down` is given, so nothing is limited. Give one, such as 20 Mbit/s")
            )
        return problems
