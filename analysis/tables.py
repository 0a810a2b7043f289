"""The tables of a run: telemetry and plan of each trial, as Parquet.

`<run>/tables/<table>/trial=<name>/part-00000.parquet` (...); read a whole table, all trials at once,
with any Parquet reader that knows Hive partitions. Times `*_s` are seconds of trial time on the
coordinator's clock, `*_ms` milliseconds, sizes bytes; `?` marks what may be null. Files are the same,
byte for byte, for the same telemetry and plan.

Written by `analysis.tables`:

hops         every span of every operation: the root (depth 0) and each message, at its receiver.
             trace binary(16), span bigint, parent bigint?, message (the message's name, or the
             operation's for a root), host, sender int?, peer int, depth int, topic int?, interested
             boolean?, delivered boolean, hops int?, bytes int?, event int?, session int?, graceful
             boolean? (the last three on roots), sent_s, handled_s, delay_ms (sent to handled)
operations   one row a trace.
             trace, operation (publish, join, leave, subscribe, unsubscribe), host, peer, topic?, event?,
             session?, graceful?, at_s, messages bigint, bytes bigint, depth int (of the deepest
             message), last_s (when the last message was handled)
sessions     planned sessions and what became of them.
             peer, session, cause ("base", "flash-crowd"), host?, planned_start_s, planned_end_s, start_s?
             (null: never came up), end_s?, ended ("leave", "crash", "host lost", "trial end")
deliveries   one row for each event and peer that was expected to get it or got it.
             event, topic, publisher, peer, published_s, expected boolean, delivered boolean, hops int?,
             delay_ms? (published to delivered), copies int (EventData received), duplicates int (copies
             beyond the first)
relays       one row for each event and peer that handled it without having asked for its topic.
             event, topic, peer, messages (Notification, Pull, EventData, ...), copies (EventData), bytes
traffic      one row a peer that was up in the measure phase.
             peer, up_s (in the measure phase), received (EventData), unwanted (EventData of topics not
             subscribed to), overhead? (unwanted / received), messages (all dissemination messages
             received), unwanted_messages, bytes (of those messages), unwanted_bytes, and, from the
             peers' counters over the measure phase, operation_messages?, operation_bytes?,
             maintenance_messages?, maintenance_bytes? (sent)
messages     sent by all hosts over the measure phase by type.
             message, traffic ("operation", "maintenance"), messages, bytes
states       what peers told of themselves: peer, at_s, moment ("start", "end" of the measure phase),
             name (without `trellis.state.`), value
links        overlay links: peer, neighbour, kind, at_s, moment ("start", "end")
losses       telemetry that could not be read: file, offset (bytes), lost_bytes, reason

Written by `analysis.series` from the tables above:

series               one row for each interval of the measure phase.
                     start_s, end_s, peers_up (mean), published, expected, delivered, hit_ratio?,
                     received, unwanted, overhead?, hops? (mean), delay_ms? (mean), by the time of
                     publication; maintenance_messages?, maintenance_bytes? (a peer and second, by the
                     time of sending)
overhead_histogram   peers by the share of unwanted EventData, 20 classes: low, high (0..1), peers,
                     share, above (share of peers with more than `low`)
delay_cdf            unit ("hops", "ms"), value, share (of made deliveries with at most `value`)
clusters             one row a topic with subscribers up at the end of the measure phase: topic,
                     subscribers, clusters (connected components of the links among them), largest
"""

from __future__ import annotations
