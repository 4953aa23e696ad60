"""Errors a connector raises on purpose: what is wrong, where exactly, and by the class whether trying again can help.

No message holds a secret: of a provider's answer only its error code is repeated, never its text.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a delivery something is wrong. `row_number` counts data rows of the object from 1."""

    source_object: str | None = None
    row_number: int | None = None
    column_name: str | None = None
    value: str | None = None


class ConnectorError(Exception):
    """Base of all errors below. `reason` is a short code for tables, `remedy` a sentence for people."""

    reason = "unreadable"
    remedy = "See docs/sources for what this source must look like."

    def __init__(self, message: str, *, place: Place | None = None, reason: str | None = None, remedy: str | None = None) -> None:
        super().__init__(message)
        place = place or Place()
        self.message = message
        self.source_object = place.source_object
        self.row_number = place.row_number
        self.column_name = place.column_name
        self.value = None if place.value is None else shorten(place.value)
        self.reason = reason or type(self).reason
        self.remedy = remedy or type(self).remedy


class ExportNotPublishedError(ConnectorError):
    """Not there yet, or being rewritten: trying again later can help."""

    reason = "not_published"
    remedy = "Try again after the provider has written its manifest."


class ExportChangedError(ConnectorError):
    """An object changed while it was read: trying again now can help."""

    reason = "changed_while_reading"
    remedy = "Try again: the provider was writing while we read."


class ExportSchemaError(ConnectorError):
    """The provider changed the file, a declared column is absent or of another type: only a person can help."""

    reason = "missing_column"
    remedy = "Add the column to the export, or correct its query; the last good delivery stays in force until then."


class ExportContentError(ConnectorError):
    """Truncated, wrongly typed, too large or hostile: only a new delivery can help."""

    reason = "bad_content"
    remedy = "Have the provider deliver this partition again; the last good delivery stays in force until then."


class TooCostlyError(ExportContentError):
    """Reading it took more CPU time, wall time or memory than one delivery may take: a person has to look at what wrote it."""

    reason = "too_costly"
    remedy = (
        "Look at what wrote it: a number in it may be wrong. If it is right, raise `delivery_limits` (cpu_s, wall_s, memory) in "
        "the configuration."
    )


class SourceUnreadableError(ConnectorError):
    """No bucket, folder, permission or network: the person who runs the source can help."""

    reason = "source_unreadable"
    remedy = "Check that the location exists and that these credentials may list and read it."


def shorten(value: str, limit: int = 200) -> str:
    """Cut a value that is repeated in messages and tables: a hostile one may be as long as its file."""
    return value if len(value) <= limit else value[: limit - 1] + "…"
