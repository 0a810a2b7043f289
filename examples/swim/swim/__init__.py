"""SWIM: a membership, with a workload, measures and a figure of its own."""
