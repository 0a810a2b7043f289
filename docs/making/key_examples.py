"""Examples of keys for which the schema of experiment files has none and no default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from emulator.experiment.file.meant_words import EXAMPLES

_BY_KEY: Final[Mapping[str, Any]] = {
    "title": "Vitis and RVR under churn",
    "claims": ["V1", "V2"],
    "expect": ["hit_ratio >= 99 %", "delay_ms_p99 < 2 s"],
    "file": "rtts.txt",
    "churn.model.file": "skype.avt",
    "network.jitter.file": "jitter.txt",
    "network.bandwidth.table.file": "access.csv",
    "network.bandwidth.nodes.file": "world.gml",
    "workload.subscriptions.file": "edges.txt",
    "name": "eu",
    "network.bandwidth.classes.name": "fibre",
    "processing.classes.name": "phones",
    "workload.subscriptions.attributes.name": "price",
    "region": ["eu", "us"],
    "network.latency.regions": "country_code",
    "between": ["eu", "us"],
    "role": "publisher",
    "peers": [0, 1, 2],
    "places": [0, 1, 2],
    "points": [[0, 0], [0.9, 5], [1, 40]],
    "network.bandwidth.table.up": "upload",
    "network.bandwidth.table.down": "download",
    "network.bandwidth.table.weight": "households",
    "network.bandwidth.table.name": "provider",
    "bytes": 1000,
    "behaviour": "black-hole",
    "key": '"00112233445566778899aabbccddeeff"',
    "message": "200 us",
    "hold": ["ring_is_one_cycle from 200 s"],
    "faults.links.bandwidth": "1 Mbit/s",
    "draw": {"peers": {"from": 50, "to": 200}},
    "rates_read": [
        {
            "table": {"file": "access.csv", "up": "upload", "down": "download"},
            "classes": [{"name": "fibre", "share": 1.0, "up": 5e7, "down": 1e8}],
        }
    ],
    "vary": {"system.name": ["vitis", "rvr"], "network.loss": [0, "1 %"]},
    "system.parameters": {"period": "2 s"},
    "network.latency.rtt": {"eu": {"eu": "20 ms", "us": "90 ms"}, "us": {"us": "30 ms"}},
    "workload.subscriptions.attributes": {"price": [0, 1000], "weight": [0, 50]},
    "workload.roles.regions": {"publisher": ["eu"]},
}
"""Examples by the end of a dotted key, as a file has them; the longest end counts."""
_BY_FORM: Final[Mapping[str, Any]] = {
    "time": "30 s",
    "rate": "20 Mbit/s",
    "number or share": "5 %",
    "whole number or share": "5 %",
}
"""Examples by what may be written."""


def key_example(key: str, value: str, part: Mapping[str, Any]) -> Any:
    """Return an example of a dotted key, of which `value` says in words what may be written; None if there is
    none."""
    if value in ("keys below", "list of keys below"):
        return None
    names = key.split(".")
    if (own := EXAMPLES.get(tuple(names))) is not None:
        return own
    ends = (".".join(names[start:]) for start in range(len(names)))
    if (end := next((end for end in ends if end in _BY_KEY), None)) is not None:
        return _BY_KEY[end]
    if value in _BY_FORM:
        return _BY_FORM[value]
    return part["exclusiveMinimum"] + 1 if "exclusiveMinimum" in part else None
