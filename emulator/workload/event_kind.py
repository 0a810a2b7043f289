"""The two kinds of workload in which peers subscribe and publish: by topic, and by content."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from emulator.contract.mistakes import code_of
from emulator.contract.protocol import PubSub
from emulator.contract.system import System
from emulator.contract.workload import (
    Asked,
    Drawing,
    Held,
    PlanTable,
    Problems,
    Row,
    Trial,
    WorkloadKind,
)
from emulator.files.trace_error import TraceError
from emulator.workload.content_patterns import RangePattern
from emulator.workload.event_operations import Publish, Subscription, publications, subscriptions
from emulator.workload.problems import participants_of
from emulator.workload.size import MOST_ROWS, MOST_SUBSCRIPTIONS, MOST_VALUES, more
from emulator.workload.spec import Popularity, PowerLaw, Publications
from emulator.workload.subscription_sources import ContentSource, Source, TopicSource


class EventsKind(WorkloadKind):
    """A kind of workload in which events reach the peers that are interested in them."""

    protocol = PubSub
    operations = (Publish,)
    holding = Subscription
    shared = "publications", "changes", "roles", "clients"
    words = "published", "delivered"
    most_subscriptions: int
    """The largest number of subscriptions of all peers and clients."""

    @property
    def key(self) -> str:
        """The key that both kinds share; the kind of subscriptions below it says which of them is meant."""
        return "subscriptions"

    def tables(self) -> Mapping[str, PlanTable]:
        from emulator.workload.table_schemas import PUBLICATIONS, SUBSCRIPTIONS

        return {
            "subscriptions": PlanTable(SUBSCRIPTIONS, asks=False, in_every_plan=True),
            "publications": PlanTable(PUBLICATIONS, peer="publisher", in_every_plan=True),
        }

    def asked(self, tables: Mapping[str, Sequence[Row]]) -> Iterable[Asked]:
        return publications(tables["publications"])

    def held(self, tables: Mapping[str, Sequence[Row]]) -> Iterable[Held]:
        return subscriptions(tables["subscriptions"])

    def problems(self, parameters: Any, trial: Trial) -> Problems:
        with code_of(parameters, "could not check its parameters"):
            found = [(f"subscriptions.{key}", problem) for key, problem in parameters.problems()]
        given = trial.workload.roles.numbers(trial.peers)
        if trial.workload.publications is not None:
            text = _unfit_publisher(trial.workload.publications.publisher, given, trial.peers)
            found += [("publications.publisher", text)] if text else []
        if given["publisher"] + given["relay"] == trial.peers:
            found.append(("roles", "leave no peer that subscribes. Lower publisher or relay"))
        participants, each = participants_of(trial), getattr(parameters, "per_peer", 0)
        with code_of(parameters, "could not check its parameters"):
            misfits = parameters.misfits(participants)
            found += [(f"subscriptions.{key}", problem) for key, problem in misfits]
        asked = participants * each if isinstance(each, (int, float)) else 0
        if participants <= MOST_ROWS and asked > self.most_subscriptions:
            text = more("subscriptions", asked, self.most_subscriptions, "Lower it")
            found.append(("subscriptions.per_peer", text))
        return found

    def problems_of_files(self, parameters: Source, trial: Trial) -> Problems:
        with code_of(parameters, "could not check its files", TraceError):
            found = parameters.problems_of_files(participants_of(trial))
            return [(f"subscriptions.{key}", problem) for key, problem in found]


def _unfit_publisher(publisher: str | int, roles: Mapping[str, int], peers: int) -> str:
    """Return why these peers cannot publish, or ""."""
    if isinstance(publisher, int):
        if publisher >= peers:
            return f"is {publisher}, but the peers are 0 to {peers - 1}"
        if any(roles.values()):
            return f"is {publisher}, but workload.roles are drawn, and that peer may get any. Leave them out"
    elif publisher == "subscriber" and roles["publisher"]:
        return 'is "subscriber", but the publishers of workload.roles do not subscribe. Set it to any'
    return ""


class TopicsKind(EventsKind):
    """The kind of workload whose subscriptions are to topics."""

    name = "topics"
    title = "subscriptions by topic"
    text = "Peers subscribe to topics and publish events on them."
    analysis = "analysis.workloads.topics:TOPICS"
    parameters = TopicSource
    most_subscriptions = MOST_SUBSCRIPTIONS

    def draw(self, parameters: TopicSource, trial: Drawing) -> Mapping[str, Mapping[str, Any]]:
        from emulator.workload.topics import draw_topics

        return draw_topics(parameters, trial.workload.publications or Publications(events=0), trial)

    def topics(self, parameters: TopicSource, peers: int) -> int | None:
        known: int | None = getattr(parameters, "topics", None)
        return peers if parameters.topics_are_peers else known

    def problems(self, parameters: Any, trial: Trial) -> Problems:
        found, each = super().problems(parameters, trial), parameters.topics_in_bucket()
        if trial.workload.changes.share > 0 and each and not parameters.problems():
            size = parameters.bucket(getattr(parameters, "topics", 0))
            if 2 * each > size:
                problem = (
                    f"a peer has {each} of the {size} topics of a bucket, so too few are left to change to"
                )
                found.append(("changes.share", problem))
        settle = trial.phases.settle
        if (parameters.within or 0) > settle:
            problem = f"{parameters.within:g} s, but the measure phase begins {settle:g} s after the joins"
            found.append(("subscriptions.within", problem))
        return found


class ContentKind(EventsKind):
    """The kind of workload whose subscriptions are conjunctions of ranges and sets of values of
    attributes."""

    name = "content"
    title = "subscriptions by ranges"
    text = "Peers subscribe to ranges of attributes and publish events that have a value of each."
    analysis = "analysis.workloads.content:CONTENT"
    parameters = ContentSource
    most_subscriptions = MOST_ROWS

    def draw(self, parameters: ContentSource, trial: Drawing) -> Mapping[str, Mapping[str, Any]]:
        from emulator.workload.content import draw_by_content

        return draw_by_content(parameters, trial.workload.publications or Publications(events=0), trial)

    def problems(self, parameters: Any, trial: Trial) -> Problems:
        found, workload = super().problems(parameters, trial), trial.workload
        if workload.changes.share > 0:
            found.append(("changes.share", "ranges are not changed, only topics are. Remove it"))
        if workload.publications is not None:
            if isinstance(workload.publications.rates, PowerLaw | Popularity):
                text = "only topics differ in rate, and these subscriptions are ranges. Remove it"
                found.append(("publications.rates", text))
            values = workload.publications.events * (
                len(parameters.attributes) if isinstance(parameters, RangePattern) else 0
            )
            if values > MOST_VALUES:
                text = more("values of attributes", values, MOST_VALUES, "Lower it")
                found.append(("publications.events", text))
        rest = trial.phases.end - trial.phases.join
        if parameters.within > rest:
            problem = f"{parameters.within:g} s, but the trial ends {rest:g} s after the joins"
            found.append(("subscriptions.within", problem))
        return found

    def misfits(self, parameters: ContentSource, system: System, system_parameters: Any) -> Problems:
        """Return the attributes that the system does not know, or not with the same domains."""
        if system.schema is None:
            return []
        schema, found = system.schema(system_parameters), []
        for index, (name, wanted) in enumerate(parameters.domains().items()):
            own = isinstance(parameters, RangePattern)
            key = f"subscriptions.attributes.{index}" if own else "subscriptions.kind"
            known = schema.get(name)
            mend = f"put {name}: [{wanted[0]:g}, {wanted[1]:g}] into system.parameters.attributes"
            if known is None:
                text = f"{system.name} knows {', '.join(schema)}, not {name}: {mend}"
                found.append((f"{key}.name" if own else key, text))
            elif known != wanted:
                found.append((key, f"{system.name} has {name} from {known[0]:g} to {known[1]:g}: {mend}"))
        return found


TOPICS_KIND = TopicsKind()
CONTENT_KIND = ContentKind()
