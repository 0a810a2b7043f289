"""The contract of attacks: how a peer behaves badly through the contract of protocols alone.

An attacker runs the same protocol as all other peers, and an attack stands between that protocol and the
world: it sees what the protocol sends, decides what of it goes out, and may send messages of its own. It sees
no other peer, no plan and no matrix. Packages outside of this repository add attacks by entry points of the
group `trellis.attacks`, each a subclass of `AttackModel`.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from typing import ClassVar

from mypy_extensions import mypyc_attr
from pydantic import BaseModel, ConfigDict

from emulator.messages.message import CONTROL, NOTIFICATION, Message


@mypyc_attr(allow_interpreted_subclasses=True)
class Sending:
    """A message that an attacker's protocol is about to send."""

    __slots__ = ("asked_by", "handled", "message", "own", "receiver")

    def __init__(
        self,
        receiver: int,
        message: Message,
        own: bool = False,
        asked_by: int = -1,
        handled: type[Message] | None = None,
    ) -> None:
        self.receiver = receiver
        """The peer that is to get the message."""
        self.message = message
        self.own = own
        """This is true if the message belongs to an operation that this peer itself began."""
        self.asked_by = asked_by
        """The sender of the message that is being handled; -1 if none is."""
        self.handled = handled
        """The class of the message that is being handled; None if none is."""

    @property
    def passes_on(self) -> bool:
        """This is true if the message passes on what another peer began.

        An event, or word of one, passes it on if it goes to anybody but the peer that it came from. So does
        a control message that goes on to a third peer in the class in which it came. Answers, gossip and
        what the peer itself began pass nothing on.
        """
        if self.own or self.receiver == self.asked_by:
            return False
        kind = self.message.kind()
        return kind <= NOTIFICATION or (kind == CONTROL and type(self.message) is self.handled)


@mypyc_attr(allow_interpreted_subclasses=True)
class AttackerEnvironment(ABC):
    """The world as an attack sees it: one channel of one attacker in one life."""

    peer: int
    """The attacker's number in the plan."""
    random: random.Random
    """The attacker's stream of random numbers for its attack; its protocol has another one."""

    @property
    @abstractmethod
    def now(self) -> float:
        """The seconds since the trial began."""

    @abstractmethod
    def send(self, peer: int, message: Message) -> None:
        """Send a message on this channel at once, without asking the attack."""

    @abstractmethod
    def set_timer(self, delay: float, callback: Callable[[], None]) -> None:
        """Make the call once, `delay` seconds from now, in the trace that is handled now."""

    @abstractmethod
    def every(self, period: float, callback: Callable[[], None]) -> None:
        """Make the call each `period` seconds, outside of any trace."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Attack(ABC):
    """The bad behaviour of an attacker on one channel in one life."""

    def __init__(self, environment: AttackerEnvironment) -> None:
        self.environment = environment

    @abstractmethod
    def sends(self, sending: Sending, send: Callable[[Message], None]) -> bool:
        """Take a message that the protocol is about to send, and return whether it goes out unchanged.

        If not, the attack calls `send` with a message of the same class as often as it likes, now or
        later; a request or a reply that is sent so stays one. The message itself must not be changed.
        What it sends beside a message that goes out unchanged counts as repetition.
        """

    def receives(self, sender: int, message: Message, request: bool) -> bool:
        """Take note of a message that came, and return whether the protocol gets it.

        `request` says that the sender waits for an answer.
        """
        return True


class AttackModel(BaseModel):
    """The parameters of one kind of attack.

    A subclass has a field `kind` of type `Literal["name"]`, and a field for each parameter.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    systems: ClassVar[Collection[str]] = ()
    """The names of the systems whose peers it can attack; empty: all."""

    def about(self) -> Collection[int]:
        """Return the numbers of the peers that the attack is about, which are not drawn as attackers."""
        return ()

    def topics(self) -> Collection[int]:
        """Return the numbers of the topics that the attack is about, each of which some peer has to have."""
        return ()

    @abstractmethod
    def begin(self, environment: AttackerEnvironment) -> Attack:
        """Return the attack on one channel of one attacker, for one of its lives."""
