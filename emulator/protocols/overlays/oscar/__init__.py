"""OSCAR: a small world over identifiers that may be as dense as the peers choose."""
