"""W. Li's content-based publish/subscribe: a distributed 2d-tree over a structured overlay (UBC, 2008)."""
