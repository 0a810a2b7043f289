"""When peers are up: models of sessions, and traces of them.

`spec` is the `churn:` part of an experiment, and `draw_sessions` draws from it by `lifetimes`, `renewal`,
`skype` or a trace of `avt`.
"""
