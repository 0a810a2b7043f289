"""Numbers, sets and maps in little memory, for the state that protocols keep of many peers.

`bit_sets` has sets of small numbers in one `int`, `number_sets` and `number_maps` have hash tables of packed
numbers, `peer_positions` finds peers in a list that is made for one use, `peer_rows` numbers the peers of a
host whose state is rows of columns, and `peer_ranges` gives each of them a range of places in such columns.
`durations` counts durations in buckets.
"""
