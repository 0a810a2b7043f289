"""Churn: models of the sessions in which peers are up, and traces of sessions.

`spec` is the `churn:` part of an experiment, and `draw_sessions` draws from it by `lifetimes`, `renewal`,
`skype` or a trace of `avt`.
"""
