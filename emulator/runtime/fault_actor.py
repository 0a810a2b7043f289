"""The actor of faults: it has peers pause and go on, and tells when faults begin and end and what they hit.

It tells the same of the attack of a trial's attackers, whose channels know by themselves when it begins.

The same actor serves both worlds, as the actor of a trial's script does. What becomes of messages, and which
peers crash, is decided elsewhere: by `emulator.faults.network_faults`, and by the sessions of the plan. Its
script also says when peers go down that keep their state, and when they come back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial

from emulator.experiment.run.fidelity import FaultReport
from emulator.faults.crossings import Crossing
from emulator.faults.network_faults import FAULT, NetworkFaults
from emulator.faults.outages import Outages
from emulator.faults.spec import OF_MESSAGES, AttackersSpec, FaultSpec
from emulator.runtime.attack_counts import AttackCounts
from emulator.runtime.script_actor import PlannedLife, World

Attackers = tuple[AttackersSpec, Collection[int], AttackCounts]
"""The part of the experiment that asks for attackers, their peers, and the counts of what those of this world
did."""


class Acted:
    """One fault, or the attack, while the trial runs."""

    def __init__(
        self,
        index: int,
        spec: FaultSpec | AttackersSpec,
        peers: Collection[int],
        network: NetworkFaults | None,
        attack: AttackCounts | None = None,
    ) -> None:
        self.index = index
        """Its index in the faults of the trial, behind which the attack has its own."""
        self.spec = spec
        self.fault = spec if isinstance(spec, FaultSpec) else None
        """What it asks for, None of the attack."""
        self.peers = sorted(peers)
        self.told: list[PlannedLife] = []
        """The peers that told of its begin, and have not told of its end."""
        self.up = 0
        """The number of these peers of this world that were up when it began."""
        self.begun: float | None = None
        """The trial time (s) at which it began here, None before; so is `ended`."""
        self.ended: float | None = None
        self.waited = 0
        """The calls that waited at the peers when they went on, or the questions to the bootstrap service."""
        self._network = network
        self._attack = attack

    @property
    def pauses(self) -> bool:
        """This is true if it has its peers do nothing while it lasts."""
        return self.fault is not None and self.fault.pause is not None

    @property
    def hit(self) -> int:
        """The number of peers of this world that it hit, or that attacked."""
        return self.up if self._attack is None else len(self._attack.peers)

    @property
    def messages(self) -> dict[str, int]:
        """The numbers of messages by what it did to them, as `FaultReport` has them."""
        name, network, fault = self.spec.name, self._network, self.fault
        if self._attack is not None:
            return self._attack.messages
        if network is None or fault is None or fault.kind not in OF_MESSAGES:
            return {}
        counts = network.counts(name)
        if network.crossings is None or fault.partition is None:
            return counts
        return {"stopped": counts["stopped"], "crossed": network.crossings.crossed(name)}

    @property
    def crossing(self) -> Crossing | None:
        """The first message that crossed it, if it is a partition."""
        crossings = None if self._network is None else self._network.crossings
        return None if crossings is None else crossings.first(self.spec.name)

    def report(self, host: str) -> FaultReport:
        times = self.begun, self.ended
        return FaultReport.of(self.spec, host, *times, self.hit, self.waited, self.messages, self.crossing)


class FaultActor:
    """Has the faults of a trial happen to the peers of one world."""

    def __init__(
        self,
        world: World,
        faults: Sequence[FaultSpec],
        hit: Sequence[Collection[int]],
        network: NetworkFaults | None = None,
        attackers: Attackers | None = None,
    ) -> None:
        """`hit` has the peers that each fault hits; those of other worlds are passed over. `network` decides
        what becomes of messages and counts them. `attackers` are those of the trial, if it has any."""
        self._world = world
        both = zip(faults, hit, strict=True)
        self.acted = [Acted(index, *each, network) for index, each in enumerate(both)]
        if attackers is not None:
            spec, peers, counts = attackers
            self.acted.append(Acted(len(faults), spec, peers, None, counts))
        self._outages = Outages(faults)
        self._away: dict[int, PlannedLife] = {}
        """The peers that are down and keep their state."""

    def calls(self, now: float = 0.0) -> Iterator[tuple[float, Callable[[], None]]]:
        """Yield what is to be called at which trial time (s), for the faults that begin at `now` or later.

        At equal times these calls come before what peers are asked for, and faults end before others begin.
        """
        calls: list[tuple[float, Callable[[], None]]] = []
        acted = [each for each in self.acted if each.spec.begins >= now]
        calls += ((each.spec.ends, partial(self._end, each)) for each in acted if each.spec.ends != math.inf)
        calls += ((each.spec.begins, partial(self._begin, each)) for each in acted)
        yield from sorted(calls, key=lambda call: call[0])

    def take_down(self, life: PlannedLife, fault: int) -> None:
        """Have a peer crash and keep its state, by the fault of this index."""
        self._tell_begin(life, self._acted(fault))
        life.away = True
        self._away[life.peer] = life
        self._world.take_down(life)

    def bring_back(self, peer: int, session: int, fault: int) -> bool:
        """Have a peer go on with the state that it had, in the session of this number in the plan.

        Returns whether it can: its host may have been started again meanwhile, which lost the state.
        """
        life = self._away.pop(peer, None)
        if life is None:
            return False
        life.away, life.planned, life.came_back = False, session, self._world.trial_time()
        waited = self._world.bring_back(life)
        acted = self._acted(fault)
        acted.waited += waited
        self._tell_end(life, acted, waited)
        for channel, identifier, space in [*(life.taken or {}).values()]:
            life.take_identifier(channel, identifier, space)  # of a session, which begins here
        return True

    def _acted(self, fault: int) -> Acted:
        return next(acted for acted in self.acted if acted.index == fault)

    def _tell_begin(self, life: PlannedLife, acted: Acted) -> None:
        lasts = acted.spec.ends - acted.spec.begins
        life.root.record(f"{FAULT} {acted.spec.name} begins", lasts, None, "s")

    def _tell_end(self, life: PlannedLife, acted: Acted, waited: int) -> None:
        life.root.record(f"{FAULT} {acted.spec.name} ends", waited, None, "calls")

    def wait(self, asked: float) -> float:
        """Count a question to the bootstrap service at `asked` (trial time, s) if the service is away.

        Returns how many seconds the answer takes longer for that, infinity if the service never comes back.
        """
        wait = self._outages.wait(asked) if self._outages else 0.0
        if wait:
            for acted in self.acted:
                fault = acted.fault
                is_away = fault is not None and fault.bootstrap is not None
                acted.waited += is_away and acted.spec.begins <= asked < acted.spec.ends
        return wait

    def _begin(self, acted: Acted) -> None:
        acted.begun = self._world.trial_time()
        for peer in acted.peers:
            life = self._world.life_of(peer)
            if life is None:
                continue
            acted.up += 1
            if acted.fault is not None and acted.fault.keeps_state:
                continue
            if acted.pauses:
                life.pause()
            acted.told.append(life)
            self._tell_begin(life, acted)

    def _end(self, acted: Acted) -> None:
        acted.ended = self._world.trial_time()
        for life in acted.told:
            if life.alive:
                waited = life.go_on() if acted.pauses else 0
                acted.waited += waited
                self._tell_end(life, acted, waited)
        acted.told.clear()
