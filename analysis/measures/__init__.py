"""Measures of trials, and the series and distributions that figures show.

`catalogue` has the names, units and texts of measures, `measures` asks the tables for them, `series` and
`distributions` make tables for figures, and `variants` takes means over seeds.
"""
