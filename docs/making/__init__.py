"""This package writes the pages of `docs/reference`: `python -m docs.making`, or `make reference`."""
