"""Vitis: gossip clusters and rendezvous routing (Rahimian et al., IPDPS 2011), and its baseline RVR.

`vitis` and `rvr` are the systems, which share `rendezvous`; `gateways` elects the peers that connect clusters
(Algorithm 5) by the `proposal_columns` of a host, `relay_trees` keeps the paths to rendezvous nodes, of
which `relay_requests` has the messages and links of a host as rows, and `parameters` has what can be chosen.
"""
