"""Joining: a peer pings its first contacts, looks its own identifier up and refreshes its buckets (2.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from emulator.contract.protocol import Environment
from emulator.protocols.overlays.kademlia.known_contacts import KnownContacts
from emulator.protocols.overlays.kademlia.node_lookup import NodeLookup, NodeLookups
from emulator.protocols.overlays.kademlia.parameters import KademliaParameters

_MOST_IN_VAIN: Final = 3
"""The lookups in a row that bring no contact after which a peer takes its few contacts for all that there
are."""


class Join:
    """The part of one peer."""

    def __init__(
        self,
        environment: Environment,
        parameters: KademliaParameters,
        known: KnownContacts,
        lookups: NodeLookups,
        joined: Callable[[], None],
        grown: Callable[[], None],
    ) -> None:
        """`joined` is called each time that this peer has found its place, and `grown` when it has found more
        contacts after that."""
        self._environment = environment
        self._timeout = parameters.join_timeout
        self._known = known
        self._lookups = lookups
        self._joined = joined
        self._grown = grown
        self._k = parameters.k
        self._known_before = 0
        self._looks_again = False
        self._in_vain = 0
        """The lookups of this peer's own identifier in a row that have brought no contact."""
        self._under_way = False
        self._pinging = False
        """Whether first contacts were pinged and none has answered."""
        self._waiting = 0
        """The first contacts that were not silent so far."""
        self.ready = False

    def start(self, contacts: Sequence[int]) -> None:
        """Join through these peers. Without any, this peer is the first one."""
        if not contacts:
            self._end()
            return
        self._under_way = self._pinging = True
        self._waiting = len(contacts)
        for peer in contacts:
            self._known.ping(peer, self._answered, self._silent)

    def again(self) -> None:
        """Ask the bootstrap service for peers to join by, unless this peer is joining."""
        if not self._under_way:
            self._under_way = True
            self._environment.find_contacts(self.start)

    def _answered(self) -> None:
        """Look this peer's own identifier up, with the first contact that is there."""
        if self._pinging:
            self._pinging = False
            self._lookups.begin(NodeLookup(self._known.me.identifier, self._found, control=True))

    def _silent(self) -> None:
        self._waiting -= 1
        if self._pinging and not self._waiting:
            self._try_later()

    def _found(self, lookup: NodeLookup) -> None:
        if lookup.answers:
            self._end()
            if not self._looks_again:
                self._in_vain = 0
                self._look_again()
        else:
            self._try_later()

    def _look_again(self) -> None:
        """Look this peer's own identifier up again, because the peers that it joined by knew few others.

        They may have been joining themselves. It ends with k contacts, or when three lookups in a row have
        brought none.
        """
        self._known_before = len(self._known.table)
        self._looks_again = self._known_before < self._k and self._in_vain < _MOST_IN_VAIN
        if self._looks_again:
            self._environment.set_timer(self._timeout * (1 + self._in_vain), self._look_up_itself)

    def _look_up_itself(self) -> None:
        self._lookups.begin(NodeLookup(self._known.me.identifier, self._found_again, control=True))

    def _found_again(self, lookup: NodeLookup) -> None:
        if len(self._known.table) > self._known_before:
            self._in_vain = 0
            self._grown()
        else:
            self._in_vain += 1
        self._look_again()

    def _try_later(self) -> None:
        self._pinging = False
        self._environment.set_timer(self._timeout, self._find_contacts)

    def _find_contacts(self) -> None:
        self._environment.find_contacts(self.start)

    def _end(self) -> None:
        self._under_way = False
        self.ready = True
        self._joined()
