"""Newscast alone, as a system that is asked for nothing: what the loop and peer sampling cost."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel

from emulator.contract.identifiers import hash_of_peer
from emulator.contract.protocol import Environment, LookupService
from emulator.contract.system import System
from emulator.protocols.gossip.newscast import Newscast
from emulator.protocols.gossip.profiles import make_profile


class NewscastParameters(BaseModel):
    """There are no parameters: the view has 20 peers and a round lasts one second."""


class NewscastAlone(LookupService):
    """One peer; it never finds anything."""

    def __init__(self, environment: Environment, parameters: NewscastParameters) -> None:
        super().__init__(environment)
        peer, session = environment.peer, environment.session
        profile = make_profile(peer, session, 1, hash_of_peer(peer), {})
        sampling = environment.channel("newscast")
        self._newscast = Newscast(sampling, lambda: profile, view_size=20, period=1.0)

    def start(self, contacts: Sequence[int]) -> None:
        self._newscast.start(contacts)

    def stop(self, graceful: bool) -> None:
        self._newscast.stop(graceful)

    def lookup(self, number: int, key: int) -> None:
        """Ignore it."""


NEWSCAST = System(
    name="newscast",
    title="Newscast alone",
    paper="Jelasity, Montresor, Babaoglu: Gossip-based aggregation in large dynamic networks, TOCS 2005",
    parameters=NewscastParameters,
    create=NewscastAlone,
    serves="lookups",
)
