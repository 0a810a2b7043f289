"""The plan: everything that a trial will do, drawn from its seed before it starts.

`tables` defines what a plan holds, `draw_plan` draws it, with `draw_workload` for what peers are asked for
and `fault_sessions` for what faults do to sessions, `provenance` keeps the spec that it was drawn from,
`inputs_file` what is told of files and shares, and `check_plans` draws all plans of an experiment to see
whether they can be drawn.
"""
