"""Broadcast: protocols that bring each message to all peers, over any membership.

`over_membership` has what all share. `flooding`, `push_gossip` and `anti_entropy` are the baselines.
`plumtree` builds a tree by pruning the links that bring copies; `lazy_queue` has what it announces,
`missing_messages` what was announced to it. `kept_messages` are those that a peer can still send.
"""
