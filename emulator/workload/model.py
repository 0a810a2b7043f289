"""Draws the subscriptions of a trial from the `workload:` part of an experiment."""

from __future__ import annotations

from random import Random

import numpy as np

from emulator.trace_error import TraceError
from emulator.workload.changes import replace_topics
from emulator.workload.followers import load_followers, sample
from emulator.workload.patterns import bucket_size, draw_pattern, pattern_problems, topics_in_bucket
from emulator.workload.ranges import range_problems
from emulator.workload.spec import BucketPattern, EdgeList, PowerLaw, RangePattern, TopicSource, WorkloadSpec
from emulator.workload.subscriptions import Subscriptions, held_throughout


def draw_subscriptions(
    source: TopicSource, peers: int, trial_end: float, random: np.random.Generator
) -> Subscriptions:
    """What each peer subscribes to from its first join on.

    From a follower graph peer p is a node and topic t is what peer t publishes. Raises TraceError for a
    bad graph or one with fewer nodes than peers.
    """
    if isinstance(source, BucketPattern):
        topic = draw_pattern(source, peers, random)
        peer = np.repeat(np.arange(peers, dtype=np.int32), source.per_peer)
        return held_throughout(source.topics, peer, topic.ravel(), trial_end)
    graph = load_followers(source.file)
    if graph.nodes < peers:
        raise TraceError(
            source.file, 0, f"has {graph.nodes} nodes, but the trial needs {peers}: lower `peers`"
        )
    part = sample(graph, peers, random)
    return held_throughout(peers, part.follower, part.followed, trial_end)


def change_subscriptions(
    held: Subscriptions, source: TopicSource, share: float, window: tuple[float, float], random: Random
) -> Subscriptions:
    """`held` with this share of each peer's topics changed, in `window` (s of trial time)."""
    if share == 0:
        return held
    followers = isinstance(source, EdgeList)
    bucket = held.topics if isinstance(source, EdgeList) else bucket_size(source)
    return replace_topics(held, share, bucket, followers, window, random)


def workload_problems(workload: WorkloadSpec) -> list[tuple[str, str]]:
    """Key and problem, for each combination that cannot be drawn. Reads no file."""
    source = workload.subscriptions
    if workload.lookups is not None and source is not None:
        text = "is there together with workload.subscriptions. Keep one of them"
        return [("workload.lookups", text)]
    if source is None:
        return _without_subscriptions(workload)
    if isinstance(source, EdgeList):
        return []
    if isinstance(source, RangePattern):
        return _range_problems(source, workload)
    problems = [(f"workload.subscriptions.{key}", problem) for key, problem in pattern_problems(source)]
    if not problems and workload.changes.share > 0:
        each, size = topics_in_bucket(source), bucket_size(source)
        if 2 * each > size:
            problem = f"a peer has {each} of the {size} topics of a bucket, so too few are left to change to"
            problems.append(("workload.changes.share", problem))
    return problems


def _without_subscriptions(workload: WorkloadSpec) -> list[tuple[str, str]]:
    problems = []
    if workload.lookups is None:
        problems.append(("workload", "has neither subscriptions nor lookups. Add one of them"))
    if workload.publications is not None:
        problems.append(("workload.publications", "needs workload.subscriptions. Add them, or remove it"))
    if workload.changes.share > 0:
        problems.append(("workload.changes.share", "there are no subscriptions to change. Remove it"))
    return problems


def _range_problems(source: RangePattern, workload: WorkloadSpec) -> list[tuple[str, str]]:
    problems = [(f"workload.subscriptions.{key}", problem) for key, problem in range_problems(source)]
    if workload.changes.share > 0:
        problems.append(("workload.changes.share", "ranges are not changed, only topics are. Remove it"))
    if workload.publications is not None and isinstance(workload.publications.rates, PowerLaw):
        text = "only topics differ in rate, and these subscriptions are ranges. Remove it"
        problems.append(("workload.publications.rates", text))
    return problems
