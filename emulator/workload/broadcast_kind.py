"""The kind of workload in which messages are for every peer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from emulator.contract.broadcast_service import BroadcastService
from emulator.contract.workload import Asked, Drawing, PlanTable, Problems, Row, Trial, WorkloadKind
from emulator.workload.broadcast_spec import Broadcasts
from emulator.workload.event_operations import Publish, publications
from emulator.workload.size import MOST_ROWS, MOST_VALUES, more

MOST_BYTES = 16 * 2**30
"""The most bytes of all messages together, before any copies."""


class BroadcastKind(WorkloadKind):
    """A message is an event that all peers want, so it is in the plan's table of publications."""

    name = "broadcast"
    title = "messages for every peer"
    text = "Peers send messages, and every peer that is up is to get them."
    analysis = "analysis.workloads.broadcast:BROADCAST"
    parameters = Broadcasts
    protocol = BroadcastService
    operations = (Publish,)
    words = "sent", "delivered"

    def tables(self) -> Mapping[str, PlanTable]:
        from emulator.workload.table_schemas import PUBLICATIONS

        return {"publications": PlanTable(PUBLICATIONS, peer="publisher")}

    def draw(self, parameters: Broadcasts, trial: Drawing) -> Mapping[str, Mapping[str, Any]]:
        from emulator.workload.broadcasts import draw_broadcasts

        window = trial.phases.measure_start, trial.phases.measure_end
        among = trial.among(parameters.region)
        drawn = draw_broadcasts(
            parameters, window, trial.peers, trial.sessions, trial.random("broadcast"), among
        )
        none = dict.fromkeys(("topic", "attributes", "client"), [None] * len(drawn.at))
        columns = {
            "event": range(len(drawn.at)),
            "at_s": drawn.at,
            "publisher": drawn.sender,
            "payload_bytes": drawn.bytes,
        }
        return {"publications": columns | none}

    def asked(self, tables: Mapping[str, Sequence[Row]]) -> Iterable[Asked]:
        return publications(tables["publications"])

    def topics(self, parameters: Broadcasts, peers: int) -> int:
        """Return 1: systems of topics send all messages on topic 0."""
        return 1

    def problems(self, parameters: Broadcasts, trial: Trial) -> Problems:
        found = []
        messages = parameters.rate * trial.phases.measure
        size = parameters.bytes
        if messages > MOST_ROWS:
            found.append(("broadcast.rate", more("messages", messages, MOST_ROWS, "Lower it")))
        elif messages * trial.peers > MOST_VALUES:
            text = more("deliveries", messages * trial.peers, MOST_VALUES, "Lower it, or peers")
            found.append(("broadcast.rate", text))
        elif messages < 1 and parameters.spacing == "even":
            text = f"there is no message in {trial.phases.measure:g} s. Raise it, or phases.measure"
            found.append(("broadcast.rate", text))
        if size.least > size.most:
            text = f"is {size.least:,}, more than most ({size.most:,}). Lower it, or raise most"
            found.append(("broadcast.bytes.least", text))
        elif not found and messages * size.most > MOST_BYTES:
            text = more("bytes of messages", messages * size.most, MOST_BYTES, "Lower it, or rate")
            found.append(("broadcast.bytes", text))
        if parameters.senders is not None and parameters.senders > trial.peers:
            there = "there is 1 peer" if trial.peers == 1 else f"there are {trial.peers:,} peers"
            text = f"is {parameters.senders:,}, but {there}. Lower it to {trial.peers:,} or less"
            found.append(("broadcast.senders", text))
        return found


BROADCAST_KIND = BroadcastKind()
