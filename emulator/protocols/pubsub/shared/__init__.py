"""Parts that several publish/subscribe systems share.

`dissemination` sends events to neighbours, `home_publishing` to a topic's home, `tree_links` keeps neighbours
in distribution trees, and `topics` takes topics out of interests.
"""
