"""What the Vitis paper claims of followers on Twitter (section IV.E), where OPT joins the comparison."""

from __future__ import annotations

from analysis.claims.evidence import Claim, Evidence, Finding, Variants, is_static, lacks, of_system
from analysis.measures.variants import VariantResult

_TABLE = "system.parameters.routing_table"
_DEGREE = "system.parameters.degree"
_LARGE = 35


def _at(variants: Variants, system: str, degree: int) -> VariantResult | None:
    """The static variant of a system with this degree; 0 is OPT without a bound."""
    key = _DEGREE if system == "opt" else _TABLE
    found = [v for v in of_system(variants, system) if is_static(v) and v.get(key) == degree]
    full = [v for v in found if v.get("system.parameters.knowledge") == "full"]
    return next(iter(full or found), None)


def _three_systems(variants: Variants) -> Finding:
    found = {
        (system, degree): _at(variants, system, degree)
        for system in ("vitis", "rvr", "opt")
        for degree in (15, _LARGE)
    }
    if None in found.values():
        return lacks("static variants of Vitis, RVR and OPT at degrees 15 and 35")
    evidence = Evidence()
    values: dict[tuple[str, int, str], float] = {}
    for (system, degree), variant in found.items():
        assert variant is not None
        measures = ["hit_ratio", "hit_ratio_by_topic", "delay_hops"]
        for measure in measures if system == "opt" else [*measures, "overhead"]:
            label = f"{measure}, {system}, degree {degree}"
            values[system, degree, measure] = evidence.value(label, variant.measures.get(measure)) or 0.0
    for system in ("vitis", "rvr"):
        for degree in (15, _LARGE):
            hit = values[system, degree, "hit_ratio"]
            evidence.check(hit == 1.0, f"{system} delivers {hit:.2%} at degree {degree}")
    hit = values["opt", _LARGE, "hit_ratio"]
    evidence.check(hit < 1, "OPT delivers everything at degree 35")
    evidence.check(hit > values["opt", 15, "hit_ratio"], "OPT does not deliver more at degree 35 than at 15")
    for degree in (15, _LARGE):
        vitis, rvr = (values[system, degree, "overhead"] for system in ("vitis", "rvr"))
        evidence.check(vitis < rvr, f"Vitis has no less overhead than RVR at degree {degree}")
        for other in ("rvr", "opt"):
            faster = values["vitis", degree, "delay_hops"] < values[other, degree, "delay_hops"]
            evidence.check(faster, f"Vitis is not faster than {other.upper()} at degree {degree}")
    note = f"the shape holds; OPT delivers {hit:.0%} at degree 35, where the paper has at most 80 %"
    return evidence.finding(note if hit > 0.8 and not evidence.against else "")


def _degrees(variants: Variants) -> Finding:
    variant = _at(variants, "opt", 0)
    if variant is None:
        return lacks("static variant of OPT without a bound on its degree")
    evidence = Evidence()
    hit = evidence.value("hit ratio", variant.measures.get("hit_ratio"))
    evidence.value("mean", variant.measures.get("neighbours"))
    above = evidence.value("above 15", variant.measures.get("neighbours_above_15")) or 0.0
    far = evidence.value("above 200", variant.measures.get("neighbours_above_200")) or 0.0
    most = evidence.value("maximum", variant.measures.get("neighbours_max")) or 0.0
    evidence.check(hit in (None, 1.0), f"OPT delivers {hit or 0:.2%}")
    evidence.check(above > 2 / 3, f"{above:.0%} of the peers have more than 15 neighbours")
    evidence.check(far > 0, "no peer has more than 200 neighbours")
    evidence.check(most > 200, f"no peer has more than {most:.0f} neighbours")
    return evidence.finding()


TWITTER = (
    Claim(
        "V7",
        "On Twitter, OPT of bounded degree misses many; Vitis has less overhead than RVR and is the fastest.",
        "hit ratio 100 % for Vitis and RVR, at most 80 % for OPT at degree 35; overhead 30 % below RVR at 15 "
        "and 40 % at 35; 1.5 times as fast as RVR, 1.7 times as OPT",
        _three_systems,
    ),
    Claim(
        "V8",
        "Without a bound, OPT needs many links.",
        "more than two thirds of the peers above 15, 0.3 % above 200, at most 708",
        _degrees,
    ),
)
