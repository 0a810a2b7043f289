"""The errors of a release."""

from __future__ import annotations


class ReleaseError(Exception):
    """Something that the user has to change, in the cluster or on the command line; the text says what."""


class Unreachable(ReleaseError):
    """The cluster does not answer; it may do so later."""


class NotThere(ReleaseError):
    """The cluster does not have the object."""


class Forbidden(ReleaseError):
    """The user's role does not allow it."""
