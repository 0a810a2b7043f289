"""The program of one host.

`program` takes part in one trial after the other, and `member` in one trial. `assignment` is the host's part
of the plan, `delay_enforcement` chooses who applies delays and rates, `kernel_rates` measures the kernel's
links, `clock_offset` compares clocks, and `stop_signals` and `end_with_parent` watch the process.
`asking_again` tells when to call a coordinator again that did not answer.
"""
