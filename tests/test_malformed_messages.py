"""Peers of every system drop what nobody can have meant: messages without parts, replies of another class.

A real peer meets other versions of its program, and bytes that decode to a message without its parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from inspect import signature

import pytest

from emulator.contract.registry import SYSTEMS
from emulator.messages.message import Message
from emulator.protocols.overlays.cliques.overlay import Cliques
from emulator.protocols.overlays.cliques.parameters import CliqueParameters
from emulator.runtime.peer_channels import NoHandler
from emulator.testing.fake_environment import FakeEnvironment, Lockstep
from trellis.v1.cliques import CliqueJoin, CliqueReport
from trellis.v1.content import Comparison
from trellis.v1.overlay import Contact, Goodbye

ATTRIBUTES: dict[str, object] = {"attributes": {"a": [0.0, 100.0]}}
TRIED: dict[str, dict[str, object]] = {
    "vitis": {},
    "rvr": {},
    "opt": {},
    "li": ATTRIBUTES,
    "kyra": ATTRIBUTES | {"formation": "1 s", "notice": "1 s"},
    "pastry": {},
    "oscar": {},
    "small-world": {},
    "scribe-pastry": {},
    "magnet-oscar": {},
    "quasar-random-graph": {},
}
PEERS = 6


def world(system: str) -> Lockstep:
    """A few peers that have known each other for a while."""
    found = SYSTEMS[system]
    parameters = found.parameters.model_validate(TRIED[system])
    peers = Lockstep(lambda environment: found.create(environment, parameters), range(PEERS))
    peers.start()
    for _ in range(12):
        peers.round()
        for environment in peers.environments.values():
            while environment.asked_for_contacts:
                environment.asked_for_contacts.pop()([1, 2, 3])
    return peers


def handled(environment: FakeEnvironment) -> list[tuple[str, type[Message]]]:
    """The channels and classes of all messages that a peer handles or answers."""
    found = []
    for kind, handling in environment.life._handling.items():
        chain = handling
        while chain is not None:
            found.append((chain.channel.name, kind))
            chain = chain.elsewhere  # type: ignore[assignment]
    return found


@pytest.mark.parametrize("system", TRIED)
def test_an_empty_message_of_any_class_is_dropped(system: str) -> None:
    peers = world(system)
    environment = peers.environments[0]
    failed = []
    for channel, kind in handled(environment):
        for request in (0, 1 << 20):
            try:
                environment.hand_over(1, kind(), channel, request)
                environment.advance(0.0)
            except NoHandler:
                pass
            except Exception as error:
                failed.append(f"{kind.NAME} on {channel!r}: {error!r}")
    assert failed == []


def lists_that_do_not_fit(kind: type[Message]) -> Iterator[Message]:
    """Messages of a class in which one list of numbers has an entry and the others have none."""
    for name, field in signature(kind.__init__).parameters.items():
        if str(field.annotation).startswith(("list[int]", "list[float]")):
            yield kind(**{name: [1]})


@pytest.mark.parametrize("system", TRIED)
def test_a_message_with_lists_of_unequal_lengths_is_dropped(system: str) -> None:
    peers = world(system)
    environment = peers.environments[0]
    failed = []
    for channel, kind in handled(environment):
        for message in lists_that_do_not_fit(kind):
            for request in (0, 1 << 20):
                try:
                    environment.hand_over(1, message, channel, request)
                    environment.advance(0.0)
                except NoHandler:
                    pass
                except Exception as error:
                    failed.append(f"{message} on {channel!r}: {error!r}")
    assert failed == []


@pytest.mark.parametrize("system", TRIED)
def test_a_reply_of_another_class_is_no_reply(system: str) -> None:
    peers = world(system)
    environment = peers.environments[0]
    asked, failed = set(), []
    for _ in range(40):
        environment.advance(1.0)
        for sent in environment.fake.empty_outbox():
            if sent.request > 0:
                asked.add(sent.message.NAME)
                try:
                    environment.hand_over(sent.peer, Goodbye(), sent.channel, -sent.request)
                except Exception as error:
                    failed.append(f"to {sent.message.NAME}: {error!r}")
    assert failed == []


def test_li_drops_a_comparison_whose_lists_do_not_fit() -> None:
    environment = world("li").environments[0]
    channel = next(channel for channel, kind in handled(environment) if kind is Comparison)
    environment.outbox.clear()
    environment.hand_over(1, Comparison(Contact(1, 5), [0], [0, 1], [7]), channel, 1 << 20)
    assert not [sent for sent in environment.outbox if sent.request == -(1 << 20)]
    environment.hand_over(1, Comparison(Contact(1, 5), [0], [0], [7]), channel, 1 << 20)
    assert [sent for sent in environment.outbox if sent.request == -(1 << 20)]


def test_a_leader_of_a_clique_takes_no_join_whose_lists_do_not_fit() -> None:
    environment = FakeEnvironment(0)
    cliques = Cliques(environment, CliqueParameters())
    cliques.start([])
    environment.advance(1.0)
    assert cliques.view is not None
    for rtts in ([], [100]):
        environment.hand_over(1, CliqueJoin(1.0, [0], rtts), "", 1 << 20)
        environment.hand_over(1, CliqueReport(0, [0], []), "", 1 << 20)
        assert cliques.view.members == ([0, 1] if rtts else [0])
