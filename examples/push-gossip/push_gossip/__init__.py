"""Push gossip: a system under test in a package of its own."""
