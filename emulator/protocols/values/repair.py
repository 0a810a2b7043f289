"""Repair: copies come to the peers that are to hold them when others come and go.

A root tells the other holders what they are to hold, and sends what they lack (CFS, SOSP 2001, section 4.2;
PAST, SOSP 2001, section 2.1). A copy that no root has asked about for long is offered to the root of its key,
which fetches it if it lacks it, and releases a holder that need not keep it.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from emulator.contract.protocol import Environment, Message, Overlay
from emulator.protocols.values.copies import Copies, Copy
from emulator.protocols.values.holders import Holders
from emulator.protocols.values.parameters import ReplicatedParameters
from trellis.v1.values import (
    CopyOffer,
    CopyRelease,
    FetchCopy,
    FetchedCopy,
    HeldVersion,
    Inventory,
    InventoryReply,
    RepairCopy,
)

_FORGOTTEN: Final = 3
"""The looks of a root after which a copy that none of them named is offered to it."""


class Repair:
    """The part of one peer."""

    def __init__(
        self,
        environment: Environment,
        overlay: Overlay,
        parameters: ReplicatedParameters,
        copies: Copies,
        holders: Holders,
    ) -> None:
        self._environment = environment
        self._overlay = overlay
        self._period = parameters.repair
        self._reaction = min(parameters.reaction, parameters.repair)
        self._timeout = parameters.copy_timeout
        self._copies = copies
        self._holders = holders
        self._rooted: set[int] = set()
        """The keys that this peer was the root of when it last looked."""
        self._changed = False
        self._looked = 0.0
        environment.serve(Inventory, self._on_inventory)
        environment.handle(RepairCopy, self._on_copy)
        environment.handle(CopyRelease, self._on_release)

    def start(self) -> None:
        """Look from now on after the copies of this peer's values."""
        self._looked = self._environment.now
        self._environment.every(self._reaction, self._check)

    def neighbours_changed(self) -> None:
        """Look soon."""
        self._changed = True

    def leave(self) -> None:
        """Give the next peer in line a copy of each value whose root this peer is, because it leaves."""
        for copy in self._copies:
            if self._holders.of(copy.value.key)[0].peer == self._environment.peer:
                for peer in self._holders.next_in_line(copy.value.key):
                    self._environment.send(peer, RepairCopy(copy.value))

    def offered(self, offer: CopyOffer) -> None:
        """Fetch a copy that a holder offers, if it is lacking here, or release the holder."""
        held = offer.held
        if held is None:
            self._environment.drop(CopyOffer, "it names no value")
            return
        copy = self._copies.get(held.key)
        if copy is None or copy.value.version < held.version:
            self._fetch(offer.holder, held.key)
        elif offer.holder not in self._holders.others(held.key):
            self._environment.send(offer.holder, CopyRelease(held))

    def _check(self) -> None:
        due = self._environment.now - self._looked >= self._period
        if self._overlay.ready and (due or self._changed):
            self._look()

    def _look(self) -> None:
        now = self._looked = self._environment.now
        self._changed = False
        me, before = self._environment.peer, self._rooted
        self._rooted = set()
        lists: dict[int, list[HeldVersion]] = {}
        for copy in self._copies:
            held = HeldVersion(copy.value.key, copy.value.version)
            holders = self._holders.of(held.key)
            if holders[0].peer == me:
                self._rooted.add(held.key)
                copy.since = now
                for other in holders[1:]:
                    lists.setdefault(other.peer, []).append(held)
            elif held.key in before:
                lists.setdefault(holders[0].peer, []).append(held)
            elif copy.since + _FORGOTTEN * self._period <= now:
                copy.since = now
                self._overlay.route(held.key, CopyOffer(me, held))
        for peer, all_held in lists.items():
            replied = partial(self._on_reply, peer)
            self._environment.request(peer, Inventory(all_held), self._timeout, replied, _nothing)

    def _on_inventory(self, sender: int, inventory: Inventory) -> InventoryReply:
        lacking, newer = [], []
        for held in inventory.held:
            copy = self._copies.get(held.key)
            if copy is None or copy.value.version < held.version:
                lacking.append(held)
            else:
                copy.since = self._environment.now
                if copy.value.version > held.version:
                    newer.append(HeldVersion(held.key, copy.value.version))
        return InventoryReply(lacking, newer)

    def _on_reply(self, peer: int, reply: Message) -> None:
        if not isinstance(reply, InventoryReply):
            self._environment.drop(type(reply), "it answers something else")
            return
        for held in reply.lacking:
            copy = self._copies.get(held.key)
            if copy is not None:
                self._environment.send(peer, RepairCopy(copy.value))
        for held in reply.newer:
            self._fetch(peer, held.key)

    def _fetch(self, peer: int, key: int) -> None:
        fetched = partial(self._on_fetched, key)
        self._environment.request(peer, FetchCopy(key), self._timeout, fetched, _nothing)

    def _on_fetched(self, key: int, reply: Message) -> None:
        if isinstance(reply, FetchedCopy) and reply.value is not None and reply.value.key == key:
            self._copies.keep(reply.value, self._environment.now)
            self._changed = True

    def _on_copy(self, sender: int, message: RepairCopy) -> None:
        if message.value is None:
            self._environment.drop(RepairCopy, "it has no value")
        else:
            self._copies.keep(message.value, self._environment.now)

    def _on_release(self, sender: int, message: CopyRelease) -> None:
        held = message.held
        copy: Copy | None = None if held is None else self._copies.get(held.key)
        if held is not None and copy is not None and copy.value.version <= held.version:
            self._copies.drop(held.key)


def _nothing() -> None:
    """Wait for the next look."""
