"""Names of spans, metrics and attributes; messaging conventions of OpenTelemetry where they exist.

Spans. An operation is a trace. Its root span, at the peer that began it, is named by the operation
(`join`, `leave`, `subscribe`, `unsubscribe`, `publish`, `lookup`, or as a package's kind of workload calls
it). Each message that the operation causes is a span at the receiver, named by the message class; start =
sent, end = handled; its parent is the span that sent it. What handling a message hands to the application is
marked on the message's span: DELIVERED, HOPS and EVENT, LOOKUP, or OPERATION and NUMBER. Whatever is handed
over otherwise (by a timer, at the peer that asked, as the second event of one message) is a span `delivery`
of its own with the same attributes, below the span of the operation that is being handled, or the root of a
trace if there is none. Messages of the kinds event and notification that are sent outside of any operation
(by gossip that repairs) begin a trace `recovery`. What a component records of itself is a span `observation`,
below the span of the operation that is being handled, or the root of a trace.

Metrics. Counters are cumulative since the start of the trial. The ones without `peer` in the name are
for a whole host and are written each interval; the ones for each peer are written at the start and at
the end of the measure phase, as are states and links. Units and descriptions are in `metric_descriptions`.
Gauges that their component declares have its unit and text; those that are sampled are written each interval
too, by another prefix.
"""

from __future__ import annotations

# Resource
SERVICE = "service.name"
HOST = "service.instance.id"
EXPERIMENT = "trellis.experiment"
TRIAL = "trellis.trial"
INCARNATION = "trellis.incarnation"  # int: 0, 1, ...: starts of the host within the trial
START = "trellis.start_unix_ns"  # int: trial time 0 on the clock of the span times

# Spans
PEER = "trellis.peer"  # int: where the span is
SENDER = "trellis.sender"  # int: who sent the message (hop spans)
DEPTH = "trellis.depth"  # int: messages from the root to here, 1 for the first (hop spans)
BYTES = "messaging.message.body.size"  # int: encoded size (hop spans)
TOPIC = "trellis.topic"  # int: of a publish, subscribe, unsubscribe and of all their messages
INTERESTED = "trellis.interested"  # bool: this peer subscribes to the topic (publish and its messages)
DELIVERED = "trellis.delivered"  # bool, only if true: an event, lookup or subscription arrived here
HOPS = "trellis.hops"  # int: overlay hops that it took (with DELIVERED), or that an event's copy has made
MESSAGE_KIND = "trellis.message.kind"  # "event", "notification", "control", "maintenance" (hop spans)
CHANNEL = "trellis.channel"  # of the component that sent the message; absent at the root (hop spans)
EVENT = (
    "trellis.event"  # int: the publication's number in the plan (publish, deliveries, messages of recovery)
)
LOOKUP = "trellis.lookup"  # int: the lookup's number in the plan (lookup, deliveries)
INTEREST = "trellis.interest"  # int: the subscription's number in the plan (subscribe, unsubscribe)
OPERATION = "trellis.operation"  # name of the operation that is complete (deliveries of packages' kinds)
NUMBER = "trellis.number"  # int: the operation's in the plan (operations and deliveries of packages' kinds)
SESSION = "trellis.session"  # int: 0, 1, ... of the peer (join, leave)
GRACEFUL = "trellis.graceful"  # bool (leave)
OBSERVED = "trellis.observed"  # name (observation)
VALUE = "trellis.value"  # double, absent if it was not measured (observations, deliveries of packages' kinds)
SUBJECT = "trellis.subject"  # int: whom or what it is about (observation)
UNIT = "trellis.unit"  # (observation)
DELIVERY = "delivery"
RECOVERY = "recovery"
OBSERVATION = "observation"

# Metrics
SENT_MESSAGES = "trellis.messages.sent"  # sum by MESSAGE_TYPE, MESSAGE_KIND, CHANNEL and TRAFFIC, a host
SENT_BYTES = "trellis.bytes.sent"  # sum by MESSAGE_TYPE, MESSAGE_KIND, CHANNEL and TRAFFIC, a host
LOST_MESSAGES = "trellis.messages.lost"  # sum by the same, a host: what the network's loss took, if any
LOST_BYTES = "trellis.bytes.lost"
LOST_SPANS = "trellis.spans.lost"  # sum, a host
DROPPED = "trellis.envelopes.dropped"  # sum, a host
PEERS_UP = "trellis.peers.up"  # gauge, a host
PEER_SENT_MESSAGES = "trellis.peer.messages.sent"  # sum by PEER and the same
PEER_SENT_BYTES = "trellis.peer.bytes.sent"
STATE = "trellis.state."  # prefix of gauges by PEER and CHANNEL: what `Component.gauges` tells
SAMPLE = "trellis.sample."  # the same of gauges that are sampled, each interval
BETTER = "trellis.better"  # "higher" or "lower": in the metadata of a gauge's metric
LINK = "trellis.link"  # gauge 1 by PEER, CHANNEL, NEIGHBOUR and KIND
TAKEN_IDENTIFIER = "trellis.identifier"  # gauge 1 by PEER, CHANNEL, IDENTIFIER and SPACE, when it is taken
IDENTIFIER = "trellis.identifier"  # hexadecimal
SPACE = "trellis.space"  # name of the metric

MESSAGE_TYPE = "trellis.message.type"
TRAFFIC = "trellis.traffic"  # "operation" (traced) or "maintenance"
NEIGHBOUR = "trellis.neighbour"
KIND = "trellis.kind"
