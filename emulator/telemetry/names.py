"""Names of spans, metrics and attributes; messaging conventions of OpenTelemetry where they exist.

Spans. An operation is a trace. Its root span, at the peer that began it, is named by the operation
(`join`, `leave`, `subscribe`, `unsubscribe`, `publish`, `lookup`). Each message that the operation
causes is a span at the receiver, named by the message class; start = sent, end = handled; its parent is
the span that sent it. A later call of the operation that delivered something without a message (a timer, the
notice that a peer is unreachable) is a span `timer`, its parent the span that asked for it. What the first
call itself delivers is marked on the root span: a lookup of a key of one's own, a subscription stored at
its subscriber; not an event, which its publisher has anyway.

Metrics. Counters are cumulative since the start of the trial. The ones without `peer` in the name are
for a whole host and are written each interval; the ones for each peer are written at the start and at
the end of the measure phase, as are states and links.
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
HOPS = "trellis.hops"  # int: overlay hops that it took (with DELIVERED)
EVENT = "trellis.event"  # int: the publication's number in the plan (publish)
LOOKUP = "trellis.lookup"  # int: the lookup's number in the plan (lookup)
INTEREST = "trellis.interest"  # int: the subscription's number in the plan (subscribe, unsubscribe)
SESSION = "trellis.session"  # int: 0, 1, ... of the peer (join, leave)
GRACEFUL = "trellis.graceful"  # bool (leave)

# Metrics
SENT_MESSAGES = "trellis.messages.sent"  # sum by MESSAGE_TYPE and TRAFFIC, a host
SENT_BYTES = "trellis.bytes.sent"  # sum by MESSAGE_TYPE and TRAFFIC, a host
LOST_SPANS = "trellis.spans.lost"  # sum, a host
DROPPED = "trellis.envelopes.dropped"  # sum, a host
PEERS_UP = "trellis.peers.up"  # gauge, a host
PEER_SENT_MESSAGES = "trellis.peer.messages.sent"  # sum by PEER, MESSAGE_TYPE and TRAFFIC
PEER_SENT_BYTES = "trellis.peer.bytes.sent"
STATE = "trellis.state."  # prefix of gauges by PEER: what `Component.gauges` tells
LINK = "trellis.link"  # gauge 1 by PEER, NEIGHBOUR and KIND

MESSAGE_TYPE = "trellis.message.type"
TRAFFIC = "trellis.traffic"  # "operation" (traced) or "maintenance"
NEIGHBOUR = "trellis.neighbour"
KIND = "trellis.kind"
