"""Joining: a server asks for the nearest clique that it fits into, by its own measurements."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from emulator.contract.protocol import Message
from emulator.protocols.overlays.cliques.member_context import MemberContext
from emulator.protocols.overlays.cliques.view import View, to_units, view_in
from trellis.v1.cliques import CliqueJoin, CliqueRecord, CliqueView

_ATTEMPTS: Final = 4
"""The most leaders that are asked before the server begins a clique of its own."""


class Joining:
    """One attempt to join, from the directory to the answer of a leader."""

    def __init__(
        self,
        context: MemberContext,
        joined: Callable[[View], None],
        alone: Callable[[], None],
    ) -> None:
        """Either `joined(view)` is called or, if no clique takes the server, `alone()`."""
        self._environment = context.environment
        self._parameters = context.parameters
        self._directory = context.directory
        self._measuring = context.measuring
        self._joined = joined
        self._alone = alone
        self._attempts = 0
        self._refused: set[tuple[int, int]] = set()
        self.since = self._environment.now

    def begin(self) -> None:
        """Ping one member of each clique with room, or of a sample of cliques if there are too many."""
        me, most = self._environment.peer, self._parameters.probes
        records = [r for r in self._open_cliques() if me not in r.members]
        if len(records) > most:
            records = self._environment.random.sample(records, most)
        ambassadors = {self._environment.random.choice(r.members): r for r in records}
        if not ambassadors:
            self._alone()
            return
        self._measuring.ping_all(ambassadors, lambda rtts: self._ping_nearest(ambassadors, rtts))

    def _open_cliques(self) -> list[CliqueRecord]:
        size = self._parameters.size
        return [record for record in self._directory.records.values() if len(record.members) < size]

    def _ping_nearest(self, ambassadors: dict[int, CliqueRecord], rtts: dict[int, float]) -> None:
        near = sorted(rtts, key=lambda peer: rtts[peer])[: self._parameters.near]
        records = [ambassadors[peer] for peer in near]
        peers = [peer for record in records for peer in record.members]
        self._measuring.ping_all(peers, lambda found: self._choose(records, found))

    def _choose(self, records: list[CliqueRecord], rtts: dict[int, float]) -> None:
        fitting = []
        for record in records:
            widest = max(rtts.get(peer, float("inf")) for peer in record.members)
            fits = widest <= self._parameters.diameter
            if fits and (record.leader, record.view) not in self._refused:
                fitting.append((widest, record.leader, record))
        if not fitting or self._attempts >= _ATTEMPTS:
            self._alone()
            return
        self._attempts += 1
        record = min(fitting, key=lambda each: each[:2])[2]
        self._environment.request(
            record.leader,
            CliqueJoin(self.since, list(record.members), [to_units(rtts[peer]) for peer in record.members]),
            self._parameters.patience,
            partial(self._answered, record),
            partial(self._again, record),
        )

    def _answered(self, record: CliqueRecord, answer: Message) -> None:
        if not isinstance(answer, CliqueView):
            self._environment.drop(type(answer), "it answers something else")
            self._again(record)
            return
        view = view_in(answer)
        if view is not None and self._environment.peer in view.members:
            self._joined(view)
            return
        if answer.record is not None and answer.record.members:
            self._directory.put(answer.record)
        self._again(record)

    def _again(self, record: CliqueRecord) -> None:
        self._refused.add((record.leader, record.view))
        self.begin()
