"""Kyra: server cliques and partitioned routing trees (Cao, Singh, INFOCOM 2004)."""
