"""Cliques of servers that are near each other (Kyra, Cao and Singh, INFOCOM 2004, section III.A)."""
