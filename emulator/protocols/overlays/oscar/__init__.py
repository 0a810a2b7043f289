"""OSCAR: a small world over identifiers that lie as densely as their owners like."""
