"""The navigable small world of Vitis (Rahimian et al., IPDPS 2011, section III.A).

`overlay` is one peer; `neighbour_selection` is Algorithm 4 with the `ratings` of others, `greedy_routes`
chooses the next hop, `ring` is the overlay without friends and topics, and `parameters` has what can be
chosen. The peers of a host keep their `links` and `heartbeats` together; a selection chooses among
`candidates`, and `replacement` gives a peer the links to those that were chosen.
"""
