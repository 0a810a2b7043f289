"""Multicast groups: figure 3 of Kyra's paper, and Forgy k-means."""

from __future__ import annotations

import numpy as np
from kyra_example import DOMAIN, EVENTS, NAMES, WANTED, Tally, event, interest, number

from emulator.contract.protocol import RangeInterest
from emulator.layouts.groups import forgy
from emulator.protocols.pubsub.groups.parameters import GroupLayout, GroupParameters
from emulator.protocols.pubsub.groups.system import Groups
from emulator.testing.fake_environment import Lockstep
from trellis.v1.groups import GroupEvent

FIGURE_3 = [({5, 8}, "ABEF"), ({0, 1, 4, 6}, "ACDG"), ({2, 3, 7, 9}, "BCEFH")]
"""Events and servers; the groups are no fixed point of k-means, and are taken as they are."""


def example() -> Lockstep:
    group_of = [next(g for g, (values, _) in enumerate(FIGURE_3) if value in values) for value in EVENTS]
    parents, entries = [], []
    for _, names in FIGURE_3:
        servers = [number(name) for name in names]
        parents.append({server: servers[place - 1] if place else -1 for place, server in enumerate(servers)})
        entries.append([peer if peer in servers else servers[0] for peer in range(len(NAMES))])
    layout = GroupLayout(group_of_cell=group_of, parents=parents, entries=entries)
    parameters = GroupParameters(attributes=DOMAIN, groups=3, cells=10, layout=layout)
    peers = Lockstep(lambda environment: Groups(environment, parameters), range(len(NAMES)))
    for name in NAMES:
        server(peers, name).subscribe(interest(WANTED[name]))
    peers.start()
    return peers


def server(peers: Lockstep, name: str) -> Groups:
    found = peers.protocols[number(name)]
    assert isinstance(found, Groups)
    return found


def test_event_9_reaches_b_too_which_hands_it_to_nobody() -> None:
    peers = example()
    server(peers, "A").publish(event(9, "A"))
    peers.exchange()
    assert {NAMES[peer] for peer, env in peers.environments.items() if env.delivered} == {"H"}


def test_every_event_reaches_whoever_wants_it_from_every_publisher() -> None:
    tally = Tally()
    tally.publish_all(example(), {GroupEvent: "group"})
    assert tally.wrong == []
    # 28 false members, from each of eight publishers; 28 times that is the publisher, which needs no message.
    assert tally.uninterested == 28 * 8 - 28


def test_over_all_events_figure_3_s_groups_have_28_false_receipts() -> None:
    """Each event is published at a member of its group, which gets it without a message."""
    peers, false = example(), 0
    for at, value in enumerate(EVENTS, 1):
        members = next(names for values, names in FIGURE_3 if value in values)
        publisher = next(name for name in members if value in WANTED[name])
        peers.sent = []
        server(peers, publisher).publish(event(value, publisher, at))
        peers.exchange()
        receivers = [receiver for _, receiver, message in peers.sent if isinstance(message, GroupEvent)]
        assert len(receivers) == len(members) - 1
        false += sum(value not in WANTED[NAMES[peer]] for peer in receivers)
    assert false == 28


def test_a_member_matches_each_event_that_it_gets_with_what_is_wanted_there() -> None:
    peers = example()
    server(peers, "H").subscribe(RangeInterest({"value": (2.5, 8.75)}))
    before = server(peers, "H").gauges()
    server(peers, "A").publish(event(9, "A"))
    peers.exchange()
    after = server(peers, "H").gauges()
    assert after["table_searches"] - before["table_searches"] == 1
    assert after["table_comparisons"] > before["table_comparisons"]


def test_alike_cells_are_one_group() -> None:
    alike = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 0], [0, 0, 1, 1]], bool)
    groups = forgy(alike, np.array([0.3, 0.2, 0.25, 0.05, 0.2]), 3)
    assert groups[3] == -1 and groups[0] == groups[1] != groups[2] == groups[4]


def test_as_many_groups_as_different_cells_waste_nothing() -> None:
    random = np.random.default_rng(1)
    wanted = random.random((40, 12)) < 0.3
    rate = random.random(40)
    wastes = []
    for k in (1, 5, 40):
        groups = forgy(wanted, rate / rate.sum(), k)
        wastes.append(
            sum(
                rate[cell] * (wanted[groups == groups[cell]].any(axis=0) & ~wanted[cell]).sum()
                for cell in range(40)
                if groups[cell] >= 0
            )
        )
    assert wastes[0] > wastes[1] > wastes[2] == 0
