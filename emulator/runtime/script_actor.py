"""The actor of a trial's script: it has peers join, leave and do what the workload asks of them.

The same actor serves both worlds, the virtual one and that of a host in real time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from random import Random

from librt.vecs import vec
from mypy_extensions import i32, mypyc_attr

from emulator.compact.sorted_numbers import difference, holds, union
from emulator.contract.identifiers import IdentifierSpace
from emulator.contract.mistakes import placed
from emulator.contract.protocol import Application, Environment, Event, Outcome
from emulator.contract.random_streams import stream
from emulator.contract.workload import Holding, Operation, WorkloadKind
from emulator.faults.spec import AttackersSpec
from emulator.runtime.attack_counts import AttackCounts
from emulator.runtime.hostile_channel import make_hostile
from emulator.runtime.peer_channels import Channel, Life
from emulator.runtime.script import GiveUp, Join, Leave, Script, TakeUp
from emulator.telemetry import names
from emulator.telemetry.context import TraceContext
from emulator.telemetry.recorder import Recorder


@mypyc_attr(allow_interpreted_subclasses=True)
class PlannedLife(Life):
    """A life that a trial's script begins and ends."""

    def __init__(self, peer: int, session: int, rng: Random, role: str = "peer") -> None:
        super().__init__(peer, session, rng, role)
        self.alive = True
        """This is true while the life goes on. An ended one sends nothing, and its timers make no call."""
        self.planned = session
        """The session's number in the plan."""
        self.away = False
        """This is true while the peer is down and is to come back with the state that it has."""
        self.came_back = 0.0
        """The trial time (s) at which the peer came back with its state: what had reached it before and was
        not handled is lost. 0 if it never went down."""
        self.taken: dict[str, tuple[Channel, int, IdentifierSpace]] | None = None
        """The identifiers that the peer has taken, by channel; None where no peer keeps its state."""
        self.held = vec[i32]()
        """The numbers in the plan of what the peer holds now, such as subscriptions; ascending."""
        self.topics = vec[i32]()
        """The topics among what the peer holds, ascending."""
        self.received = bytearray()
        """The numbers of the events or lookups that were delivered here, as bits."""

    def operate(
        self,
        operation: str,
        attributes: Mapping[str, int | bool],
        call: Callable[[], None],
        topic: int | None = None,
        event: int = -1,
    ) -> None:
        """Make the call in a trace of its own, which is about a topic or a publication if these are given.

        Raises what the call raises, with a note of who was asked for what."""
        recorder, at_ns = self.recorder(), self.now_ns()
        context = recorder.begin(topic, event, at_ns)
        try:
            self.resume(context, call)
        except (Exception, SystemExit) as error:
            raise self.mistaken(error, f"when it was asked to {operation}") from error.__cause__
        recorder.operation(context, operation, self.peer, at_ns, attributes)

    def wants(self, topic: int | None) -> bool:
        """Return whether the peer holds something that is about a topic."""
        return topic is not None and holds(self.topics, topic)

    def mistaken(self, error: BaseException, doing: str) -> Exception:
        """Return an error of the peer's protocol with a note of where and when it was made."""
        return placed(error, self.breaches.system, self.peer, self.now(), doing)

    def deliver(self, outcome: Outcome) -> None:
        if isinstance(outcome, Event) and outcome.publisher == self.peer:
            return
        self.hand_over(outcome)

    @abstractmethod
    def recorder(self) -> Recorder:
        """Return the recorder that writes the spans of this peer."""

    @abstractmethod
    def now_ns(self) -> int:
        """Return the nanoseconds since the trial began."""

    @abstractmethod
    def resume(self, context: TraceContext | None, call: Callable[[], None]) -> None:
        """Make a call in the operation that it belongs to, unless the life has ended."""

    @abstractmethod
    def hand_over(self, outcome: Outcome) -> None:
        """Record a delivery."""

    @abstractmethod
    def pause(self) -> None:
        """Have the peer do nothing until it goes on: what comes and what is due waits."""

    @abstractmethod
    def go_on(self) -> int:
        """Have the peer handle what waits, in order. Returns how many calls that are."""


@mypyc_attr(allow_interpreted_subclasses=True)
class World(ABC):
    """The peers of a world, up or not, as far as the actor needs them."""

    @abstractmethod
    def trial_time(self) -> float:
        """Return the seconds since the trial began."""

    @abstractmethod
    def life_of(self, peer: int) -> PlannedLife | None:
        """Return the life of a peer, or None if the peer is down."""

    @abstractmethod
    def new_life(self, peer: int, session: int, random: Random, role: str) -> PlannedLife:
        """Return a life of the peer in the session of this number in the plan; it is not up yet."""

    @abstractmethod
    def begin(self, life: PlannedLife) -> None:
        """Have the peer be up from now on."""

    @abstractmethod
    def end(self, life: PlannedLife) -> None:
        """Have the peer be down from now on: it sends nothing and its timers make no call."""

    @abstractmethod
    def take_down(self, life: PlannedLife) -> None:
        """Have the peer be down from now on, and its timers' calls wait until it is brought back."""

    @abstractmethod
    def bring_back(self, life: PlannedLife) -> int:
        """Have the peer be up again with the state that it had. Returns how many calls waited."""


