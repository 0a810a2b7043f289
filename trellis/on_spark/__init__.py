"""Trials on the virtual clock as tasks of Spark.

`driver` hands out the trials, `task` runs one at an executor, `news` carries progress back, and `master` is
the cluster.
"""
