"""OpenTelemetry's files as rows of Spark.

`source` reads files, `spans` makes columns of their messages, `columns` decodes protobuf by columns, and
`notes` tell what was read.
"""
