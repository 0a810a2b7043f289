"""A host's part of the plan, as the coordinator sends it."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Collection, Sequence

from emulator.contract import identifiers
from emulator.contract.protocol import Event, Interest, RangeInterest, TopicInterest
from emulator.network.links import Network
from emulator.network.spec import NetworkSpec
from emulator.runtime.script import (
    Held,
    Join,
    Leave,
    LookUp,
    Publish,
    Script,
    Step,
    Subscribe,
    Unsubscribe,
)
from trellis.v1 import control_pb2


def put_script(assignment: control_pb2.Assignment, script: Script) -> None:
    """Add what peers do."""
    for held in script.all_interests():
        _put_interest(assignment.interests.add(), held)
    for step in script.steps:
        _put_step(assignment.steps.add(at_s=step.at, peer=step.peer), step)
    peers_of: dict[str, list[int]] = {}
    for peer, role in script.roles.items():
        peers_of.setdefault(role, []).append(peer)
    for role, peers in peers_of.items():
        assignment.roles.add(name=role, peers=peers)


def put_network(
    assignment: control_pb2.Assignment, network: Network, locations: Sequence[int], own: Collection[int]
) -> None:
    """Add the places of all peers, and the delays from those of the host's `own` peers."""
    assignment.location.extend(locations)
    for location in sorted({locations[peer] for peer in own}):
        assignment.rows.add(location=location, one_way=_little_endian(network.rows[location]).tobytes())


def script_in(assignment: control_pb2.Assignment) -> Script:
    """What the host's peers do."""
    held = {wire.number: _held(wire) for wire in assignment.interests}
    roles = {peer: wire.name for wire in assignment.roles for peer in wire.peers}
    return Script((_step(wire, held) for wire in assignment.steps), held.values(), roles)


def network_in(assignment: control_pb2.Assignment, spec: NetworkSpec) -> Network:
    """The network as the host's peers send into it."""
    rows: dict[int, array[float]] = {}
    for row in assignment.rows:
        delays = array("f")
        delays.frombytes(row.one_way)
        rows[row.location] = _little_endian(delays)
    return Network(rows, assignment.location, spec)


def without_plan(assignment: control_pb2.Assignment) -> control_pb2.Assignment:
    """What a host needs of it beside script and network. Clearing fields would free no memory."""
    return control_pb2.Assignment(
        experiment=assignment.experiment,
        trial=assignment.trial,
        host_index=assignment.host_index,
        host_of_peer=assignment.host_of_peer,
        incarnation=assignment.incarnation,
        sessions_end_with_host=assignment.sessions_end_with_host,
    )


def _little_endian(delays: array[float]) -> array[float]:
    if sys.byteorder == "big":
        delays = array("f", delays)
        delays.byteswap()
    return delays


def _put_interest(wire: control_pb2.PlannedInterest, held: Held) -> None:
    wire.number, wire.peer, wire.start_s, wire.end_s = held.number, held.peer, held.start, held.end
    match held.interest:
        case TopicInterest(topic, rate):
            wire.topic, wire.rate = topic, rate
        case RangeInterest(ranges, sets):
            for attribute, (low, high) in ranges.items():
                wire.ranges.add(attribute=attribute, low=low, high=high)
            for attribute, values in sets.items():
                wire.ranges.add(attribute=attribute, values=sorted(values))


def _held(wire: control_pb2.PlannedInterest) -> Held:
    interest: Interest
    if wire.HasField("topic"):
        interest = TopicInterest(wire.topic, wire.rate)
    else:
        interest = RangeInterest(
            {part.attribute: (part.low, part.high) for part in wire.ranges if not part.values},
            {part.attribute: frozenset(part.values) for part in wire.ranges if part.values},
        )
    return Held(wire.peer, wire.start_s, wire.end_s, wire.number, interest)


def _put_step(wire: control_pb2.Step, step: Step) -> None:
    match step.action:
        case Join(session):
            wire.join.session = session
        case Leave(session, graceful):
            wire.leave.session, wire.leave.graceful = session, graceful
        case Subscribe(number):
            wire.subscribe = number
        case Unsubscribe(number):
            wire.unsubscribe = number
        case LookUp(number, key):
            wire.look_up.lookup, wire.look_up.key = number, identifiers.encode(key)
        case Publish(event):
            wire.publish.event, wire.publish.payload_bytes = event.number, len(event.payload)
            if event.topic is not None:
                wire.publish.topic = event.topic
            for attribute, value in event.attributes.items():
                wire.publish.attributes.add(attribute=attribute, value=value)


def _step(wire: control_pb2.Step, held: dict[int, Held]) -> Step:
    kind = wire.WhichOneof("action")
    action: Join | Leave | Subscribe | Unsubscribe | Publish | LookUp
    match kind:
        case "join":
            action = Join(wire.join.session)
        case "leave":
            action = Leave(wire.leave.session, wire.leave.graceful)
        case "subscribe":
            action = Subscribe(wire.subscribe, held[wire.subscribe].interest)
        case "unsubscribe":
            action = Unsubscribe(wire.unsubscribe, held[wire.unsubscribe].interest)
        case "look_up":
            action = LookUp(wire.look_up.lookup, identifiers.decode(wire.look_up.key))
        case "publish":
            action = Publish(_event(wire.publish, wire.peer))
        case _:
            raise ValueError("a step without an action: the coordinator is of another version")
    return Step(wire.at_s, wire.peer, action)


def _event(wire: control_pb2.Publish, publisher: int) -> Event:
    topic = wire.topic if wire.HasField("topic") else None
    attributes = {part.attribute: part.value for part in wire.attributes}
    return Event(wire.event, publisher, topic, attributes, bytes(wire.payload_bytes))
