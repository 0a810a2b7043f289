"""Content-based routing: filters over attributes, an index of them, and trees that route by them.

Read `space` first, which has the boxes of the event space, and then `trees`: `routes` is a server's routing
table on one tree, and `links` and `order` keep its neighbours there. `streams` tell a neighbour of changed
boxes, `boxes` and `index` find boxes and points quickly, `interests` are those of a server's clients, and
`zones` cuts the space. `system` has what the systems declare alike.
"""
