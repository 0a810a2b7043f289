"""The kinds of faults. A fault has one of them as a key beside its name and its time."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from emulator.faults.groups import WHO, Crowd, Group, Model, Side
from emulator.files.quantities import Duration, RateOr0, Share, SignedDuration, SignedShare
from emulator.files.region_names import unknown_region


class Partition(Group):
    """Two groups of peers between which no message passes: these peers, and all others."""

    way: Literal["both", "out", "in"] = Field(
        "both", description='"out" stops only what these peers send, "in" only what is sent to them'
    )
    senders: Literal["told", "silence"] = Field(
        "silence",
        description='"told": senders learn after `network.unreachable_after` that nobody was reached',
    )


class LinkRatesThen(Model):
    """The rates of links while a fault lasts. A rate alone stands for both."""

    up: RateOr0 | None = Field(None, description="what a peer can send; 0 bit/s stalls it")
    down: RateOr0 | None = Field(None, description="what a peer can receive; 0 bit/s stalls it")


def _both_ways(value: Any) -> Any:
    """Accept one rate for both ways."""
    return {"up": value, "down": value} if isinstance(value, str) else value


def _of_region(value: Any) -> Any:
    """Accept the name of a region for all its peers."""
    return {"region": value} if isinstance(value, str) else value


class Links(Group):
    """Worse links of some peers: it holds for each message that one of them sends or is sent."""

    delay: Duration = Field(0.0, ge=0, le=3600, description="time that each message takes in addition")
    loss: Share = Field(0.0, ge=0, le=1, description="share of messages that vanish in addition")
    duplicate: Share = Field(
        0.0, ge=0, le=1, description="share of messages that arrive twice, each copy with a delay of its own"
    )
    corrupt: Share = Field(
        0.0,
        ge=0,
        le=1,
        description="share of messages that arrive damaged, so that they are refused",
    )
    bandwidth: Annotated[LinkRatesThen | None, BeforeValidator(_both_ways)] = Field(
        None, description="rates of the links of these peers instead of their own"
    )
    between: list[Annotated[Side, BeforeValidator(_of_region)]] | None = Field(
        None,
        min_length=2,
        max_length=2,
        description="two regions or other groups: it holds for messages from one to the other",
    )
    way: Literal["both", "out", "in"] | None = Field(
        None,
        description='"out": for what these peers send alone, or what the first of two groups sends to the '
        'second; "in": for what is sent to them alone; both ways if it is left out',
    )

    LATER: ClassVar[tuple[str, ...]] = (*Group.LATER, "between", "way")

    @property
    def is_between_regions(self) -> bool:
        """This is true if it holds between two regions, so that a peer's region says on which side it is."""
        return self.between is not None and all(side.is_named_region for side in self.between)

    def group_problems(self, crowd: Crowd, who: str, others: bool = True) -> list[tuple[str, str]]:
        """Return the key and the problem if there would be none of them, or nobody else."""
        if self.between is None:
            return super().group_problems(crowd, who, others)
        given = [key for key in WHO if getattr(self, key) is not None]
        if given:
            return [(given[0], f"`between` says already who {who} are. Leave out one of both")]
        if self.is_between_regions:
            problem = unknown_region([name for side in self.between for name in side.regions], crowd.regions)
            return [("between", problem)] if problem else []
        found = [
            (f"between.{index}.{key}", text)
            for index, side in enumerate(self.between)
            for key, text in side.group_problems(crowd, "the peers of this side")
        ]
        count = sum(side.count(crowd) for side in self.between)
        if not found and count > crowd.peers:
            text = (
                f"its two groups are {count} of {crowd.peers} peers. Take fewer, so that no peer is in both"
            )
            found = [("between", text)]
        return found

    @property
    def of_messages(self) -> bool:
        """This is true if it does something to messages on their way, beside what the rates of links do."""
        return bool(self.delay or self.loss or self.duplicate or self.corrupt)

    @property
    def rates(self) -> list[str]:
        """The keys of the rates that change."""
        then = self.bandwidth
        return [key for key in ("up", "down") if then is not None and getattr(then, key) is not None]


class Pause(Group):
    """Peers that do nothing for a while and then go on, as by SIGSTOP or a long collection."""


class Crash(Group):
    """Peers that crash at one instant, and come back when the fault ends, if it does."""

    state: Literal["lost", "kept"] = Field("lost", description="what a peer that comes back has of its state")


class Clock(Group):
    """Peers whose own clock is wrong: what it shows, and how fast it runs."""

    step: SignedDuration = Field(
        0.0, ge=-86_400, le=86_400, description="time by which it is ahead; negative: behind"
    )
    drift: SignedShare = Field(
        0.0, ge=-0.9, le=9, description="share by which it is faster; negative: slower"
    )

    def clock_problems(self, begins: float) -> list[tuple[str, str]]:
        """Return what is wrong with a clock that goes wrong at `begins` (s of trial time)."""
        if not self.step and not self.drift:
            return [
                ("step", "neither `step` nor `drift` is given, so nothing happens. Give one, such as 5 s")
            ]
        if begins + self.step < 0:
            shown = f"{begins + self.step:g} s"
            return [("step", f"the clock would show {shown}, before the trial began. Step back by less")]
        return []
