"""Claims about GossipSub: what models of the specifications' rules say of 1,000 peers, and three attacks.

The evaluation report (Vyzovitis et al., 2020) has curves of a test bed, and hardly any numbers that another
network could be held against. So the numbers of G1 to G6 are of our own models of the rules. G7 to G9 are the
directions that the report states of three attacks: v1.1 delivers every message, v1.0 loses some and is later.
The report's text was not at hand: the directions are from memory, and the numbers of peers are those with
which others repeated it (the test plan of leobago/BSC-ETH2: 100 publishers, 900 others, and attackers).
"""

from __future__ import annotations

from collections.abc import Callable

from analysis.claims.bounds import above, at_least, at_most, below, between
from analysis.claims.claim import (
    Claim,
    Find,
    Found,
    Number,
    OfSome,
    Pair,
    Variants,
    each,
    members,
    of_pair,
    of_system,
    ratio,
)
from analysis.claims.paper_setting import Setting
from analysis.measures.variant_results import Estimate, VariantResult, estimate

_VERSION = "system.parameters.version"
_LOW = "system.parameters.degree_low"
_HIGH = "system.parameters.degree_high"
_MODEL: Setting = {"peers": 1000}
_FOUR_SYBILS: Setting = {"peers": 5000, "attackers.number": 4000}
"""The peers of the report where four of five are Sybils."""
_RATE = "50 Mbit/s"
"""The rate of the links that the model of IDONTWANT has."""
Chosen = Callable[[VariantResult], bool]


def _all(variants: Variants) -> list[VariantResult]:
    return of_system(variants, "gossipsub")


def _is_quiet(variant: VariantResult) -> bool:
    """Return whether there are no attackers, no loss and no links of a bandwidth."""
    return not any(variant.get(key) for key in ("attackers", "network.loss", "network.bandwidth"))


def _is_of(version: str) -> Chosen:
    return lambda variant: variant.get(_VERSION) == version


def _attacked(kind: str, chosen: Chosen) -> Callable[[Variants], list[VariantResult]]:
    """Return a function that selects the chosen variants under this attack."""

    def among(variants: Variants) -> list[VariantResult]:
        attacked = [v for v in _all(variants) if v.get("attackers.behaviour.kind") == kind]
        return [v for v in attacked if chosen(v)]

    return among


def _has_target(variant: VariantResult) -> bool:
    return variant.get("attackers.behaviour.target") is not None


def _has_censor(variant: VariantResult) -> bool:
    """Return whether attackers withhold the messages of one publisher alone."""
    return variant.get("attackers.behaviour.publisher") is not None


def _attacks_at_once(variant: VariantResult) -> bool:
    """Return whether attackers attack from the beginning."""
    return variant.seconds("attackers.at") == 0


def _surprise(name: str, statement: str, chosen: Chosen, needs: str, setting: Setting) -> Claim:
    """Return a claim that v1.1 delivers all under an attack of Sybils, where v1.0 loses messages and time."""
    among = _attacked("mesh-sybil", chosen)

    def pairs(variants: Variants) -> list[Pair]:
        attacked = among(variants)
        return [
            Pair(f"{old.name} to {new.name}", old, new)
            for old in attacked
            for new in attacked
            if _is_of("1.0")(old) and _is_of("1.1")(new)
        ]

    return Claim(
        name,
        statement,
        among,
        needs,
        setting,
        (
            Number("hit ratio with v1.1", at_least(1, "share"), _where(_is_of("1.1"), each("hit_ratio"))),
            Number(
                "hit ratio with v1.0 to that with v1.1",
                below(1, "times"),
                of_pair(pairs, "hit_ratio", ratio),
            ),
            Number(
                "mean delay with v1.0 to that with v1.1",
                above(1, "times"),
                of_pair(pairs, "delay_ms", ratio),
            ),
        ),
    )


def _where(chosen: Chosen, find: Find) -> Find:
    """Return a function that finds the same, but only in the chosen variants."""
    return OfSome(lambda variants: [v for v in variants if chosen(v)], find)


def _worst(measure: str, room: Callable[[float, VariantResult], float]) -> Find:
    """Return a function that finds the least room of a measure to a bound of its variant, over all seeds."""

    def find(variants: Variants) -> Found:
        found: dict[str, Estimate | None] = {}
        for variant in variants:
            values = [trial.get(measure) for trial in variant.trials.values()]
            rooms = [room(value, variant) for value in values if value is not None]
            found[variant.name] = estimate([min(rooms)]) if rooms and None not in values else None
        return found

    return find


def _quiet(variants: Variants) -> list[VariantResult]:
    return [v for v in _all(variants) if _is_quiet(v)]


def _in_basic_mesh(variants: Variants) -> list[VariantResult]:
    return [
        v
        for v in _quiet(variants)
        if _is_of("1.0")(v)
        and v.get("system.parameters.degree") == 6
        and v.get("network.latency.kind") == "constant"
    ]


def _large(variants: Variants) -> list[VariantResult]:
    return [v for v in _all(variants) if v.get("workload.publications.payload_bytes") == 128_000]


def _pairs(variants: Variants) -> list[Pair]:
    """Return the variants of v1.2 whose copies wait for the link, each beside v1.1 over the same links.

    The model has links of 50 Mbit/s alone. Over slower ones more copies wait, so more of them are saved.
    """
    rate = "network.bandwidth.up"
    large = [v for v in _large(variants) if v.get(rate) == _RATE]
    return [
        Pair(f"{ours.name} to {theirs.name}", ours, theirs)
        for ours in large
        for theirs in large
        if _is_of("1.2")(ours)
        and ours.get("system.parameters.uplink") not in (None, "0 bit/s")
        and _is_of("1.1")(theirs)
    ]


