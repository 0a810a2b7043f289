"""The counts of what the attackers of a world do to messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from emulator.messages.message import Message

DROPPED: Final = "dropped"
"""The word for messages for which an attack sent nothing, and for those that it kept from its protocol."""
DELAYED: Final = "delayed"
"""The word for messages that an attack sent unchanged and once, later than its protocol did."""
REPEATED: Final = "repeated"
"""The word for messages for which an attack sent several."""
CHANGED: Final = "changed"
"""The word for messages for which an attack sent another one."""
MADE: Final = "made"
"""The word for messages that an attack sent of its own accord."""


class AttackCounts:
    """The attackers that were there while the attack lasted, and what they did to messages."""

    def __init__(self) -> None:
        self.peers: set[int] = set()
        """The attackers that sent or got a message, or did something of their own accord, in its time."""
        self.messages: dict[str, int] = dict.fromkeys((DROPPED, DELAYED, REPEATED, CHANGED, MADE), 0)
        """The number of messages by what was done to them. Each message counts once."""


class AttackedMessage:
    """A message that an attacker's protocol sends, and what the attack sends in its place or beside it."""

    __slots__ = ("_counted", "_counts", "_message", "_send", "_sent", "_settled", "_tell", "_word")

    def __init__(
        self,
        counts: AttackCounts,
        message: Message,
        send: Callable[[Message], None],
        tell: Callable[[], None],
    ) -> None:
        """`send` sends a message in the place of this one. `tell` is called once if the message counts."""
        self._counts = counts
        self._message = message
        self._send = send
        self._tell = tell
        self._sent = 0
        self._word = DROPPED
        """The word by which the message counts, if it does."""
        self._settled = False
        """This is true when the attack has decided about the message itself."""
        self._counted = False

    def send(self, message: Message) -> None:
        """Send a message in the place of this one, or beside it."""
        self._sent += 1
        word = REPEATED if self._sent > 1 else DELAYED if message is self._message else CHANGED
        if self._settled:
            self._count(word)
        self._word = word
        self._send(message)

    def pass_on(self) -> None:
        """Send the message itself as well. It counts as repeated if the attack has sent anything beside it,
        or sends it later; otherwise it does not count."""
        self._sent += 1
        self._settled = True
        if self._sent > 1:
            self._count(REPEATED)
        self._send(self._message)

    def withhold(self) -> None:
        """Count the message by what has been sent in its place so far, and again when more is sent."""
        self._settled = True
        self._count(self._word)

    def _count(self, word: str) -> None:
        """Count the message by this word, and no longer by another one."""
        if self._counted:
            self._counts.messages[self._word] -= 1
        else:
            self._tell()
        self._counts.messages[word] += 1
        self._word, self._counted = word, True
