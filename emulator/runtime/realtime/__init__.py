"""The peers of one host in real time.

`host` has the peers, their timers and messages. `script_follower` follows the script, `session` is one peer
while it is up, `agenda` and `clock` say what is due, `streams` carry messages between hosts, `passage` and
`decoding` are about one message, and `self_measurement` tells how well the host did.
"""
