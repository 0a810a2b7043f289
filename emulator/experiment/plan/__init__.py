"""The plan: everything that a trial will do, drawn from its seed before it starts.

`tables` says what a plan holds, `draw` draws it, and `provenance` keeps the spec that it was drawn from.
"""
