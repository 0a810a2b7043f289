"""Newscast as a membership of its own, whose peers tell nothing of themselves but that they are there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from mypy_extensions import mypyc_attr

from emulator.contract.protocol import Environment
from emulator.contract.system import MembershipKind
from emulator.protocols.gossip.newscast import Newscast
from emulator.protocols.gossip.newscast_parameters import NewscastParameters
from emulator.protocols.gossip.view_invariant import VIEWS
from trellis.v1.overlay import Profile


@mypyc_attr(allow_interpreted_subclasses=True)
class NewscastMembership(Newscast):
    """One peer of Newscast; its neighbours are those of its view."""

    def __init__(self, environment: Environment, parameters: NewscastParameters) -> None:
        self._profile = Profile(environment.peer, environment.session, 1)
        super().__init__(environment, self._own_profile, view_size=parameters.view, period=parameters.period)

    def neighbours(self) -> Mapping[str, Sequence[int]]:
        return {_VIEW: [profile.peer for profile in self.view()]}

    def _own_profile(self) -> Profile:
        return self._profile


_VIEW: Final = "view"

NEWSCAST: Final = MembershipKind(
    name="newscast",
    title="Newscast",
    paper="Jelasity, Montresor: Newscast, ICDCS 2004",
    parameters=NewscastParameters,
    create=NewscastMembership,
    invariants=(VIEWS,),
)
