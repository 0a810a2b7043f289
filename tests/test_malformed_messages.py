"""Peers of every system drop what nobody can have meant: messages without parts, replies of another class.

A real peer meets other versions of its program, and bytes that decode to a message without its parts.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import product
from pathlib import Path

import pytest
from librt.vecs import vec
from mypy_extensions import i64

from emulator.contract.registry import SYSTEMS
from emulator.messages.message import Message
from emulator.protocols.gossip.profiles import utility
from emulator.protocols.overlays.cliques.overlay import Cliques
from emulator.protocols.overlays.cliques.parameters import CliqueParameters
from emulator.protocols.pubsub.content.space import NO_BOX, NO_EVENT
from emulator.runtime.peer_channels import NoHandler
from emulator.testing.fake_environment import FakeEnvironment, Lockstep
from trellis.v1.chord import Forwarded
from trellis.v1.cliques import CliqueJoin, CliqueReport
from trellis.v1.content import Comparison
from trellis.v1.filters import Filter, FilterUpdate, PlacedEvent, TreeEvent
from trellis.v1.kademlia import Carry
from trellis.v1.kyra import KyraDelivery, KyraEpoch, KyraEpochNews, KyraZoneEvent
from trellis.v1.magnet import TreeSearch
from trellis.v1.overlay import Contact, Goodbye, LookupRequest, Profile, ProfileExchange, Routed
from trellis.v1.pubsub import Proposals
from trellis.v1.quasar import AttenuatedFilter, GradientUpdate

ROOT = Path(__file__).parent.parent
ATTRIBUTES: dict[str, object] = {"attributes": {"a": [0.0, 100.0]}}
TRIED: dict[str, dict[str, object]] = {
    "vitis": {},
    "rvr": {},
    "opt": {},
    "gossipsub": {},
    "li": ATTRIBUTES,
    "kyra": ATTRIBUTES | {"formation": "1 s", "notice": "1 s"},
    "pastry": {},
    "oscar": {},
    "chord": {},
    "kademlia": {},
    "small-world": {},
    "scribe-pastry": {},
    "magnet-oscar": {},
    "quasar-random-graph": {},
    "values-chord": {},
    "values-kademlia": {},
    "swim": {"preset": "memberlist"},
    "plumtree-hyparview": {},
    "anti-entropy-cyclon": {},
    "flood-cyclon": {},
    "push-gossip-newscast": {},
}
PEERS = 6
GOSSIP = {"NewscastExchange", "ProfileExchange", "Routed", "TManExchange"}
COUNTED: dict[str, set[str]] = {
    "vitis": GOSSIP,
    "rvr": GOSSIP,
    "opt": {"NewscastExchange", "TopicLinkHeartbeat", "TopicLinkRequest"},
    "gossipsub": {"NewscastExchange", "TopicMessage"},
    "li": {"Comparison", "EventDelivery", "InsertSub", "Routed"},
    "kyra": {
        *("CliqueJoin", "CliqueMeasurement", "CliqueProposal", "CliqueReport", "CliqueView"),
        *("DirectoryDigest", "DirectoryNews", "KyraDelivery", "KyraRates", "KyraZoneEvent", "TreeEvent"),
    },
    "pastry": {"Routed"},
    "oscar": {"LongLinkRequest", "Routed", "Stabilise"},
    "chord": {"Forwarded", "RingDeparture"},
    "kademlia": {"Carry"},
    "small-world": GOSSIP,
    "scribe-pastry": {"Multicast", "RootReplica", "Routed"},
    "magnet-oscar": {"LongLinkRequest", "Multicast", "Routed", "Stabilise", "TreePath", "TreeSearch"},
    "quasar-random-graph": {"NewscastExchange"},
    "values-chord": {"Forwarded", "RepairCopy", "RingDeparture", "StoreCopy"},
    "values-kademlia": {"Carry", "StoreValue"},
    "swim": set(),
    "plumtree-hyparview": {"PlumtreeIHave"},
    "anti-entropy-cyclon": {"CyclonShuffle"},
    "flood-cyclon": {"CyclonShuffle"},
    "push-gossip-newscast": {"NewscastExchange"},
}
"""The classes of which a message without parts, or with lists that do not fit, is dropped and counted."""


def world(system: str) -> Lockstep:
    """Make a world of a few peers that have known each other for a while."""
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
    """Return the channels and classes of all messages that a peer handles or answers."""
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


@cache
def types_of_fields(module: str) -> dict[str, dict[str, str]]:
    """Return the annotations of the fields of each class of a module, by its source: compiled classes have
    none."""
    found = {}
    for node in ast.parse((ROOT / Path(*module.split("."))).with_suffix(".py").read_text()).body:
        if isinstance(node, ast.ClassDef):
            (init,) = (n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__")
            annotated = ((each.arg, each.annotation) for each in init.args.args)
            found[node.name] = {name: ast.unparse(what) for name, what in annotated if what is not None}
    return found


def lists_that_do_not_fit(kind: type[Message]) -> Iterator[Message]:
    """Yield messages of a class in which one list of numbers has an entry and the others have none."""
    for name, annotation in types_of_fields(kind.__module__)[kind.__name__].items():
        if annotation.startswith("list[int]"):
            yield kind(**{name: [1]})
        elif annotation.startswith("list[float]"):
            yield kind(**{name: [1.0]})
        elif annotation == "vec[i64]":
            yield kind(**{name: vec[i64]([1])})


def named(dropped: Iterable[str]) -> set[str]:
    """Return the classes of the messages that were dropped."""
    return {told.removeprefix("dropped ").split(":")[0].split(" ")[0] for told in dropped}


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
def test_what_is_dropped_is_counted(system: str) -> None:
    environment = world(system).environments[0]
    assert environment.dropped == {}
    for channel, kind in handled(environment):
        for message, request in product([kind(), *lists_that_do_not_fit(kind)], (0, 1 << 20)):
            with contextlib.suppress(NoHandler):
                environment.hand_over(1, message, channel, request)
                environment.advance(0.0)
    assert named(environment.dropped) == COUNTED[system]


RATED = Profile(1, 0, 1, 5, 0b11, rates=[1.0, 2.0, 3.0])
PLACED = PlacedEvent(1, 1, [1.0, 2.0])
SHORT = GradientUpdate(1, 1, True, AttenuatedFilter([b""]))
MISFITS: list[tuple[str, Message, str]] = [
    ("vitis", ProfileExchange(False, RATED), "its parts do not fit together"),
    ("vitis", ProfileExchange(False, Profile(1, topics=1), Proposals()), "its parts do not fit together"),
    ("kyra", TreeEvent(PLACED), NO_EVENT),
    ("kyra", KyraZoneEvent(PLACED), NO_EVENT),
    ("kyra", KyraDelivery(PLACED), NO_EVENT),
    ("kyra", FilterUpdate(added=[Filter([1.0], [])]), NO_BOX),
    ("kyra", KyraEpochNews(KyraEpoch(9, 0.0, 0, [])), "its zones do not fit together"),
    (
        "quasar-random-graph",
        GradientUpdate(1, 1, True, AttenuatedFilter([b""])),
        "its filter has another size",
    ),
    ("oscar", Routed(1, Contact(1, 5), 1000, LookupRequest()), "it went too many hops"),
    ("chord", Forwarded(1, Contact(1, 5), 1000, LookupRequest()), "it went too many hops"),
    ("kademlia", Carry(1, Contact(1, 5), 1000, LookupRequest()), "it went too many hops"),
    ("small-world", Routed(1, Contact(1, 5), 1000, LookupRequest()), "it went too many hops"),
    ("magnet-oscar", TreeSearch(1, Contact(1, 5), 1000), "it went too many hops"),
]


@pytest.mark.parametrize(("system", "message", "reason"), MISFITS)
def test_a_message_whose_parts_do_not_fit_or_that_runs_in_circles_is_dropped_with_the_reason(
    system: str, message: Message, reason: str
) -> None:
    environment = world(system).environments[0]
    channel = next(channel for channel, kind in handled(environment) if kind is type(message))
    for request in (0, 1 << 20):
        with contextlib.suppress(NoHandler):
            environment.hand_over(1, message, channel, request)
    assert [told.split(": ")[-1] for told in environment.dropped] == [reason]


def test_a_profile_whose_rates_do_not_fit_is_like_no_other() -> None:
    assert utility(RATED, RATED) == 0.0
    fitting = Profile(2, 0, 1, 6, 0b11, rates=[1.0, 2.0])
    assert (utility(RATED, fitting), utility(fitting, fitting)) == (0.0, 1.0)


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
    assert sum(environment.dropped.values()) > 0 or not asked
    assert named(environment.dropped) <= {"Goodbye"}


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
