"""Stores of values over Chord and Pastry, and Kademlia's own, in lockstep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from fake_environment import FakeEnvironment
from lookup_world import STEP, LookupWorld

from emulator.contract.identifiers import hash_of_peer
from emulator.contract.outcomes import Completion
from emulator.contract.registry import SYSTEMS
from emulator.contract.value_service import ValueService

QUICK: dict[str, dict[str, Any]] = {
    "values-chord": {"overlay": {"stabilization": "1 s", "fix_fingers": "all"}},
    "values-pastry": {},
    "values-kademlia": {},
}


class ValuesWorld(LookupWorld):
    """Peers with hashed identifiers, all up. The bootstrap service knows those that are up."""

    def __init__(self, system: str, peers: int, started: int | None = None, **fields: Any) -> None:
        found = SYSTEMS[system]
        given = QUICK[system] | fields
        parameters = found.parameters.model_validate(given)

        def make(environment: FakeEnvironment) -> Any:
            return found.create(environment, parameters)

        identifiers = [hash_of_peer(peer) for peer in range(peers)]
        super().__init__(identifiers, cast("Callable[[FakeEnvironment], Any]", make), started or peers)
        self.run(40)

    def store(self, peer: int) -> ValueService:
        return cast("ValueService", self.world.protocols[peer])

    def put(self, peer: int, key: int, version: int = 1, number: int = 0, size: int = 3) -> list[Completion]:
        """Have a peer put a value; return what it was told within a few seconds."""
        return self._asked(peer, lambda: self.store(peer).put(number, key, version, bytes(size)))

    def get(self, peer: int, key: int, number: int = 0, seconds: float = 8 * STEP) -> list[Completion]:
        """Have a peer get a value; return what it was told within these seconds."""
        return self._asked(peer, lambda: self.store(peer).get(number, key), seconds)

    def _asked(self, peer: int, call: Callable[[], None], seconds: float = 8 * STEP) -> list[Completion]:
        environment = self.world.environments[peer]
        environment.delivered.clear()
        call()
        self.run(seconds)
        return list(environment.delivered)

    def holders(self, key: int) -> set[int]:
        """Return the peers that hold a copy."""
        return {peer for peer in self.up if self.version(peer, key) is not None}

    def version(self, peer: int, key: int) -> int | None:
        store: Any = self.store(peer)
        copies = store._kept if hasattr(store, "_kept") else store._copies
        copy = copies.get(key)
        return None if copy is None else copy.value.version

    def closest(self, key: int, count: int, distance: Callable[[int, int], int]) -> list[int]:
        """Return the peers that are up whose identifiers are the closest to the key."""
        return sorted(self.up, key=lambda peer: distance(self.identifiers[peer], key))[:count]
