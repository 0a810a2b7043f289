"""The message classes of protocols, which are generated from `.proto` files.

`message` is their base, `fields` and `generate` write the classes, `coding` reads and writes protobuf,
`catalogue` finds a class by its name, and `building` generates the classes of packages outside of the
repository.
"""
