"""The peers of one host in real time.

`host` has the peers and their timers, and delays the messages that they send. `script_follower` has peers
join and leave, `session` is one peer while it is up, `agenda` and `clock` say what is due. `streams` carry
messages between hosts, `sent_message` and `decoding` handle one message, and `self_measurement` measures the
host.
"""