def _lossy(variants: Variants) -> list[VariantResult]:
    return [v for v in _all(variants) if v.get("network.loss") == 0.2]


def _gossips(variant: VariantResult) -> bool:
    return bool(variant.get("system.parameters.degree_lazy"))


GOSSIPSUB = (
    Claim(
        "G1",
        "Meshes stay within their bounds, every link has two ends unless a GRAFT or PRUNE is under way, and "
        "a peer gets as many copies of a message as its mesh has members, less one.",
        _quiet,
        "variants of GossipSub without attackers and loss",
        _MODEL,
        (
            Number("links with one end for more than 2 s", at_most(0, "links"), each("mesh_one_end_lasting")),
            Number(
                "members of the smallest mesh with a free neighbour, beyond D_low",
                at_least(0, "peers"),
                _worst("mesh_degree_min_free", lambda size, of: size - float(of.get(_LOW))),
            ),
            Number(
                "members that the largest mesh has less than D_high",
                at_least(0, "peers"),
                _worst("mesh_degree_max_settled", lambda size, of: float(of.get(_HIGH)) - size),
            ),
            Number(
                "copies beyond the degree less one",
                between(-0.01, 0.1, "copies"),
                each("mesh_copies_over_degree"),
            ),
        ),
    ),
    Claim(
        "G2",
        "A message takes a few one-way delays.",
        _in_basic_mesh,
        "variants of GossipSub v1.0 with D = 6 and constant delays, without attackers and loss",
        _MODEL,
        (
            Number(
                "mean delay, constant one-way delays of 50 ms",
                between(3.5, 3.8, "one-way delays"),
                each("delay_ms", 50.0),
            ),
        ),
    ),
    Claim(
        "G3",
        "A peer gets as many copies of a large message as its mesh has members, less one, and IDONTWANT "
        "saves some of them.",
        lambda variants: members(_pairs(variants)),
        f"variants of v1.1, and of v1.2 with `uplink`, with messages of 128 kB over links of {_RATE}",
        _MODEL,
        (
            Number(
                "copies with v1.2 to those with v1.1",
                between(0.65, 0.8, "times"),
                of_pair(_pairs, "copies_per_delivery", ratio),
            ),
            Number(
                "copies beyond the degree less one with v1.1",
                between(-0.01, 0.25, "copies"),
                _where(_is_of("1.1"), each("mesh_copies_over_degree")),
            ),
        ),
    ),
    Claim(
        "G4",
        "Gossip delivers what a thin mesh loses.",
        _lossy,
        "variants of GossipSub with a loss of 20 %",
        _MODEL,
        (
            Number("hit ratio with gossip", at_least(0.9995, "share"), _where(_gossips, each("hit_ratio"))),
            Number(
                "hit ratio without gossip",
                at_most(0.995, "share"),
                _where(lambda v: not _gossips(v), each("hit_ratio")),
            ),
        ),
    ),
    Claim(
        "G5",
        "Scores take Sybils that forward nothing out of the meshes.",
        _attacked("black-hole", lambda v: not _has_target(v)),
        "variants of GossipSub with black holes",
        _MODEL,
        (
            *(
                Number(
                    f"share of Sybils in meshes with v1.1 after {after} s",
                    at_most(most, "share"),
                    _where(_is_of("1.1"), each(f"mesh_attackers_{after}_s")),
                )
                for after, most in ((90, 0.2), (150, 0.1), (210, 0.05))
            ),
            Number(
                "hit ratio with v1.1", at_least(0.9999, "share"), _where(_is_of("1.1"), each("hit_ratio"))
            ),
        ),
    ),
    Claim(
        "G6",
        "A target that a hundred attackers graft loses all honest members of its mesh with v1.0, and keeps "
        "most with v1.1.",
        _attacked("mesh-sybil", lambda v: _has_target(v) and not _has_censor(v)),
        "variants of GossipSub with Sybils that have a target and are no censors",
        _MODEL,
        (
            Number(
                "honest members with v1.0",
                at_most(0, "peers"),
                _where(_is_of("1.0"), each("mesh_honest_target")),
            ),
            Number(
                "honest members with v1.1",
                at_least(6, "peers"),
                _where(_is_of("1.1"), each("mesh_honest_target")),
            ),
        ),
    ),
    _surprise(
        "G7",
        "The messages of a censored publisher reach all with v1.1, and are lost and late with v1.0.",
        _has_censor,
        "variants of GossipSub with Sybils that censor a publisher",
        {"peers": 3000, "attackers.number": 2000},
    ),
    _surprise(
        "G8",
        "With Sybils that attack from the beginning v1.1 delivers all, and v1.0 loses messages and is later.",
        lambda v: not _has_target(v) and _attacks_at_once(v),
        "variants of GossipSub with Sybils that attack from the beginning",
        _FOUR_SYBILS,
    ),
    _surprise(
        "G9",
        "With Sybils that behave well at first v1.1 delivers all, and v1.0 loses messages and is later.",
        lambda v: not _has_target(v) and not _attacks_at_once(v),
        "variants of GossipSub with Sybils that attack later",
        _FOUR_SYBILS,
    ),
)
