"""The experiment file, checked as a whole before anything starts.

`spec` defines what a file may hold, `load` reads and checks one. `document` keeps the lines of values and
`explain` words the problems; `keys`, `overrides`, `vary` and `variants` are about keys and their values;
`cross_checks`, `size_limits`, `input_paths`, `input_contents` and `system_fit` refuse what cannot be run;
`package_experiments` are the files that packages bring, and `json_schema` is for editors.
"""
