"""The program of one host.

`program` takes part in one trial after the other, and `member` in one. `assignment` is the host's part of
the plan, `delay_enforcement` chooses who applies delays, `clock_offset` compares clocks, `stop_signals` and
`end_with_parent` are about the process.
"""
