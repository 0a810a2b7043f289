"""This module lists what Trellis leaves out of what packages offer: broken kinds, and names of its own."""

from __future__ import annotations

from collections.abc import Iterable

from emulator.churn.model import ChurnModel
from emulator.churn.spec import OWN_KINDS as CHURN_KINDS
from emulator.contract.attack import AttackModel
from emulator.contract.package_models import broken_kinds
from emulator.contract.packages import Group, displaced
from emulator.contract.registry import OWN_PARTS, OWN_SYSTEMS, OWN_WORKLOADS
from emulator.experiment.file.document import Key
from emulator.experiment.file.known_claims import KNOWN_CLAIMS
from emulator.experiment.file.shipped import OWN
from emulator.faults.spec import OWN_ATTACKS
from emulator.network.model import JitterModel, LatencyModel, LossModel
from emulator.network.spec import OWN_JITTERS, OWN_LOSSES
from emulator.network.spec import OWN_KINDS as LATENCY_KINDS
from emulator.workload.subscription_sources import OWN_KINDS as SUBSCRIPTION_KINDS

_OWN_NAMES: dict[Group, Iterable[str]] = {
    "systems": OWN_SYSTEMS,
    "overlays": OWN_PARTS,
    "memberships": OWN_PARTS,
    "workloads": OWN_WORKLOADS,
    "subscriptions": SUBSCRIPTION_KINDS,
    "churn": CHURN_KINDS,
    "latency": LATENCY_KINDS,
    "jitter": OWN_JITTERS,
    "loss": OWN_LOSSES,
    "attacks": OWN_ATTACKS,
    "claims": KNOWN_CLAIMS,
    "experiments": (OWN,),
}
"""The names of Trellis' own, by the group in which no package may have them. The analysis tells of its own
groups."""


def displaced_names() -> list[str]:
    """Return why each entry point of an installed package is left out that has a name of Trellis' own."""
    return [text for group, own in _OWN_NAMES.items() for text in displaced(group, own)]


def broken_models() -> dict[Key, dict[str, str]]:
    """Return, for each key that packages add models to, what is wrong with those that cannot be used."""
    return {
        ("churn", "model"): broken_kinds("churn", ChurnModel, CHURN_KINDS),
        ("attackers", "behaviour"): broken_kinds("attacks", AttackModel, OWN_ATTACKS),
        ("network", "latency"): broken_kinds("latency", LatencyModel, LATENCY_KINDS),
        ("network", "jitter"): broken_kinds("jitter", JitterModel, OWN_JITTERS),
        ("network", "loss"): broken_kinds("loss", LossModel, OWN_LOSSES),
    }
