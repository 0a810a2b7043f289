"""A random graph: symmetric links with random peers, kept by gossip.

Peers are found by Newscast. In a `bounded` graph a peer has up to a number of links of its own. It asks the
peer at which a random walk ends that begins at a peer of its view, because peers of one view know each other
and links among them would make triangles. A full peer that is asked by one that lacks two or more links puts
the newcomer between itself and a random neighbour (Bourassa, Holt: SWAN, 2003), so a graph of full peers
takes newcomers in and stays random. In a `sparse` graph each peer makes half of its links itself, with peers
of its view, and refuses nobody; a walk would end most often at peers that have many links.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from mypy_extensions import mypyc_attr

from emulator.contract.protocol import Environment, Membership
from emulator.contract.system import MembershipKind
from emulator.messages.message import Message
from emulator.protocols.gossip.newscast import Newscast
from emulator.protocols.gossip.view_invariant import VIEWS
from emulator.protocols.overlays.random_graph.parameters import RandomGraphParameters
from trellis.v1.overlay import Contact, Goodbye, Profile
from trellis.v1.random_graph import LinkAnswer, LinkEnd, LinkHeartbeat, LinkMove, LinkRequest


@mypyc_attr(allow_interpreted_subclasses=True)
class RandomGraph(Membership):
    """One peer of the graph."""

    def __init__(self, environment: Environment, parameters: RandomGraphParameters) -> None:
        super().__init__(environment)
        draw = environment.random
        self._bounded = parameters.graph == "bounded"
        if self._bounded:
            low, high = parameters.degree - parameters.spread, parameters.degree + parameters.spread
            self.bound = draw.randint(low, high)
            """The number of links that this peer seeks; in a bounded graph it takes no more."""
        else:
            self.bound = (parameters.degree + draw.randint(0, 1)) // 2
        self._walk = parameters.walk if self._bounded else 0
        self._period = parameters.period
        self._heartbeat_period = parameters.heartbeat
        self._stale = parameters.silent_heartbeats * parameters.heartbeat
        self._timeout = parameters.request_timeout
        self._heard: dict[int, float] = {}
        """The time at which each neighbour was last heard from (s of trial time), by neighbour."""
        self._made: set[int] = set()
        """The neighbours at links that this peer asked for."""
        self._asked: set[int] = set()
        """The peers that have not yet answered a request for a link."""
        self._profile = Profile(environment.peer, environment.session, 1)
        self._newscast = Newscast(
            environment.channel("newscast"),
            self._own_profile,
            view_size=parameters.view,
            period=parameters.period,
        )
        environment.serve(LinkRequest, self._on_request)
        environment.handle(LinkMove, self._on_move)
        environment.handle(LinkHeartbeat, self._on_heartbeat)
        environment.handle(LinkEnd, self._on_end)
        environment.handle(Goodbye, self._on_goodbye)

    def start(self, contacts: Sequence[int]) -> None:
        self._newscast.start(contacts)
        for contact in contacts[: self._missing()]:
            self._ask(contact, self._walk)
        self.environment.every(self._period, self._seek)
        self.environment.every(self._heartbeat_period, self._beat)

    def stop(self, graceful: bool) -> None:
        if graceful:
            goodbye = Goodbye()
            for peer in self._heard:
                self.environment.send(peer, goodbye)
        self._newscast.stop(graceful)
        self._heard.clear()
        self._made.clear()

    def on_unreachable(self, peer: int) -> None:
        self._drop(peer)

    def gauges(self) -> dict[str, float]:
        return {"missing_links": float(self._missing())}

    def neighbours(self) -> Mapping[str, Sequence[int]]:
        return {_LINK: list(self._heard)}

    def sample(self, count: int) -> Sequence[int]:
        return self._newscast.sample(count)

    def _own_profile(self) -> Profile:
        return self._profile

    def _missing(self) -> int:
        """Return the number of links that this peer lacks."""
        return max(0, self.bound - len(self._heard if self._bounded else self._made))

    def _seek(self) -> None:
        """Ask as many random peers as links are missing, apart from requests that wait for an answer."""
        missing = self._missing() - len(self._asked)
        if missing <= 0:
            return
        for peer in self._newscast.sample(missing):
            if peer not in self._heard and peer not in self._asked:
                self._ask(peer, self._walk)

    def _ask(self, peer: int, steps: int) -> None:
        """Ask for a link with the peer that this many random steps from `peer` lead to."""
        if peer == self.environment.peer:
            return
        self._asked.add(peer)
        self.environment.request(
            peer,
            LinkRequest(self._missing(), steps),
            self._timeout,
            lambda reply: self._on_answer(peer, steps, reply),
            lambda: self._asked.discard(peer),
        )

    def _on_answer(self, peer: int, steps: int, reply: Message) -> None:
        self._asked.discard(peer)
        if not isinstance(reply, LinkAnswer):
            self.environment.drop(type(reply), "it answers something else")
            return
        if reply.instead is not None and steps:
            self._ask(reply.instead.peer, steps - 1)
        if not reply.accepted:
            return
        if peer in self._heard or self._missing():
            self._made.add(peer)
            self._link(peer)
        else:
            self.environment.send(peer, LinkEnd())

    def _on_request(self, sender: int, request: LinkRequest) -> LinkAnswer:
        if request.steps and (onward := [peer for peer in self._heard if peer != sender]):
            return LinkAnswer(False, Contact(self.environment.random.choice(onward)))
        is_full = self._bounded and sender not in self._heard and not self._missing()
        if is_full and (request.missing < 2 or not self._make_room(sender)):
            return LinkAnswer(False)
        self._link(sender)
        return LinkAnswer(True)

    def _make_room(self, newcomer: int) -> bool:
        """End the link with a random neighbour, which is to link with the newcomer instead."""
        neighbours = list(self._heard)
        if not neighbours:
            return False
        moved = self.environment.random.choice(neighbours)
        self.environment.send(moved, LinkMove(newcomer))
        self._drop(moved)
        return True

    def _on_move(self, sender: int, move: LinkMove) -> None:
        if sender in self._heard:
            self._drop(sender)
            if move.peer not in self._heard:
                self._ask(move.peer, 0)

    def _beat(self) -> None:
        """Send heartbeats to the neighbours, and drop those that are silent."""
        oldest = self.environment.now - self._stale
        for peer in [peer for peer, heard in self._heard.items() if heard < oldest]:
            self._drop(peer)
        for peer in self._heard:
            self.environment.send(peer, _HEARTBEAT)

    def _on_heartbeat(self, sender: int, message: LinkHeartbeat) -> None:
        if sender in self._heard:
            self._heard[sender] = self.environment.now
        elif sender not in self._asked:
            self.environment.send(sender, LinkEnd())

    def _on_end(self, sender: int, message: LinkEnd) -> None:
        self._drop(sender)

    def _on_goodbye(self, sender: int, message: Goodbye) -> None:
        self.environment.report_gone(sender)

    def _link(self, peer: int) -> None:
        known = peer in self._heard
        self._heard[peer] = self.environment.now
        if not known:
            self.tell_change(Contact(peer), True)

    def _drop(self, peer: int) -> None:
        if self._heard.pop(peer, None) is not None:
            self._made.discard(peer)
            self.tell_change(Contact(peer), False)


_LINK: Final = "random"
_HEARTBEAT: Final = LinkHeartbeat()

RANDOM_GRAPH: Final = MembershipKind(
    name="random-graph",
    title="A random graph",
    paper="Bourassa, Holt: SWAN: Small-world Wide Area Networks, 2003; Jelasity et al.: Newscast, 2004",
    parameters=RandomGraphParameters,
    create=RandomGraph,
    short_title="a random graph",
    invariants=(VIEWS,),
)
