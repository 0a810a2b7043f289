"""Cliques of servers that are near each other (Kyra, Cao and Singh, INFOCOM 2004, section III.A).

Read `overlay` first, which is one server. `arrival` and `joining` bring it into a clique, whose `view` it
keeps in `own_clique`. A leader acts by `leading`, and by `shaping` with the `arrangement` of two cliques.
`directory` knows all cliques, `measuring` has the round trips, `failure_detection` finds mates that are gone,
and `member_context` is what these parts share.
"""
