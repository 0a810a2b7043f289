"""OpenTelemetry's files as rows of Spark.

`source` reads files, `spans` makes columns of their messages, and `columns` decodes protobuf by columns.
"""
