"""The `attackers:` and `faults:` parts of an experiment file."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal, Union

from pydantic import BeforeValidator, Field, create_model

from emulator.contract.attack import AttackModel
from emulator.contract.mistakes import code_of
from emulator.contract.package_models import kinds_of_packages
from emulator.faults.attacks import BlackHole, Delay, Duplication, Garbage, Replay
from emulator.faults.groups import Crowd, Group, Model
from emulator.faults.identities import Target
from emulator.faults.kinds import Clock, Crash, Links, Partition, Pause
from emulator.faults.mesh_attacks import MeshSybil
from emulator.files.quantities import Duration

OWN_ATTACKS = ("black-hole", "delay", "duplication", "replay", "garbage", "mesh-sybil")
STOPPING_ATTACKS = ("black-hole", "garbage", "mesh-sybil")
"""The kinds of attacks whose observations are of messages that did not go on as they came."""


def _with_kind(value: Any) -> Any:
    """Accept the name of a kind of attack for the kind with its defaults."""
    return {"kind": value} if isinstance(value, str) else value


if TYPE_CHECKING:
    Behaviour = AttackModel
else:
    _ATTACKS = (
        *(BlackHole, Delay, Duplication, Replay, Garbage, MeshSybil),
        *kinds_of_packages("attacks", AttackModel, OWN_ATTACKS),
    )
    Behaviour = Annotated[
        Union[_ATTACKS],  # noqa: UP007
        Field(discriminator="kind"),
        BeforeValidator(_with_kind),
    ]

# A key called "for" cannot be written as an attribute of a class in Python.
_LASTS = Field(None, gt=0, description="how long it lasts; to the end of the trial if it is left out")
_Timed = create_model(
    "_Timed",
    __base__=Model,
    at=(Duration, Field(0.0, ge=0, description="trial time at which it begins")),
    **{"for": (Duration | None, _LASTS)},  # type: ignore[call-overload]
)


_DIGITS = 9


class Window(_Timed):
    """Something that begins in a trial and lasts for some time."""

    @property
    def begins(self) -> float:
        """The trial time (s) at which it begins."""
        return float(getattr(self, "at"))  # noqa: B009

    @property
    def ends(self) -> float:
        """The trial time (s) at which it is over, to the nanosecond; infinite if that is never.

        So 2.2 s from 1.1 s on are over at 3.3 s, as another fault has it that begins then.
        """
        lasts = getattr(self, "for")
        return math.inf if lasts is None else round(self.begins + float(lasts), _DIGITS)

    def late(self, trial_end: float) -> list[tuple[str, str]]:
        """Return the problem of the key `at` if it would begin after the trial."""
        if self.begins < trial_end:
            return []
        return [("at", f"{self.begins:g} s, but the trial ends at {trial_end:g} s. Begin earlier")]


ATTACK: Final = "attack"
"""The name of what a trial's attackers do, where faults have names."""


class AttackersSpec(Window, Group):
    """The peers that behave badly, and what they do."""

    behaviour: Behaviour
    identities: int | None = Field(
        None, ge=2, le=200_000, description="attacking peers that are one attacker, at one place"
    )
    near: Target | None = Field(None, description="around whose identifier their own are")

    LATER: ClassVar[tuple[str, ...]] = (*Group.LATER, "identities", "near")

    @property
    def name(self) -> str:
        return ATTACK

    @property
    def kind(self) -> str:
        """The kind of their behaviour."""
        return str(getattr(self.behaviour, "kind"))  # noqa: B009 - each subclass has the field

    @property
    def spared(self) -> set[int]:
        """The peers that the attack is about: attackers that are drawn are others."""
        with code_of(self.behaviour, "could not say whom it is about"):
            about = set(self.behaviour.about())
        near = None if self.near is None else self.near.peer
        return about if near is None else {*about, near}

    @property
    def topics(self) -> list[int]:
        """The topics that the attack is about."""
        with code_of(self.behaviour, "could not say of which topics it is"):
            return sorted(self.behaviour.topics())

    def problems(self, crowd: Crowd, trial_end: float) -> list[tuple[str, str]]:
        """Return the key below `attackers` and the problem of each combination that cannot be drawn."""
        found = [] if self.near is None else self.near.problems(crowd)
        near = [(f"near.{key}", text) for key, text in found]
        group = self.group_problems(crowd, "attackers")
        if not near and not group:
            group = self._problems_of_spared(crowd) + self._problems_of_identities(crowd)
        return group + near + self.late(trial_end)

    def _problems_of_identities(self, crowd: Crowd) -> list[tuple[str, str]]:
        count = self.count(crowd)
        if self.identities is None or self.identities <= count:
            return []
        text = f"there are {count} attacking peers, which cannot be one attacker as {self.identities} peers"
        return [("identities", f"{text}. Take fewer, or more attackers")]

    def _problems_of_spared(self, crowd: Crowd) -> list[tuple[str, str]]:
        unknown = [peer for peer in sorted(self.spared) if peer >= crowd.peers]
        if unknown:
            return [("behaviour", f"there is no peer {unknown[0]}. They are 0 to {crowd.peers - 1}")]
        topics = self.topics
        if crowd.topics is not None and topics and topics[-1] >= crowd.topics:
            are = f"They are 0 to {crowd.topics - 1}" if crowd.topics > 1 else "There is topic 0 alone"
            return [("behaviour", f"there is no topic {topics[-1]}. {are}")]
        if self.is_drawn and self.count(crowd) + len(self.spared) > crowd.peers:
            text = (
                f"{self.count(crowd)} of {crowd.peers} peers leave too few for those that the attack is about"
            )
            return [("share" if self.share is not None else "number", f"{text}. Take fewer")]
        return []


