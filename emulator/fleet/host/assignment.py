"""A host's part of the plan, as the coordinator sends it."""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Collection
from typing import Any, Literal

from emulator.contract.identifiers import decode, encode
from emulator.contract.workload import Held, WorkloadKind
from emulator.experiment.file.spec import TrialSpec
from emulator.network.model import JitterModel
from emulator.network.peer_network import Network
from emulator.runtime.rate_changes import rate_changes
from emulator.runtime.script import Action, ComeBack, GiveUp, GoDown, Join, Leave, Script, Step, TakeUp
from trellis.v1 import control_pb2


def put_script(assignment: control_pb2.Assignment, script: Script, kind: WorkloadKind) -> None:
    """Add what peers do in a workload of this kind.

    Raises TypeError if an operation is encoded as values that JSON does not have.
    """
    for held in script.all_held():
        assignment.held.add(
            number=held.what.number,
            peer=held.peer,
            start_s=held.start,
            end_s=held.end,
            values=_json(held.what.encode()),
        )
    for step in script.steps:
        _put_step(assignment.steps.add(at_s=step.at, peer=step.peer), step, kind)
    peers_of: dict[str, list[int]] = {}
    for peer, role in script.roles.items():
        peers_of.setdefault(role, []).append(peer)
    for role, peers in peers_of.items():
        assignment.roles.add(name=role, peers=peers)
    assignment.attackers.extend(sorted(script.attackers))
    for peer, identifier in script.identifiers.items():
        assignment.identifiers[peer] = encode(identifier)
    for peer, index in script.processing.items():
        assignment.processing[peer] = index


def spec_for_hosts(spec: TrialSpec) -> str:
    """Return the spec of a trial in JSON; what hosts need of the file of its jitter is in it.

    Raises TraceError for a bad file.
    """
    network = spec.network
    if isinstance(network.jitter, JitterModel):
        network = network.model_copy(update={"jitter": network.jitter.carried()})
    return spec.model_copy(update={"network": network}).model_dump_json()


def put_network(assignment: control_pb2.Assignment, network: Network, own: Collection[int]) -> None:
    """Add the locations of all peers, and the delays and losses from those of the host's `own` peers."""
    locations = network.locations
    assignment.location.extend(locations)
    if network.access is not None or network.shared is not None:
        assignment.link_class.extend(network.link_classes)
    places = sorted({locations[peer] for peer in own})
    for place in places:
        _put_row(assignment.rows.add(location=place), network.rows[place])
        if network.lost:
            assignment.rows[-1].lost = _bytes(network.lost[place])
    for at, rows in network.later:
        later = assignment.later.add(at_s=at)
        for place in places:
            _put_row(later.rows.add(location=place), rows[place])


def script_in(assignment: control_pb2.Assignment, kind: WorkloadKind) -> Script:
    """Return what the host's peers do in a workload of this kind."""
    held = {}
    for wire in assignment.held:
        assert kind.holding is not None
        what = kind.holding.decode(json.loads(wire.values))
        held[wire.number] = Held(wire.peer, wire.start_s, wire.end_s, what)
    roles = {peer: wire.name for wire in assignment.roles for peer in wire.peers}
    steps = (_step(wire, held, kind) for wire in assignment.steps)
    identifiers = {peer: decode(identifier) for peer, identifier in assignment.identifiers.items()}
    processing = dict(assignment.processing)
    return Script(steps, held.values(), roles, assignment.attackers, identifiers, processing)


def network_in(assignment: control_pb2.Assignment, spec: TrialSpec) -> Network:
    """Return the network as the host's peers send into it, in the trial of this spec."""
    rows = {row.location: _delays(row) for row in assignment.rows}
    lost = {row.location: _numbers("d", row.lost) for row in assignment.rows if row.lost}
    later = [(each.at_s, {row.location: _delays(row) for row in each.rows}) for each in assignment.later]
    changes = rate_changes(spec.faults, [each.peers for each in assignment.faults])
    links = assignment.link_class
    return Network(rows, assignment.location, spec.network, links, spec.seed, changes, lost, later)


def without_plan(assignment: control_pb2.Assignment) -> control_pb2.Assignment:
    """Return a copy without script and network, because clearing these fields would free no memory."""
    return control_pb2.Assignment(
        experiment=assignment.experiment,
        trial=assignment.trial,
        host_index=assignment.host_index,
        host_of_peer=assignment.host_of_peer,
        incarnation=assignment.incarnation,
        sessions_end_with_host=assignment.sessions_end_with_host,
        came_back=assignment.came_back,
        trace=assignment.trace,
    )


def _put_row(wire: control_pb2.Row, delays: array[float]) -> None:
    wire.one_way = _bytes(delays)
    wire.is_double = delays.typecode == "d"


def _delays(wire: control_pb2.Row) -> array[float]:
    return _numbers("d" if wire.is_double else "f", wire.one_way)


def _bytes(row: array[float]) -> bytes:
    """Return the numbers of a row, which are little-endian on their way."""
    if sys.byteorder == "big":
        row = array(row.typecode, row)
        row.byteswap()
    return row.tobytes()


def _numbers(typecode: Literal["d", "f"], encoded: bytes) -> array[float]:
    """Return the row that `_bytes` encoded."""
    row = array(typecode)
    row.frombytes(encoded)
    if sys.byteorder == "big":
        row.byteswap()
    return row


def _put_step(wire: control_pb2.Step, step: Step, kind: WorkloadKind) -> None:
    match step.action:
        case Join(session):
            wire.join.session = session
        case Leave(session, graceful):
            wire.leave.session, wire.leave.graceful = session, graceful
        case GoDown(fault):
            wire.go_down = fault
        case ComeBack(session, fault):
            wire.come_back.session, wire.come_back.fault = session, fault
        case TakeUp(what):
            wire.take_up = what.number
        case GiveUp(what):
            wire.give_up = what.number
        case operation:
            wire.ask.operation = kind.operations.index(type(operation))
            wire.ask.values = _json(operation.encode())


def _step(wire: control_pb2.Step, held: dict[int, Held], kind: WorkloadKind) -> Step:
    action: Action
    match wire.WhichOneof("action"):
        case "join":
            action = Join(wire.join.session)
        case "leave":
            action = Leave(wire.leave.session, wire.leave.graceful)
        case "go_down":
            action = GoDown(wire.go_down)
        case "come_back":
            action = ComeBack(wire.come_back.session, wire.come_back.fault)
        case "take_up":
            action = TakeUp(held[wire.take_up].what)
        case "give_up":
            action = GiveUp(held[wire.give_up].what)
        case "ask":
            action = kind.operations[wire.ask.operation].decode(json.loads(wire.ask.values))
        case _:
            raise ValueError("a step without an action: the coordinator is of another version")
    return Step(wire.at_s, wire.peer, action)


def _json(values: Any) -> bytes:
    return json.dumps(values, separators=(",", ":")).encode()
