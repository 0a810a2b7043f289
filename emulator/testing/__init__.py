"""Help for tests of protocols, also those of packages outside of this repository.

`fake_environment` is a world that a test drives by hand. `witness` writes down what a system hands to its
application, `witnessed_trials` compares that with the telemetry of small trials, and `trial_spans` reads
spans without Spark.
"""