KINDS = ("partition", "links", "pause", "crash", "bootstrap", "clock")
"""The keys that say what a fault does."""
OF_MESSAGES = ("partition", "links")
"""The kinds that decide what becomes of a message when it is sent."""
OF_PEERS = ("pause", "crash", "clock")
"""The kinds that stop or change peers themselves. No peer can have two of a kind at a time."""


class FaultSpec(Window):
    """One fault: a name, when, and one key that says what."""

    name: str = Field(
        pattern=r"^[a-z0-9][a-z0-9-]{0,63}$",
        description="name in tables, in figures and in `expect`; faults under `draw` may leave it out",
    )
    partition: Partition | None = None
    links: Links | None = None
    pause: Pause | None = None
    crash: Crash | None = None
    bootstrap: Literal["away"] | None = Field(None, description="the bootstrap service answers nobody")
    clock: Clock | None = None

    LATER: ClassVar[tuple[str, ...]] = ("pause", "crash", "bootstrap", "clock")

    @property
    def kind(self) -> str:
        """The key that says what the fault does."""
        return next(kind for kind in KINDS if getattr(self, kind) is not None)

    @property
    def hits(self) -> Group | None:
        """The peers that the fault hits, None if it hits none by itself."""
        hit = getattr(self, self.kind)
        return hit if isinstance(hit, Group) else None

    @property
    def keeps_state(self) -> bool:
        """This is true of a crash after which peers go on with the state that they had."""
        return self.crash is not None and self.crash.state == "kept"

    def problems(self, crowd: Crowd, trial_end: float) -> list[tuple[str, str]]:
        """Return the key below the fault and the problem of each combination that cannot be."""
        given = [name for name in KINDS if getattr(self, name) is not None]
        if len(given) != 1:
            keys = f"{', '.join(f'`{kind}`' for kind in KINDS[:-1])} and `{KINDS[-1]}`"
            text = f'"{self.name}" needs exactly one of {keys}'
            text += f". Write a fault for each: {' and '.join(given)}" if given else ""
            return [(given[1] if given else "name", text), *self.late(trial_end)]
        (kind,) = given
        nobody_left = kind == "crash" and self.ends == math.inf
        others = kind in OF_MESSAGES or nobody_left
        group = self.hits
        wrong = [] if group is None else group.group_problems(crowd, "its peers", others)
        found = [(f"{kind}.{key}", text) for key, text in wrong]
        links = self.links
        if links is not None and not (links.of_messages or links.rates):
            text = (
                "none of `delay`, `loss`, `duplicate`, `corrupt` and `bandwidth` is given, so nothing happens"
            )
            found.append(("links.delay", text))
        if links is not None and links.between is not None and links.rates:
            text = "rates are of peers' links, not of the ways between groups. Name peers without `between`"
            found.append(("links.bandwidth", text))
        if links is not None and links.way is not None and links.rates and not links.of_messages:
            text = "rates of links have their own ways. Give `bandwidth: {up: ...}` or `{down: ...}` for it"
            found.append(("links.way", text))
        if self.keeps_state and self.ends == math.inf:
            text = "a peer that keeps its state has to come back. Say after which time, or leave `state` out"
            found.append(("for", text))
        if self.clock is not None:
            found += [(f"clock.{key}", text) for key, text in self.clock.clock_problems(self.begins)]
        return found + self.late(trial_end) + self._unended(trial_end)

    def _unended(self, trial_end: float) -> list[tuple[str, str]]:
        """Return the problem of the key `for` if peers would not go on, or not come back, in the trial."""
        end = f"but the trial ends at {trial_end:g} s"
        if self.begins >= trial_end or self.ends < trial_end:
            return []
        if self.pause is not None:
            lasts = "has no end" if self.ends == math.inf else f"lasts to {self.ends:g} s"
            return [("for", f"the pause {lasts}, {end}. Make it end before that")]
        if self.crash is not None and self.ends != math.inf:
            advice = "Make it shorter" if self.keeps_state else "Make it shorter, or leave it out"
            return [("for", f"its peers would come back at {self.ends:g} s, {end}. {advice}")]
        return []
