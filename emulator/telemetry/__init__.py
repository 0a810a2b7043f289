"""Spans and metrics out of a running trial, in the OpenTelemetry Collector's format.

`recorder` records what a runtime tells it; `span_encoding` encodes spans, `message_counts` counts messages by
peer, `names` has all names, `context` is the operation that is being handled. `otlp_files` writes files,
`exporter` sends to a Collector behind the `collector_gate`, and `replay` sends a finished trial to a backend.
"""
