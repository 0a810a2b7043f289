"""Kinds of workload of a package, for tests of both runtimes: one with operations of its own, one without."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from emulator.contract.protocol import Application, Completion, Environment
from emulator.contract.system import System
from emulator.contract.workload import (
    Asked,
    Drawing,
    Held,
    Holding,
    Operation,
    PlanTable,
    Problems,
    Row,
    Trial,
    WorkloadKind,
)
from trellis.v1.overlay import Goodbye
from trellis.v1.pubsub import EventData


class Walkers(Application):
    """A token walks over so many peers and is complete at the last one; who knows nobody keeps it."""

    def __init__(self, environment: Environment, parameters: BaseModel) -> None:
        super().__init__(environment)
        self.known: list[int] = []
        self.badges: set[str] = set()
        environment.handle(Goodbye, lambda sender, message: self.known.append(sender))
        environment.handle(
            EventData, lambda sender, message: self.walk(message.event, message.topic, message.hops)
        )

    def start(self, contacts: Sequence[int]) -> None:
        self.known.extend(contacts)
        for contact in contacts:
            self.environment.send(contact, Goodbye())

    def stop(self, graceful: bool) -> None: ...

    def on_token(self, sender: int, token: EventData) -> None:
        self.walk(token.event, token.topic, token.hops)

    def walk(self, number: int, steps: int, hops: int) -> None:
        """Have the token of this number make so many steps more."""
        if not steps or not self.known:
            return self.environment.deliver(Completion("walk", number, hops, float(len(self.badges))))
        return self.environment.send(
            self.environment.random.choice(self.known), EventData(number, steps - 1, 0, hops + 1)
        )


class Nothing(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Tokens(BaseModel):
    """The key `workload.tokens`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tokens: int = Field(10, ge=1, le=1000)
    steps: int = Field(3, ge=1, le=100)
    badges: bool = False
    mischief: str = ""
    """What is drawn wrongly."""
    names: Path | None = None


@dataclass(frozen=True)
class Walk(Operation):
    NAME: ClassVar[str] = "walk"

    number: int
    steps: int

    def attributes(self) -> Mapping[str, int | bool]:
        return {"number": self.number, "steps": self.steps}

    def perform(self, protocol: Walkers) -> None:
        protocol.walk(self.number, self.steps, 0)


@dataclass(frozen=True)
class Badge(Holding):
    TAKEN: ClassVar[str] = "pin"
    GIVEN_UP: ClassVar[str] = "unpin"

    number: int
    text: str

    def take_up(self, protocol: Walkers) -> None:
        protocol.badges.add(self.text)

    def give_up(self, protocol: Walkers) -> None:
        protocol.badges.discard(self.text)


class TokensKind(WorkloadKind):
    name = "tokens"
    title = "walks of tokens"
    parameters = Tokens
    protocol = Walkers
    operations = (Walk,)
    holding = Badge
    words = "tokens", "arrived"
    analysis = "token_judge:JUDGE"

    def tables(self) -> Mapping[str, PlanTable]:
        import pyarrow as pa

        walks = [("token", pa.int32()), ("at_s", pa.float64()), ("origin", pa.int32()), ("steps", pa.int32())]
        badges = [("badge", pa.int32()), ("peer", pa.int32()), ("text", pa.string()), ("end_s", pa.float64())]
        return {
            "walks": PlanTable(pa.schema(walks), peer="origin"),
            "badges": PlanTable(pa.schema(badges), asks=False),
        }

    def draw(self, parameters: Tokens, trial: Drawing) -> Mapping[str, Mapping[str, Any]]:
        import numpy as np

        random, phases, count = trial.random("walks"), trial.phases, parameters.tokens
        at = np.sort(random.uniform(phases.measure_start, phases.measure_end, count))
        origin = [trial.somebody_up(time, random, "a token") for time in at]
        held = np.arange(trial.peers if parameters.badges else 0)
        walks = {"token": np.arange(count), "at_s": at, "origin": origin, "steps": [parameters.steps] * count}
        badges = {
            "badge": held,
            "peer": held,
            "text": [f"badge {peer}" for peer in held],
            "end_s": [phases.measure_end] * len(held),
        }
        match parameters.mischief:
            case "peer":
                walks["origin"] = [trial.peers] * count
            case "column":
                del walks["steps"]
            case "type":
                walks["steps"] = ["three"] * count
            case "table":
                return {"walks": walks}
            case "time":
                walks["at_s"] = np.full(count, np.nan)
            case "error":
                raise LookupError("nothing can be found")
            case "exit":
                sys.exit("enough")
            case "rows":
                return {"walks": [], "badges": []}
        return {"walks": walks, "badges": badges}

    def asked(self, tables: Mapping[str, Sequence[Row]]) -> Iterable[Asked]:
        for row in tables["walks"]:
            yield Asked(row["at_s"], row["origin"], Walk(row["token"], row["steps"]))

    def held(self, tables: Mapping[str, Sequence[Row]]) -> Iterable[Held]:
        for row in tables["badges"]:
            yield Held(row["peer"], 0.0, row["end_s"], Badge(row["badge"], row["text"]))

    def problems(self, parameters: Tokens, trial: Trial) -> Problems:
        if parameters.steps > trial.peers:
            return [("tokens.steps", f"{parameters.steps}, but there are only {trial.peers} peers. Lower it")]
        return []


class RollCallKind(WorkloadKind):
    """Peers are asked for nothing: who is up is all the truth that there is."""

    name = "roll_call"
    title = "membership"
    parameters = Nothing


TOKENS = TokensKind()
ROLL_CALL = RollCallKind()
WALKERS = System("walkers", "Walking tokens, for tests", "none", Nothing, Walkers, serves="tokens")
SLEEPERS = System("sleepers", "A membership, for tests", "none", Nothing, Walkers, serves="roll_call")