class ScriptActor:
    """Has the peers of a world do what the script says, each step when it is told to."""

    def __init__(
        self,
        world: World,
        script: Script,
        kind: WorkloadKind,
        create: Callable[[Environment], Application],
        seed: int,
        attackers: AttackersSpec | None = None,
    ) -> None:
        """Follow the script in this world. `create` makes a peer's protocol, which is of the class that
        `kind` asks. `attackers` says how those behave that the script names as attackers."""
        self._world = world
        self._script = script
        self._kind = kind
        self._create = create
        self._seed = seed
        self.attackers = None if attackers is None else (attackers, script.attackers, AttackCounts())
        """The part of the experiment that asks for attackers, their peers, and the counts of what they did;
        None if there are none."""
        self._random: dict[int, Random] = {}

    def join(self, peer: int, join: Join, contacts: Sequence[int]) -> None:
        """Have a peer that is down join through these contacts.

        Raises TypeError if its protocol cannot be asked for what the workload asks.
        """
        world, script = self._world, self._script
        random = self._random.get(peer)
        if random is None:
            random = self._random[peer] = stream(self._seed, "peer", peer)
        life = world.new_life(peer, join.session, random, script.role(peer))
        if script.keeps_states:
            life.taken = {}
        if self.attackers is not None and peer in script.attackers:
            asked, _, counts = self.attackers
            make_hostile(life, asked.behaviour, self._seed, asked.begins, asked.ends, counts)
            life.identifier = script.identifiers.get(peer, life.identifier)
        try:
            protocol = self._made(life)
            for what in script.held_by(peer, world.trial_time()):
                self._take_up(life, what)
        except (Exception, SystemExit) as error:
            raise life.mistaken(error, "when its protocol was made") from error.__cause__
        world.begin(life)
        life.operate("join", {names.SESSION: join.session}, partial(protocol.start, contacts))

    def _made(self, life: PlannedLife) -> Application:
        """Return the protocol of a peer. Raises TypeError if it cannot be asked what the workload asks."""
        protocol, kind = self._create(life.root), self._kind
        # Compiled abstract classes share one cache of isinstance, so one's answer may be another's.
        if kind.protocol not in type(protocol).__mro__:
            problem = f"{type(protocol).__name__} is no {kind.protocol.__name__}"
            raise TypeError(f'{problem}, so it cannot be asked what a workload of kind "{kind.name}" asks')
        return protocol

    def leave(self, life: PlannedLife, leave: Leave) -> None:
        """Have a peer that is up leave, or crash if the leave is not graceful."""
        attributes = {names.SESSION: leave.session, names.GRACEFUL: leave.graceful}
        stop = partial(life.protocol.stop, graceful=True) if leave.graceful else _crash
        life.operate("leave", attributes, stop)
        self._world.end(life)

    def catch_up(self, peer: int) -> None:
        """Have a peer that came back with its state give up and take up what it was to while it was down."""
        life, world, script = self._world.life_of(peer), self._world, self._script
        if life is None:
            return
        now = script.held_by(peer, world.trial_time())
        numbers = {what.number for what in now}
        for each in script.all_of(peer):
            if holds(life.held, each.what.number) and each.what.number not in numbers:
                self.change(peer, GiveUp(each.what))
        for what in now:
            self.change(peer, TakeUp(what))

    def change(self, peer: int, action: TakeUp | GiveUp) -> None:
        """Have a peer take something up or give it up, if the peer is up and that changes anything."""
        life, what = self._world.life_of(peer), action.what
        takes_up = isinstance(action, TakeUp)
        if life is None or holds(life.held, what.number) == takes_up:
            return
        operation, change = (what.TAKEN, self._take_up) if takes_up else (what.GIVEN_UP, self._give_up)
        life.operate(operation, _named(what.attributes()), partial(change, life, what), what.about())

    def ask(self, peer: int, operation: Operation) -> bool:
        """Ask a peer for an operation. Returns whether the peer is up, so that it could be asked."""
        life = self._world.life_of(peer)
        if life is None:
            return False
        topic, event = operation.about()
        attributes = _named(operation.attributes())
        if topic is not None:
            attributes[names.INTERESTED] = life.wants(topic)
        life.operate(operation.NAME, attributes, partial(operation.perform, life.protocol), topic, event)
        return True

    def _take_up(self, life: PlannedLife, what: Holding) -> None:
        topic = what.about()
        life.held = union(life.held, vec[i32]([what.number]))
        if topic is not None:
            life.topics = union(life.topics, vec[i32]([topic]))
        what.take_up(life.protocol)

    def _give_up(self, life: PlannedLife, what: Holding) -> None:
        topic = what.about()
        life.held = difference(life.held, vec[i32]([what.number]))
        if topic is not None:
            life.topics = difference(life.topics, vec[i32]([topic]))
        what.give_up(life.protocol)


def _named(attributes: Mapping[str, int | bool]) -> dict[str, int | bool]:
    """Return the attributes as spans have them."""
    return {f"trellis.{name}": value for name, value in attributes.items()}


def _crash() -> None:
    """Do nothing, because a peer that crashes tells nobody."""
