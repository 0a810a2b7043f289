"""Kyra at one server, which acts for its clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from emulator.contract.protocol import Environment, Event, Interest, PubSub
from emulator.contract.recent import Recent
from emulator.protocols.overlays.cliques.overlay import Cliques
from emulator.protocols.overlays.cliques.view_invariant import CLIQUES
from emulator.protocols.pubsub.content.space import NO_EVENT, EventSpace
from emulator.protocols.pubsub.content.system import content_system
from emulator.protocols.pubsub.content.table_invariant import TABLES
from emulator.protocols.pubsub.content.trees import FilterTree, FilterTrees
from emulator.protocols.pubsub.kyra.epoch import Epoch, epoch_of
from emulator.protocols.pubsub.kyra.epoch_state import EpochState
from emulator.protocols.pubsub.kyra.movement import PIECES
from emulator.protocols.pubsub.kyra.parameters import KyraParameters
from emulator.protocols.pubsub.kyra.rates import Rates
from emulator.protocols.pubsub.kyra.server_context import ServerContext
from emulator.protocols.pubsub.kyra.spreading import ways
from trellis.v1.cliques import CliqueRecord
from trellis.v1.filters import FilterAnswer, FilterUpdate, PlacedEvent
from trellis.v1.kyra import KyraDelivery, KyraDistance, KyraLeaving, KyraProbe, KyraZoneEvent

_GATHERING: Final = 0.3
"""The seconds for which a change of cliques waits for others."""
_WAIT: Final = 0.5
_WAITS: Final = 40
"""A publication checks this many times, `_WAIT` seconds apart, whether there are a clique and zones."""
_PREPARING: Final = 0.2
"""The seconds between two checks whether this server is ready for the events of a zone that it got."""
_TURNS: Final = 4
"""The most servers in a row that pass an event on at once, because another server has its zone."""


class Kyra(PubSub):
    """One server."""

    def __init__(self, environment: Environment, parameters: KyraParameters) -> None:
        super().__init__(environment)
        self.space = EventSpace.of(parameters.attributes)
        self._parameters = parameters
        self.cliques = Cliques(environment.channel("cliques"), parameters.cliques)
        self.cliques.listen(self)
        self.trees = FilterTrees(
            environment, self.space, parameters.beat, parameters.patience, self._on_tree_event
        )
        self._server = ServerContext(
            environment, self.space, self.trees, self.cliques.measuring, parameters.patience
        )
        self.epochs: list[EpochState] = []
        """The epochs at this server, the oldest first."""
        self._rates = Rates(environment, parameters, self.space, self.cliques, self._newest, self._begin)
        self._seen = Recent(environment, parameters.memory)
        self._delivered = Recent(environment, parameters.memory)
        self._updating = False
        environment.serve(FilterUpdate, self._on_update)
        environment.serve(KyraProbe, self._on_probe)
        environment.handle(KyraLeaving, self._on_leaving)
        environment.handle(KyraZoneEvent, self._on_zone_event)
        environment.handle(KyraDelivery, self._on_delivery)

    def start(self, contacts: Sequence[int]) -> None:
        if self._parameters.layout is not None:
            self._begin(epoch_of(self._parameters.layout, self.space))
        self.cliques.start(contacts)
        self._rates.start()

    def stop(self, graceful: bool) -> None:
        self.trees.stop(graceful)
        self.cliques.stop(graceful)

    def subscribe(self, interest: Interest) -> None:
        box = self.space.box(interest)
        number = self._server.interests.add(box)
        for state in self.epochs:
            state.add(number, box)

    def unsubscribe(self, interest: Interest) -> None:
        box = self.space.box(interest)
        number = self._server.interests.remove(box)
        if number is not None:
            for state in self.epochs:
                state.remove(number)

    def publish(self, event: Event) -> None:
        placed = self.space.place(event)
        self._rates.note(placed.values)
        self._publish(placed, _WAITS)

    def on_unreachable(self, peer: int) -> None:
        self.trees.lose(peer)
        for state in self.epochs:
            state.trees.lose(peer)

    def gauges(self) -> dict[str, float]:
        state = self._active()
        trees = list(self.trees.trees.values())
        proxied = sum(each.proxy.entries for each in self.epochs)
        return {
            "table_entries": float(sum(len(tree.routes.table) for tree in trees) + proxied),
            "table_searches": float(self.trees.searches),
            "table_comparisons": float(self.trees.compared),
            "proxy_entries": float(proxied),
            "trees_joined": float(len(trees)),
            "trees": float(state.epoch.trees if state is not None else 0),
            "epoch": float(state.epoch.number if state is not None else 0),
            "tree_settled": float(state is not None and state.settled),
        }

    def neighbours(self) -> Mapping[str, Sequence[int]]:
        return self.trees.parents()

    # Cliques and epochs

    def clique_changed(self) -> None:
        self._update_soon()
        if not self.epochs:
            # The leader may know zones.
            self._rates.report()

    def directory_changed(self, before: CliqueRecord | None, now: CliqueRecord | None) -> None:
        for state in self.epochs:
            state.trees.note_clique(before, now)
        self._rates.note_change()
        self._update_soon()

    def _update_soon(self) -> None:
        if not self._updating:
            self._updating = True
            self.environment.set_timer(_GATHERING, self._update)

    def _update(self) -> None:
        self._updating = False
        for state in self.epochs:
            state.update(self.cliques.view)
            state.trees.grow()

    def _newest(self) -> Epoch | None:
        return self.epochs[-1].epoch if self.epochs else None

    def _begin(self, epoch: Epoch) -> None:
        """Prepare for an epoch. The epochs before it end some time after it has begun."""
        state = EpochState(self._server, epoch, self._parameters.layout if epoch.number == 1 else None)
        self.epochs.append(state)
        for record in self.cliques.directory.records.values():
            state.trees.note_clique(None, record)
        self._update_soon()
        rest = max(0.0, epoch.begins - self.environment.now) + 2 * self._parameters.notice
        if len(self.epochs) > 1:
            self.environment.set_timer(rest, partial(self._end_before, state))

    def _end_before(self, state: EpochState) -> None:
        while self.epochs and self.epochs[0] is not state and state in self.epochs:
            self.epochs.pop(0).stop()

    def _state_of(self, epoch: int) -> EpochState | None:
        return next((state for state in self.epochs if state.epoch.number == epoch), None)

    def _active(self) -> EpochState | None:
        """Return the newest epoch that has begun, None before the first."""
        now = self.environment.now
        return next((state for state in reversed(self.epochs) if state.epoch.begins <= now), None)

    # Subscriptions and trees

    def _on_update(self, sender: int, update: FilterUpdate) -> FilterAnswer:
        if update.tree < PIECES:
            return self.trees.on_update(sender, update)
        state = self._state_of(update.epoch)
        return FilterAnswer(False) if state is None else state.proxy.on_update(sender, update)

    def _on_probe(self, sender: int, probe: KyraProbe) -> KyraDistance:
        state = self._state_of(probe.epoch)
        growth = None if state is None else state.trees.growth(probe.tree)
        return KyraDistance(False) if growth is None else growth.on_probe()

    # Events

    def _publish(self, event: PlacedEvent, patience: int) -> None:
        state = self._active()
        if state is not None and state.holder(event.values) is not None:
            self._to_zone(state, event, 0, 0, self.environment.peer)
        elif patience:
            self.environment.set_timer(_WAIT, partial(self._publish, event, patience - 1))

    def _to_zone(self, state: EpochState, event: PlacedEvent, hops: int, turns: int, sender: int) -> None:
        """Route the event if its zone is here and this server is prepared; else send it to the holder.

        An event that waited until its epoch was over goes the way of the epoch that is active now.
        """
        if state.stopped:
            active = self._active()
            if active is None:
                return
            state = active
        me, holder, had = self.environment.peer, state.holder(event.values), state.movement.had(event.values)
        if holder == me:
            tree = state.prepared(event.values)
            if tree is not None:
                self._route(tree, event, hops, None)
            else:
                again = partial(self._to_zone, state, event, hops, 0, sender)
                self.environment.set_timer(_PREPARING, again)
        elif had is not None and holder in (None, sender):
            # The new holder does not know yet that it has the zone.
            self._route(had, event, hops, None)
        elif holder is not None and turns < _TURNS:
            self.environment.send(holder, KyraZoneEvent(event, state.epoch.number, hops + 1, turns))

    def _on_zone_event(self, sender: int, message: KyraZoneEvent) -> None:
        state = self._state_of(message.epoch)
        if message.event is None or not self.space.holds(message.event):
            self.environment.drop(KyraZoneEvent, NO_EVENT)
        elif state is not None:
            self._to_zone(state, message.event, message.hops, message.turns + 1, sender)

    def _on_leaving(self, sender: int, leaving: KyraLeaving) -> None:
        state = self._state_of(leaving.epoch)
        if state is not None:
            state.trees.on_leaving(leaving.tree, sender)

    def _on_tree_event(self, tree: FilterTree, event: PlacedEvent, hops: int, sender: int) -> None:
        self._route(tree, event, hops, sender)

    def _route(self, tree: FilterTree, event: PlacedEvent, hops: int, sender: int | None) -> None:
        """Send the event on along the tree, and to the servers of this clique that want it."""
        if not self._seen.add((event.event, tree.table)):
            return
        neighbours, originals = self.trees.search(tree, event.values, sender)
        self.trees.forward(tree, event, hops, neighbours)
        me = self.environment.peer
        if me in originals:
            originals.remove(me)
            self._deliver(event, hops)
        self._spread(event, hops, originals)

    def _spread(self, event: PlacedEvent, hops: int, targets: list[int]) -> None:
        if not targets:
            return
        view = self.cliques.view
        if self._parameters.spread == "direct" or view is None:
            message = KyraDelivery(event, hops + 1)
            for target in targets:
                self.environment.send(target, message)
            return
        for target, others in ways(view, self.environment.peer, targets).items():
            self.environment.send(target, KyraDelivery(event, hops + 1, others))

    def _on_delivery(self, sender: int, message: KyraDelivery) -> None:
        if message.event is None or not self.space.holds(message.event):
            self.environment.drop(KyraDelivery, NO_EVENT)
            return
        self._deliver(message.event, message.hops)
        self._spread(message.event, message.hops, message.others)

    def _deliver(self, event: PlacedEvent, hops: int) -> None:
        """Deliver an event once to the clients here, if one of them wants it."""
        if self._server.interests.want(event.values) and self._delivered.add(event.event):
            self.environment.deliver(self.space.event(event, hops))


KYRA: Final = content_system(
    "kyra",
    "Kyra: server cliques and partitioned routing trees",
    "F. Cao, J. P. Singh: Efficient event routing in content-based publish-subscribe service networks, "
    "INFOCOM 2004",
    KyraParameters,
    Kyra,
    "emulator.layouts.kyra:lay_out_kyra",
    "emulator.layouts.kyra:misfits",
    (TABLES, *CLIQUES),
)
