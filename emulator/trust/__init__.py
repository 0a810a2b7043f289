"""The secrets that programs of a release show to each other.

`credentials` are the token and the certificates, `interceptor` refuses calls without them, `strangers` ends
connections without them that take too much, `refusals` counts both, `proof` and `tickets` are for hosts and
their telemetry.
"""
