"""Reads an experiment file and checks it as a whole before anything starts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from emulator.contract.mistakes import code_of
from emulator.contract.packages import BadPackage
from emulator.experiment.file.document import (
    WRITTEN,
    Document,
    ExperimentError,
    Key,
    Problem,
    dotted,
    plain,
    read_document,
)
from emulator.experiment.file.explain import Finding, validate
from emulator.experiment.file.input_paths import named_files, resolve_files
from emulator.experiment.file.invariants_spec import Held
from emulator.experiment.file.keys import fill_kinds, suggestion
from emulator.experiment.file.known_claims import known_claims
from emulator.experiment.file.meant import meant_system
from emulator.experiment.file.overrides import apply_options
from emulator.experiment.file.package_kinds import broken_models
from emulator.experiment.file.rate_files import graph_problems, with_rates_read, with_varied_rates
from emulator.experiment.file.size_limits import parameter_problems
from emulator.experiment.file.sound_parts import without_parts
from emulator.experiment.file.spec import ExperimentSpec, Kubernetes, TrialSpec, Virtual
from emulator.experiment.file.variants import (
    change,
    chosen_values,
    combinations,
    complete_parameters,
    keys_of,
    take_read_rates,
    variant_values,
    varied_keys,
)
from emulator.experiment.file.vary import usable_vary
from emulator.network.model import JitterModel
from emulator.workload.spec import broken_parts

if TYPE_CHECKING:
    from emulator.experiment.file.input_contents import Contents

_MOST_COMPARED = 500
"""The most values of a key that are compared with each other."""
_ENOUGH = 100
"""The number of problems of variants after which no further variant is checked."""
S = TypeVar("S", bound=TrialSpec)


def load(
    path: Path,
    options: Sequence[str] = (),
    check_files: bool = True,
    check_systems: bool = True,
    is_written: bool = False,
) -> ExperimentSpec:
    """Read an experiment file, with `key=value` options over it.

    Files that it names are found relative to it (those of options relative to the current folder),
    with `${NAME}` replaced from the environment; `check_files=False` lets them be missing, for a run
    directory whose plans are drawn. `check_systems=False` lets systems be missing that no package offers
    here, for a run that is analysed elsewhere. `is_written` lets the file be larger than one of users may be,
    because Trellis wrote it; so does `check_files=False`. Raises ExperimentError with every problem that
    there is.
    """
    document = read_document(path, room=WRITTEN if is_written or not check_files else 1)
    problems = document.problems
    of_text = len(problems)
    fill_kinds(ExperimentSpec, document.values)  # so that options and `vary` find keys below a short form
    problems += apply_options(document, options)
    missing = resolve_files(document, path.parent.resolve(), check_files)
    problems += missing
    vary, found = usable_vary(document)
    problems += found
    values = document.values
    for entry, choices in list(vary.items()):
        try:
            for key, value in chosen_values({entry: choices}, (0,)).items():
                change(values if not _has(values, key) else plain(values), key, value)
        except ValueError as error:
            problems.append(document.problem(("vary", entry), f"cannot be varied: {error}"))
            del vary[entry]
    fill_kinds(ExperimentSpec, values)
    whole = plain(values) if values.get("rates_read") else values
    take_read_rates(whole, whole.get("rates_read"))
    spec, findings = _with_broken_packages(values, *validate(ExperimentSpec, whole))
    told = [document.problem(key, text) for key, text in findings]
    problems += told
    if spec is not None and check_files:
        problems += [document.problem(key, text) for key, text in _check_whole(spec)]
    problems += _variant_problems(document, vary, check_files, check_systems, [*missing, *told])
    problems += _same_values(document, vary) if check_files and not problems else ()
    if problems or spec is None:
        replaced = {dotted(key) for key in document.replaced}
        others = [problem for problem in problems[of_text:] if problem.key not in replaced]
        raise ExperimentError(problems[:of_text] + others)
    spec = with_varied_rates(spec, values)
    # Defaults may depend on the parameters that are varied: then each variant has its own.
    if not any(key.split(".")[0] == "system" for key in varied_keys(vary)):
        parameters = complete_parameters(values["system"])
        spec = spec.model_copy(update={"system": spec.system.model_copy(update={"parameters": parameters})})
    return with_rates_read(spec)


def _check_whole(spec: ExperimentSpec) -> Iterator[Finding]:
    """Yield what is wrong with the experiment as a whole, whatever its variants are."""
    known = known_claims() if spec.claims else ()
    for index, claim in enumerate(spec.claims):
        if claim not in known:
            text = f'is "{claim}", which is no known claim. {suggestion(claim, known)}'
            yield ("claims", index), text
        elif claim in spec.claims[:index]:
            yield ("claims", index), f'is "{claim}", which is there already. Remove it'
    if spec.seed + spec.repeat > 2**63:
        yield ("repeat",), f"is {spec.repeat}, but the last seed has to be below {2**63}. Lower seed"


def _has(values: Any, key: str) -> bool:
    for part in key.split("."):
        if not isinstance(values, dict) or part not in values:
            return False
        values = values[part]
    return True


def _variant_problems(
    document: Document,
    vary: dict[str, list[Any]],
    read_files: bool,
    check_systems: bool,
    before: Sequence[Problem],
) -> list[Problem]:
    """Return what is wrong with the variants, each problem once and where it was written.

    Of a key that one of the problems `before` is of, it was told already."""
    contents = None
    if read_files and any(named_files(document.values)):
        from emulator.experiment.file.input_contents import Contents

        contents = Contents()
    found: dict[Finding, list[tuple[int, ...]]] = {}
    every = list(combinations(vary))
    for which in every:
        if len(found) > _ENOUGH:
            break
        choice = chosen_values(vary, which)
        for finding in _check_variant(variant_values(document.values, choice), contents, check_systems):
            found.setdefault(finding, []).append(which)
    problems = []
    for (key, text), those in found.items():
        places = {place for which in those for place in _varied_places(vary, which, key)}
        if places:
            problems += [document.problem(place, text) for place in places]
        elif len(those) == len(every):
            problems.append(document.problem(key, text))
        else:
            variant = ", ".join(f"{name}={value}" for name, value in chosen_values(vary, those[0]).items())
            problems.append(document.problem(key, f"{text} (in the variant {variant})"))
    told = {(problem.place, problem.key) for problem in before}
    return [problem for problem in problems if (problem.place, problem.key) not in told]


def _same_values(document: Document, vary: dict[str, list[Any]]) -> Iterator[Problem]:
    """Yield the varied values that mean the same as an earlier one, such as 2 s and 2000 ms."""
    for entry, choices in vary.items():
        seen: dict[str, int] = {}
        for i in range(len(choices) if len(choices) <= _MOST_COMPARED else 0):
            trial, _ = validate(
                TrialSpec, variant_values(document.values, chosen_values({entry: choices}, (i,)))
            )
            first = i if trial is None else seen.setdefault(trial.model_dump_json(), i)
            if first != i:
                yield document.problem(("vary", entry, i), f"means the same as value {first + 1}. Keep one")


def _varied_places(vary: dict[str, list[Any]], which: tuple[int, ...], key: Key) -> Iterator[Key]:
    """Yield where in `vary` a variant has its value at `key`, if the key is varied."""
    for (entry, _), i in zip(vary.items(), which, strict=True):
        keys = keys_of(entry)
        for position, varied in enumerate(keys):
            parts = tuple(varied.split("."))
            if key[: len(parts)] == parts:
                yield ("vary", entry, i, *((position,) if len(keys) > 1 else ()), *key[len(parts) :])


def _with_broken_packages(
    values: dict[str, Any], spec: S | None, findings: list[Finding]
) -> tuple[S | None, list[Finding]]:
    """Return the findings; where a kind belongs to an unusable package, the reason replaces them."""
    workload = values.get("workload")
    reasons: dict[Key, str] = {}
    for named, reason in broken_parts(workload) if isinstance(workload, dict) else ():
        reasons["workload", named] = reason
    for key, broken in broken_models().items():
        part, name = key
        above = values.get(str(part))
        here = above.get(name) if isinstance(above, dict) else None
        kind = here.get("kind") if isinstance(here, dict) else None
        if isinstance(kind, str) and kind in broken:
            reasons[key] = f'"kind" is "{kind}", but {broken[kind]}'
    for key, reason in reasons.items():
        findings = [*(finding for finding in findings if finding[0] != key), (key, reason)]
    return spec, findings


def _check_variant(values: dict[str, Any], contents: Contents | None, check_systems: bool) -> list[Finding]:
    from emulator.contract.registry import SYSTEMS

    spec, findings = _with_broken_packages(values, *validate(TrialSpec, values))
    if spec is not None and not check_systems and spec.system.name not in SYSTEMS:
        return findings
    if spec is not None and contents is not None:
        findings = [*findings, *graph_problems(spec, values)]
    findings = [*findings, *_check_system(values.get("system"))]
    broken = {key[0] for key, _ in findings if key}
    if spec is None:
        spec = without_parts(values, broken)
    if spec is not None:
        findings += _check_combination(spec, broken)
        if contents:
            findings += (finding for finding in contents.problems(spec) if finding[0][0] not in broken)
    return findings


def _check_system(system: Any) -> list[Finding]:
    from emulator.contract.registry import SYSTEMS

    if not isinstance(system, dict) or not isinstance(name := system.get("name"), str):
        return []
    if name not in SYSTEMS:
        return [(("system", "name"), f'is "{name}". {meant_system(name)}')]
    try:
        model = SYSTEMS[name].parameters
    except BadPackage as error:
        return [(("system", "name"), f'is "{name}", but {error}')]
    parameters = system.get("parameters", {})
    if not isinstance(parameters, dict):
        return []
    _, findings = validate(model, parameters)
    findings += parameter_problems(parameters)
    return [(("system", "parameters", *key), _of_parameter(text, name)) for key, text in findings]


def _of_parameter(text: str, system: str) -> str:
    """Return what is told of a parameter; if no name is near that of an unknown one, what to do instead."""
    told = text.replace("is not a known key", f"is not a parameter of {system}")
    if told == text or "Known: " not in told:
        return told
    return f"{told}. Name one of these or remove it; `trellis systems {system}` explains them"


def _check_combination(spec: TrialSpec, broken: AbstractSet[str | int] = frozenset()) -> list[Finding]:
    """Return the combinations that cannot be run, though each key allows its value alone.

    `broken` are the parts of the experiment that are wrong by themselves: what depends on them is not told.
    """
    from emulator.experiment.file.cross_checks import check_plan_inputs

    # Missing files were told of when their names were completed.
    found = check_plan_inputs(spec, files=False, has_network="network" not in broken)
    findings: list[Finding] = [(_parts(key), text) for key, text in found]
    findings += _check_hosts(spec)
    if not broken & {"system", "workload"}:
        findings += _check_service(spec)
    if not broken & {"system", "attackers"}:
        findings += _check_attackers(spec)
    if not broken & {"system", "invariants"}:
        findings += _check_invariants(spec, "faults" not in broken)
    findings = [finding for finding in findings if finding[0][0] not in broken]
    return findings if findings or broken else _check_fit(spec)


def _check_hosts(spec: TrialSpec) -> list[Finding]:
    """Return a problem if the peers and the way of emulation need another number of hosts."""
    runtime, findings = spec.runtime, list[Finding]()
    if isinstance(runtime, Virtual):
        if spec.network.enforce == "netem":
            text = 'is "netem", which needs pods: set runtime.kind to kubernetes, with one host a peer'
            findings.append((("network", "enforce"), text))
        return findings
    if runtime.hosts > spec.peers:
        text = f"is {runtime.hosts}, but there are only {spec.peers} peers. Use at most one host a peer"
        findings.append((("runtime", "hosts"), text))
    enforce = spec.network.enforce
    if isinstance(runtime, Kubernetes) and spec.network.latency.has_directions and enforce != "delay-line":
        text = f'is "{enforce}", but only the delay line can delay each direction otherwise'
        findings.append((("network", "enforce"), f"{text}: set it to delay-line, or asymmetry to mean"))
    if isinstance(runtime, Kubernetes) and spec.network.later and enforce != "delay-line":
        text = f'is "{enforce}", but only the delay line can delay otherwise from a time on (network.later)'
        findings.append((("network", "enforce"), f"{text}: set it to delay-line"))
    jitter = spec.network.jitter
    early = isinstance(jitter, JitterModel) and jitter.is_ever_early
    if isinstance(runtime, Kubernetes) and early and enforce != "delay-line":
        text = f'is "{enforce}", but only the delay line can make messages early, as this jitter does'
        findings.append((("network", "enforce"), f"{text}: set it to delay-line, or jitter to half-normal"))
    alone = isinstance(runtime, Kubernetes) and runtime.hosts == spec.peers
    if spec.network.enforce == "netem" and not alone:
        text = (
            'is "netem", which cannot tell the peers of one host apart: '
            f"set runtime.kind to kubernetes and runtime.hosts to {spec.peers}"
        )
        findings.append((("network", "enforce"), text))
    if isinstance(runtime, Kubernetes) and runtime.churn == "pods" and not alone:
        text = f'is "pods", which takes all peers of a pod away: set runtime.hosts to {spec.peers}'
        findings.append((("runtime", "churn"), text))
    return findings


def _check_attackers(spec: TrialSpec) -> list[Finding]:
    """Return a problem for what attackers cannot do to this system: an attack on the protocol of others, or
    identifiers of their choice where peers take none from Trellis."""
    from emulator.contract.registry import SYSTEMS

    system, attackers = SYSTEMS[spec.system.name], spec.attackers
    if attackers is None:
        return []
    findings: list[Finding] = []
    can = attackers.behaviour.systems
    if can and system.name not in can:
        text = f"does nothing to {system.name}: it is for {', '.join(can)}. Take another kind"
        findings.append((("attackers", "behaviour", "kind"), text))
    if attackers.near is not None and not system.takes_identifiers:
        text = f"the peers of {system.name} take no identifiers that attackers could choose. Leave it out"
        findings.append((("attackers", "near"), text))
    return findings


def _check_invariants(spec: TrialSpec, has_faults: bool) -> list[Finding]:
    """Return a problem for each invariant that the system does not have, and for parts that no trial has.

    Without `has_faults` the faults of the spec are wrong, and parts that name one are not looked at.
    """
    from emulator.contract.registry import SYSTEMS

    if spec.invariants is None:
        return []
    if not isinstance(spec.runtime, Virtual):
        text = "only the virtual clock can look at all peers at one instant: leave it out, or the runtime"
        return [(("invariants",), text)]
    system = SYSTEMS[spec.system.name]
    known = [invariant.name for invariant in system.invariants]
    if not known:
        return [(("invariants",), f"{system.name} declares no invariants. Leave it out")]
    findings: list[Finding] = []
    for index, text in enumerate(spec.invariants.hold or ()):
        held, key = Held.parse(text), ("invariants", "hold", index)
        if held.name not in known:
            why = f'is "{text}", but {system.name} has no such invariant. {suggestion(held.name, known)}'
            findings.append((key, why))
        elif held.part is not None and (has_faults or not held.part.fault):
            try:
                held.part.window(spec.phases.measured, spec.windows)
            except ValueError as error:
                findings.append((key, f'is "{text}", but {error}'))
    return findings


def _check_service(spec: TrialSpec) -> list[Finding]:
    """Return a problem if the system cannot take what the workload asks for."""
    from emulator.contract.registry import SYSTEMS, WORKLOADS

    system, chosen = SYSTEMS[spec.system.name], spec.workload.chosen()
    if len(chosen) != 1:
        return []  # the checks of the plan's inputs tell of this
    (kind,) = chosen
    if system.serves == kind.name:
        parameters = system.parameters.model_validate(spec.system.parameters)
        with code_of(kind, "could not check its parameters"):
            found = kind.misfits(getattr(spec.workload, kind.key), system, parameters)
            return [(("workload", *_parts(key)), text) for key, text in found]
    here: Key = ("system", "name")
    try:
        served = WORKLOADS[system.serves].title
    except (KeyError, BadPackage) as error:
        why = error if isinstance(error, BadPackage) else suggestion(system.serves, WORKLOADS)
        return [(here, f'{system.name} serves "{system.serves}", which is no kind of workload here. {why}')]
    fitting = ", ".join(other.name for other in SYSTEMS.usable() if other.serves == kind.name)
    mend = f"choose one of {fitting}" if fitting else "no system takes them"
    return [(here, f"{system.name} takes {served}; this workload has {kind.title}: {mend}")]


def _check_fit(spec: TrialSpec) -> list[Finding]:
    """Return what does not fit between the system's parameters, the peers and their latencies."""
    from emulator.experiment.file.system_fit import find_misfits

    return [(("system", "parameters", *_parts(key)), text) for key, text in find_misfits(spec)]


def _parts(key: str) -> Key:
    return tuple(int(part) if part.isdigit() else part for part in key.split("."))
