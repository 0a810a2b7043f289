"""The judge of deliveries: it counts those that nobody can have sent, and those that are made again.

A world knows what was published, who asked for it, and how long the way is. A delivery that does not fit is
counted with the system, the peer and the event, and makes the trial invalid unless `fidelity` allows it.
"""

from __future__ import annotations

from collections.abc import Mapping

from emulator.contract.protocol import Completion, Event, Interest, Lookup, Outcome, RangeInterest
from emulator.contract.workload import Operation
from emulator.experiment.file.fidelity_limits import FidelityLimits
from emulator.experiment.plan.tables import Plan
from emulator.experiment.run.fidelity import Check, allowed
from emulator.network.peer_network import Network
from emulator.runtime.breaches import Occurrences, in_words
from emulator.runtime.script import Script
from emulator.runtime.script_actor import PlannedLife
from emulator.runtime.shortest_ways import ShortestWays
from emulator.telemetry.context import TraceContext
from emulator.workload.event_operations import Publish, Subscription

IMPOSSIBLE = "impossible deliveries"
REPEATED = "repeated deliveries"
LONGER_WAY = 64
"""The hops by which the way of an event to a peer may be longer than the way of the question for it."""
_FEW_HOPS = 8
"""A delivery with at most this many hops is not asked whether they fit into its time."""
_ROUNDING = 1e-6
"""The seconds by which sums of times may differ."""


