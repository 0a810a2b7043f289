"""The claims about SWIM and Lifeguard.

Das, Gupta, Motivala, DSN 2002; Dadgar, Phillips, Currey, DSN workshops 2018. The numbers are those that
follow from the papers' analysis, and what models of the published rules gave.
"""

from __future__ import annotations

import math

from analysis.claims.bounds import about, at_most, between
from analysis.claims.claim import (
    Claim,
    Found,
    Number,
    Pair,
    Variants,
    each,
    is_static,
    of_pair,
    of_system,
    ratio,
)
from analysis.claims.paper_setting import Setting
from analysis.measures.variant_results import Estimate, VariantResult

_PRESET = "system.parameters.preset"
_CONFIRM = "system.parameters.confirm"
_PAPER: Setting = {"peers": 1000}


def _members(variants: Variants) -> list[VariantResult]:
    return of_system(variants, "swim")


def _at_rest(variants: Variants) -> list[VariantResult]:
    return [
        v for v in _members(variants) if is_static(v) and not v.get("network.loss") and not v.get("faults")
    ]


def _churning(variants: Variants) -> list[VariantResult]:
    return [v for v in _members(variants) if not is_static(v) and not v.get("network.loss")]


def _losing(variants: Variants) -> list[VariantResult]:
    return [
        v for v in _members(variants) if isinstance(v.get("network.loss"), float) and v.get("network.loss")
    ]


def _slowed(variants: Variants) -> list[VariantResult]:
    faulty = [v for v in _members(variants) if v.get("faults")]
    return [v for v in faulty if all(f.get("links") for f in v.get("faults"))]


def _off_formula(variants: Variants) -> Found:
    """Return by how many standard errors the share of failed probes is off (1-(1-l)^2)(1-(1-l)^4)^k."""
    found: dict[str, Estimate | None] = {}
    for variant in variants:
        failed, probes = variant.measures.get("probe_failures"), variant.measures.get("state.probes")
        loss, helpers = variant.get("network.loss"), variant.get("system.parameters.helpers")
        expected = (1 - (1 - loss) ** 2) * (1 - (1 - loss) ** 4) ** helpers
        found[variant.name] = None
        if failed and probes:
            error = math.sqrt(expected * (1 - expected) / (probes.mean * variant.get("peers") * failed.n))
            ci95 = None if failed.ci95 is None else failed.ci95 / error
            found[variant.name] = Estimate(abs(failed.mean - expected) / error, ci95, failed.n)
    return found


def _presets(variants: Variants) -> list[Pair]:
    """Return Lifeguard beside SWIM with failures that are not final."""
    by_preset = {v.get(_PRESET): v for v in variants if v.get(_CONFIRM) == "by-incarnation"}
    if not {"swim", "lifeguard"} <= by_preset.keys():
        return []
    return [Pair("lifeguard", by_preset["lifeguard"], by_preset["swim"])]


SWIM = (
    Claim(
        "SW1",
        "Without loss a member sends two messages a period, and nobody is suspected.",
        _at_rest,
        "static variants of SWIM without loss and faults",
        _PAPER,
        (
            Number("messages a member and period", about(2, "messages", 0.0005), each("messages_a_period")),
            Number("suspicions", at_most(0, "reports"), each("suspicions")),
        ),
    ),
    Claim(
        "SW2",
        "A crashed member is first probed after e / (e - 1) periods, and all hear of it after 5.7 more.",
        _churning,
        "variants of SWIM under churn without loss",
        {},
        (
            Number(
                "whole periods until the first probe",
                between(1.50, 1.66, "periods"),
                each("detection_periods"),
            ),
            Number(
                "periods from the first to all", between(5.4, 6.1, "periods"), each("dissemination_periods")
            ),
        ),
    ),
    Claim(
        "SW3",
        "With loss l and k helpers a probe fails with probability (1 - (1 - l)^2)(1 - (1 - l)^4)^k.",
        _losing,
        "variants of SWIM with loss",
        {},
        (Number("standard errors between both", at_most(3, ""), _off_formula),),
    ),
    Claim(
        "SW4",
        "With slow members, Lifeguard has at most a fiftieth of SWIM's false positives.",
        _slowed,
        "variants of SWIM with members whose links are slow",
        {"peers": 128},
        (
            Number(
                "false positives of Lifeguard to those of SWIM",
                at_most(0.02, "times"),
                of_pair(_presets, "false_positives", ratio),
            ),
        ),
    ),
)
