"""Magnet: subscribers with similar interests stand next to each other on a ring."""
