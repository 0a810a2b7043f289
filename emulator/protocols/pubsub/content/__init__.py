"""Content-based routing: filters over attributes, an index of them, and trees that route by them."""
