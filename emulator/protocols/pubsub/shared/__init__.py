"""What several publish/subscribe systems do alike.

`dissemination` sends events to neighbours, `home_publishing` to a topic's home, `tree_links` keeps
neighbours in distribution trees, `recent` remembers what was seen lately, and `topics` takes topics out of
interests.
"""
