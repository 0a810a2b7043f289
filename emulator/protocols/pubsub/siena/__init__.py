"""Filter-based routing: Siena's acyclic peer-to-peer servers (Carzaniga, Rosenblum, Wolf, TOCS 2001)."""
