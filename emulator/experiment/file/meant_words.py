"""The words of other tools for kinds, systems and keys, by those of an experiment, and examples of keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_SIZE: Final = ("size", "bytes", "payload", "payload_size", "message_size", "event_size", "size_bytes")

KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("zipf", "zipfian", "powerlaw"), ("power-law",)),
    **dict.fromkeys(("exponential", "memoryless", "random"), ("poisson",)),
    **dict.fromkeys(("weibull", "heavy-tailed", "lognormal", "log-normal"), ("pareto",)),
    **dict.fromkeys(("gilbert", "gilbert-elliott", "markov", "burst", "bursty"), ("bursts",)),
    **dict.fromkeys(("k8s", "kube", "pods", "cluster"), ("kubernetes",)),
    **dict.fromkeys(("local", "grpc", "real-time", "realtime", "multiprocessing"), ("processes",)),
    **dict.fromkeys(("simulation", "simulator", "simulated", "embedded"), ("virtual",)),
    **dict.fromkeys(("none", "stable"), ("static",)),
    **dict.fromkeys(("fixed", "static"), ("constant",)),
    **dict.fromkeys(("gaussian", "gauss"), ("normal",)),
    **dict.fromkeys(("empirical", "histogram", "cdf"), ("quantiles",)),
    **dict.fromkeys(("gml", "graphml", "shadow", "topology"), ("graph",)),
    "uniform": ("random", "constant", "quantiles"),
}
"""Kinds in small letters, and the kinds that are meant; one of these is a kind of the part at hand."""

SYSTEMS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("libp2p", "go-libp2p", "libp2p-gossipsub", "go-libp2p-pubsub", "pubsub"), "gossipsub"),
    **dict.fromkeys(("serf", "consul", "memberlist", "lifeguard"), "swim"),
    **dict.fromkeys(("dht", "ipfs", "bittorrent", "kad"), "kademlia"),
}
"""Systems in small letters, and those of Trellis that are meant."""

FAULTS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("split", "netsplit", "network-partition", "isolate"), "partition"),
    **dict.fromkeys(("kill", "stop", "fail", "failure", "restart"), "crash"),
    **dict.fromkeys(("freeze", "suspend", "stall"), "pause"),
}
"""Kinds of faults, and the keys that are meant."""

KEYS: Final[Mapping[tuple[str, ...], Mapping[str, str]]] = {
    ("network",): dict.fromkeys(
        ("packet_loss", "loss_rate", "packet_loss_rate", "drop", "drop_rate", "lossrate"), "loss"
    ),
    ("workload", "publications"): {
        **dict.fromkeys(("count", "number", "messages", "publications", "total"), "events"),
        **dict.fromkeys(_SIZE, "payload_bytes"),
    },
    ("workload", "lookups"): dict.fromkeys(("per_second", "frequency"), "rate"),
}
"""Keys of a part, and the keys that are meant there."""

NOTHING: Final = ("none", "off", "no", "null", "disabled", "false", "nothing")
"""The words by which other files leave a part out."""

WORKLOADS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("publications", "pubsub", "pub-sub", "topics", "events", "publish"), "subscriptions"),
    **dict.fromkeys(("lookup", "dht", "get"), "lookups"),
    **dict.fromkeys(("gossip", "flood", "broadcasts", "messages"), "broadcast"),
}
"""Workloads in small letters, and the keys that are meant."""
_SUBSCRIPTIONS: Final = {"kind": "high", "topics": 5000, "per_peer": 50}
EXAMPLES: Final[Mapping[tuple[str, ...], Any]] = {
    ("name",): "my-experiment",
    ("system",): "chord",
    ("system", "name"): "vitis",
    ("peers",): 100,
    ("seed",): 1,
    ("repeat",): 3,
    ("workload",): {"lookups": {"rate": 1}},
    ("workload", "subscriptions"): _SUBSCRIPTIONS,
    ("workload", "subscriptions", "topics"): 500,
    ("workload", "subscriptions", "per_peer"): 10,
    ("workload", "publications"): {"events": 20},
    ("workload", "publications", "events"): 20,
    ("workload", "publications", "payload_bytes"): 256,
    ("workload", "publications", "rates", "alpha"): 1,
    ("workload", "lookups"): {"rate": 25},
    ("workload", "lookups", "rate"): 25,
    ("workload", "values"): {"count": 100, "gets": 25},
    ("workload", "values", "count"): 100,
    ("workload", "values", "gets"): 25,
    ("workload", "broadcast"): {"rate": 1},
    ("workload", "broadcast", "rate"): 1,
    ("churn",): {"model": {"kind": "poisson", "mean_session": "60 s", "mean_gap": "20 s"}},
    ("churn", "model", "mean_session"): "60 s",
    ("churn", "model", "mean_gap"): "20 s",
    ("churn", "flash_crowd", "at"): "40 s",
    ("churn", "flash_crowd", "peers"): 10,
    ("churn", "crash", "at"): "60 s",
    ("churn", "crash", "share"): "50 %",
    ("faults", "name"): "split",
    ("faults", "at"): "40 s",
    ("network", "regions", "name"): "eu",
    ("network", "regions", "share"): 0.5,
    ("network", "jitter", "deviation"): "5 ms",
    ("network", "jitter", "points"): [[0, 0], [1, 10]],
    ("network", "loss"): "1 %",
    ("network", "loss", "mean"): "1 %",
    ("network", "loss", "burst"): 4,
}
"""A value of each key that has to be there, or that a word or a number alone cannot be."""
NEEDED: Final = (("points", "quantiles"),)
"""The keys that a kind needs although it can be checked without them."""
