"""Experiments that are ready to run."""