class DeliveryJudge:
    """Judges each delivery of one world, and knows the operations that were begun there."""

    def __init__(self, system: str, plan: Plan, script: Script, network: Network, subscribed: bool) -> None:
        """`subscribed` says whether peers of this kind of workload hold what decides who gets an event."""
        self.impossible = Occurrences(system)
        self.repeated = Occurrences(system)
        self.judged = 0
        self._plan = plan
        self._script = script
        self._network = network
        self._subscribed = subscribed
        self._ways: ShortestWays | None = None
        self._published: dict[int, tuple[float, int, int | None, Operation | None]] = {}
        """The time, the publisher, the topic and the operation of each publication that was begun."""
        self._others: dict[int, tuple[float, int, int | None]] | None = None
        """The publications of the plan that no operation says to be one, as packages may have them."""
        self._begun: dict[str, set[int]] = {}
        """The numbers of the other operations that were begun, by name."""

    def begin(self, peer: int, operation: Operation, at: float) -> None:
        """Take note that a peer was asked for an operation at this trial time (s)."""
        topic, event = operation.about()
        if event >= 0:
            self._published[event] = at, peer, topic, operation
        else:
            self._begun.setdefault(operation.NAME, set()).add(operation.number)

    def judge(
        self,
        life: PlannedLife,
        outcome: Outcome,
        now: float,
        context: TraceContext | None,
        known: bool = True,
    ) -> None:
        """Judge one delivery at trial time `now` (s) in the trace that is handled there.

        `known` says whether messages can have told the peer of it.
        """
        self.judged += 1
        if not life.alive:
            self._note(life, outcome, now, "after the peer had left")
        elif not known:
            self._note(life, outcome, now, "of which no message can have told the peer")
        elif isinstance(outcome, Event):
            self._judge_event(life, outcome, now, context)
        elif isinstance(outcome, Lookup):
            self._judge_lookup(life, outcome, now)
        elif isinstance(outcome, Completion) and outcome.number not in self._begun.get(outcome.operation, ()):
            self._note(life, outcome, now, "that nobody has begun")

    def checks(self, limits: FidelityLimits) -> list[Check]:
        """Return the checks of all deliveries so far."""
        return [
            allowed(name, sum(told.values()), key, amount, self.judged, "deliveries", in_words(told))
            for name, key, amount, told in (
                (IMPOSSIBLE, "impossible_deliveries", limits.impossible_deliveries, self.impossible.told()),
                (REPEATED, "repeated_deliveries", limits.repeated_deliveries, self.repeated.told()),
            )
        ]

    def _judge_event(self, life: PlannedLife, event: Event, now: float, context: TraceContext | None) -> None:
        found = self._published.get(event.number) or self._published_otherwise(event.number, now)
        if found is None:
            self._note(life, event, now, "that nobody has published")
            return
        wrong, more = self._what_is_wrong(life, event, found, now, context)
        if wrong:
            self._note(life, event, now, wrong, more)
        elif _mark(life.received, event.number):
            self._note_again(life, event, now)

    def _what_is_wrong(
        self,
        life: PlannedLife,
        event: Event,
        published: tuple[float, int, int | None, Operation | None],
        now: float,
        context: TraceContext | None,
    ) -> tuple[str, str]:
        """Return what is impossible about the delivery of an event that was published, and how; "" if nothing
        is."""
        at, publisher, topic, operation = published
        if (publisher, topic) != (event.publisher, event.topic):
            told = f"publisher {event.publisher} and topic {event.topic}"
            of = f"publisher {publisher} and topic {topic}"
            return "as another one than was published", f" as of {told}, not {of}"
        if not self._is_asked_for(life, event, operation, now):
            return "that the peer has not asked for", ""
        if event.hops < 1:
            return "without a hop from its publisher", ""
        if self._is_too_fast(publisher, life.peer, now - at):
            return "faster than the network allows", ""
        if self._has_too_many_hops(event, now - at, context):
            return "with more hops than messages can have made", ""
        return "", ""

    def _judge_lookup(self, life: PlannedLife, lookup: Lookup, now: float) -> None:
        if lookup.number not in self._begun.get("lookup", ()):
            self._note(life, lookup, now, "that nobody has begun")
        elif _mark(life.received, lookup.number):
            self._note_again(life, lookup, now)

    def _published_otherwise(self, event: int, now: float) -> tuple[float, int, int | None, None] | None:
        """Return a publication of the plan whose operation does not say that it is one, if its time has
        come."""
        if self._others is None:
            actions = [step.action for step in self._script.steps]
            known = {each.about()[1] for each in actions if isinstance(each, Operation)}
            rows = self._plan.publications.select(["event", "at_s", "publisher", "topic"]).to_pylist()
            self._others = {
                row["event"]: (row["at_s"], row["publisher"], row["topic"])
                for row in rows
                if row["event"] not in known
            }
        found = self._others.get(event)
        return None if found is None or found[0] > now else (*found, None)

    def _is_asked_for(self, life: PlannedLife, event: Event, operation: Operation | None, now: float) -> bool:
        """Return whether the peer has ever asked for the event; what no subscription decides counts as
        asked for."""
        if not self._subscribed or life.wants(event.topic):
            return True
        held = [each for each in self._script.all_of(life.peer) if each.start <= now]
        if event.topic is not None:
            return any(each.what.about() == event.topic for each in held)
        if not isinstance(operation, Publish):
            return True
        interests = [each.what.interest for each in held if isinstance(each.what, Subscription)]
        return len(interests) < len(held) or any(
            _may_match(each, operation.of.attributes) for each in interests
        )

    def _is_too_fast(self, publisher: int, peer: int, took: float) -> bool:
        if took >= self._network.one_way(publisher, peer) - _ROUNDING:
            return False
        return took < self._known_ways().least(publisher, peer, enough=took + _ROUNDING) - _ROUNDING

    def _has_too_many_hops(self, event: Event, took: float, context: TraceContext | None) -> bool:
        if context is not None and context.event == event.number:
            # Only what comes from the publisher itself has as many hops as its trace has messages. Another
            # peer that is asked for an event may have got it by a longer way than the question took.
            spare = 0 if context.depth <= 1 else LONGER_WAY
            if event.hops > context.depth + spare:
                return True
        return event.hops > _FEW_HOPS and event.hops * self._known_ways().least_of_all > took + _ROUNDING

    def _known_ways(self) -> ShortestWays:
        if self._ways is None:
            self._ways = ShortestWays(self._network)
        return self._ways

    def _note(self, life: PlannedLife, outcome: Outcome, now: float, what: str, more: str = "") -> None:
        kind, number = _named(outcome)
        self.impossible.note(f"delivered {kind} {what}", _where(life, kind, number, now, more))

    def _note_again(self, life: PlannedLife, outcome: Outcome, now: float) -> None:
        kind, number = _named(outcome)
        self.repeated.note(f"delivered {kind} again", _where(life, kind, number, now))


def _mark(received: bytearray, number: int) -> bool:
    """Note a number in these bits. Returns whether it was there already."""
    place, bit = number >> 3, 1 << (number & 7)
    if place >= len(received):
        received.extend(bytes(place + 1 - len(received)))
    if received[place] & bit:
        return True
    received[place] |= bit
    return False


def _named(outcome: Outcome) -> tuple[str, int]:
    if isinstance(outcome, Event):
        return "an event", outcome.number
    if isinstance(outcome, Lookup):
        return "a lookup", outcome.number
    return ("a result", outcome.number) if isinstance(outcome, Completion) else ("an installation", -1)


def _where(life: PlannedLife, kind: str, number: int, now: float, more: str = "") -> str:
    what = f"{kind.split()[1]} {number}" if number >= 0 else kind
    return f"{what}{more} at peer {life.peer} at {now:.3f} s"


def _may_match(interest: Interest, attributes: Mapping[str, float]) -> bool:
    """Return whether no attribute of the event is outside of the interest.

    Systems differ in what they make of an attribute that the event lacks.
    """
    if not isinstance(interest, RangeInterest):
        return False
    in_ranges = all(low <= attributes.get(name, low) <= high for name, (low, high) in interest.ranges.items())
    return in_ranges and all(
        attributes[name] in values for name, values in interest.sets.items() if name in attributes
    )
