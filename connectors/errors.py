"""Errors a connector raises on purpose: what is wrong, where exactly, and whether trying again can help.

ConnectorError
├── ExportNotPublishedError  not there yet, or being rewritten: trying again later can help
├── ExportChangedError       an object changed while it was read: trying again now can help
├── ExportSchemaError        the provider changed the file: only a person can help
├── ExportContentError       truncated, wrongly typed, too large or hostile: only a new delivery can help
└── SourceUnreadableError    no bucket, folder, permission or network: the person who runs the source can help

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
    """The provider has not finished this delivery."""

    reason = "not_published"
    remedy = "Try again after the provider has written its manifest."


class ExportChangedError(ConnectorError):
    """An object is no longer the one that was listed."""

    reason = "changed_while_reading"
    remedy = "Try again: the provider was writing while we read."


class ExportSchemaError(ConnectorError):
    """A declared column is absent or has another type."""

    reason = "missing_column"
    remedy = "Add the column to the export, or correct its query; the last good delivery stays in force until then."


class ExportContentError(ConnectorError):
    """The shape is right and the content is not."""

    reason = "bad_content"
    remedy = "Have the provider deliver this partition again; the last good delivery stays in force until then."


class SourceUnreadableError(ConnectorError):
    """The location itself cannot be read."""

    reason = "source_unreadable"
    remedy = "Check that the location exists and that these credentials may list and read it."


def shorten(value: str, limit: int = 200) -> str:
    """Cut a value that is repeated in messages and tables: a hostile one may be as long as its file."""
    return value if len(value) <= limit else value[: limit - 1] + "…"
