"""What keeps a release from doing its work."""

from __future__ import annotations


class ReleaseError(Exception):
    """Something that the user has to change, in the cluster or on the command line; the text says what."""


class Unreachable(ReleaseError):
    """The cluster does not answer, which may pass."""


class NotThere(ReleaseError):
    """An object that the cluster does not have."""


class Forbidden(ReleaseError):
    """The user's role does not allow it."""
