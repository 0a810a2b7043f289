"""Help for tests of protocols, also those of packages outside of this repository."""
