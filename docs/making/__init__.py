"""This package makes what is shown in `docs` from the program itself.

`python -m docs.making`, or `make reference`, writes the pages of `docs/reference`. `python -m
docs.making.moving_picture` writes `docs/images/quickstart.svg`, the picture of the README: it runs the
quickstart in a terminal (`recording`) and shortens its waits. `python -m docs.making.topics_figures RUNDIR`
draws the figures of the page on topics from a run.
"""
