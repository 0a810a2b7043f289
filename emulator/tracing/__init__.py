"""The programs of Trellis tell operators about themselves: by spans of their own work, and by lines of logs.

`spans` is what all programs call, and does nothing unless an endpoint is configured; `sdk` sends spans by the
OpenTelemetry SDK, and is loaded only then. `log_lines` writes logs as JSON, and `sdk_logs` sends them. What
peers do is recorded by `emulator.telemetry` instead, from which tables are made; nothing from here gets into
a run's telemetry.
"""
