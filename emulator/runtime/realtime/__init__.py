"""The peers of one host in real time.

`host` has the peers, their timers and messages. `controller` follows the script, `session` is one peer while
it is up, `agenda` and `clock` say what is due, `streams` carry messages between hosts, `passage` and
`decoding` handle one message, and `self_measurement` measures the host.
"""
