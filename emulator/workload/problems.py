"""What cannot be drawn of the `workload:` part of an experiment, without reading a file."""

from __future__ import annotations

from emulator.workload.source import ContentSource
from emulator.workload.spec import Popularity, PowerLaw, WorkloadSpec


def workload_problems(workload: WorkloadSpec) -> list[tuple[str, str]]:
    """Key and problem, for each combination that cannot be drawn. Reads no file."""
    source = workload.subscriptions
    if workload.lookups is not None and source is not None:
        text = "is there together with workload.subscriptions. Keep one of them"
        return [("workload.lookups", text)]
    if source is None:
        return _without_subscriptions(workload)
    problems = _role_problems(workload)
    of_source = [(f"workload.subscriptions.{key}", problem) for key, problem in source.problems()]
    if isinstance(source, ContentSource):
        return problems + of_source + _content_problems(workload)
    each = source.topics_in_bucket()
    if not of_source and workload.changes.share > 0 and each:
        size = source.bucket(getattr(source, "topics", 0))
        if 2 * each > size:
            problem = f"a peer has {each} of the {size} topics of a bucket, so too few are left to change to"
            problems.append(("workload.changes.share", problem))
    return of_source + problems


def _role_problems(workload: WorkloadSpec) -> list[tuple[str, str]]:
    publications, roles = workload.publications, workload.roles
    if roles.publisher and publications is not None and publications.publisher == "subscriber":
        text = 'is "subscriber", but the publishers of workload.roles do not subscribe. Set it to any'
        return [("workload.publications.publisher", text)]
    return []


def _without_subscriptions(workload: WorkloadSpec) -> list[tuple[str, str]]:
    problems = []
    if workload.lookups is None:
        problems.append(("workload", "has neither subscriptions nor lookups. Add one of them"))
    if workload.publications is not None:
        problems.append(("workload.publications", "needs workload.subscriptions. Add them, or remove it"))
    if workload.changes.share > 0:
        problems.append(("workload.changes.share", "there are no subscriptions to change. Remove it"))
    if any(workload.roles.numbers(2**20).values()):
        problems.append(("workload.roles", "needs workload.subscriptions. Add them, or remove it"))
    if workload.clients is not None:
        problems.append(("workload.clients", "needs workload.subscriptions. Add them, or remove it"))
    return problems


def _content_problems(workload: WorkloadSpec) -> list[tuple[str, str]]:
    problems = []
    if workload.changes.share > 0:
        problems.append(("workload.changes.share", "ranges are not changed, only topics are. Remove it"))
    if workload.publications is not None and isinstance(workload.publications.rates, PowerLaw | Popularity):
        text = "only topics differ in rate, and these subscriptions are ranges. Remove it"
        problems.append(("workload.publications.rates", text))
    return problems
