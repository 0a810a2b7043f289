"""The setting of a run in words, without base values that no trial had."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from analysis.report.setting import facts

KING = {"kind": "king", "hosts": 1740, "mean_rtt": "180 ms"}
POISSON = {"kind": "poisson", "mean_session": "5 min", "mean_gap": "60 s"}


@pytest.mark.parametrize(
    ("name", "of", "key", "values", "told"),
    [
        (
            "Network",
            {"network": {"latency": KING, "loss": 0.05}},
            "network.loss",
            [0.01, 0.2],
            "generated like the King measurements, 1,740 places, mean RTT 180 ms; varied: loss 1 %, 20 %",
        ),
        (
            "Network",
            {"network": {"latency": KING, "loss": 0.05}},
            "network.latency.mean_rtt",
            ["50 ms"],
            "generated like the King measurements, 1,740 places, 5 % of messages lost; varied: mean rtt",
        ),
        (
            "Network",
            {"network": {"latency": KING, "loss": 0.05}},
            "network.latency",
            [KING],
            "5 % of messages lost; varied: latency king, hosts 1,740, mean rtt 180 ms",
        ),
        (
            "Churn",
            {"churn": {"model": POISSON}},
            "churn.model.mean_session",
            ["2 min"],
            "Poisson gaps of 60 s on average; varied: mean session 2 min",
        ),
        (
            "Churn",
            {"churn": {"model": {"kind": "skype", "compress": 60}}},
            "churn.model.compress",
            [30],
            "sessions like those of Skype supernodes; varied: compress 30",
        ),
        (
            "Churn",
            {"churn": {"model": {"kind": "static"}, "crash": {"share": 0.1, "at": "30 s"}}},
            "churn.crash.share",
            [0.2],
            "none: all peers join and stay, but a share of those that are up crash at 30 s; varied: share",
        ),
        ("Churn", {"churn": {"model": POISSON}}, "churn", [{}], "varied: no churn"),
        ("Phases", {"phases": {"join": "1 s", "measure": "2 s"}}, "phases.join", ["9 s"], "measure 2 s"),
        ("Runtime", {"runtime": {"kind": "processes", "hosts": 2}}, "runtime.hosts", [4], "between local"),
    ],
)
def test_a_base_value_that_is_varied_is_left_out(
    name: str, of: dict[str, Any], key: str, values: Sequence[Any], told: str
) -> None:
    summary = {"trials": [{"seed": 1}]}
    found = dict(facts(of | {"vary": {key: values}}, summary, []))[name].replace("\N{NO-BREAK SPACE}", " ")
    assert told in found
    assert found.startswith(told) or name == "Runtime"


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["vitis"], "vitis"),
        (["vitis", "rvr"], "vitis and rvr"),
        (["vitis", "rvr", "opt", "vitis"], "vitis, rvr and opt"),
    ],
)
def test_systems_are_listed_once_with_commas(names: Sequence[str], told: str) -> None:
    found = dict(facts({"system": {}, "vary": {"system.name": names}}, {"trials": []}, []))
    assert found["System"] == told


def test_regions_and_classes_of_roles_and_places_are_told_by_their_names() -> None:
    classes = [
        {"name": "servers", "share": None, "role": "publisher", "up": None, "down": None},
        {"name": "10-mbit-up", "share": None, "places": [0, 2], "up": "10 Mbit/s", "down": None},
        {"name": "home", "share": 1.0, "up": "1 Mbit/s", "down": "2 Mbit/s"},
    ]
    regions = [{"name": "eu", "share": 0.5}, {"name": "us", "share": 0.5}]
    network = {"latency": {"kind": "constant", "rtt": "50 ms"}, "regions": regions}
    network |= {"bandwidth": {"classes": classes, "queue": "1 s"}}
    slow = {"classes": [{"name": "slow", "share": None, "region": ["eu"], "message": "5 ms"}]}
    told = dict(facts({"network": network, "processing": slow}, {"trials": []}, []))
    assert told["Network"].replace("\N{NO-BREAK SPACE}", " ") == (
        "RTT 50 ms between every pair, regions eu 50 %, us 50 %; links of servers: unlimited up, "
        "unlimited down; 10-mbit-up: 10 Mbit/s up, unlimited down; 100 % home: 1 Mbit/s up, 2 Mbit/s down; "
        "queues of 1 s"
    )


def test_keys_that_are_varied_together_are_told_in_words_and_each_value_once() -> None:
    skype = {"model": {"kind": "skype", "compress": 60}}
    dark = [{"name": "dark", "at": "120 s", "crash": {"region": "tokyo"}}]
    vary = {
        "system.name, system.parameters": [
            ["vitis", {}],
            ["opt", {}],
            ["gossipsub", {"topic_discovery": True}],
        ],
        "churn, faults": [[{}, []], [skype, []], [{}, dark]],
    }
    found = dict(facts({"system": {}, "vary": vary}, {"trials": []}, []))
    assert found["System"].endswith("varied: parameters defaults, topic discovery")
    assert found["Churn"] == "varied: no churn, (skype, compress 60)"
    assert found["Faults"] == "varied: no faults, dark"
    attacks = [None, {"share": 0.1, "at": "70 s"}, {"share": 0.1, "at": "80 s"}]
    found = dict(facts({"vary": {"attackers": attacks}}, {"trials": []}, []))
    assert found["Attackers"] == "varied: no attackers, (share 10 %, at 70 s), (share 10 %, at 80 s)"
