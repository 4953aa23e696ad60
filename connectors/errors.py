"""Errors a connector raises on purpose: what is wrong, where exactly, and by the class whether trying again can help.

Of a file that was given to a source of another kind the remedy names the kind that it probably is, by words that only one has.
No message holds a secret: of a provider's answer only its error code is repeated, never its text.
"""

from __future__ import annotations

from collections.abc import Sequence
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


OWN_KIND = "If it is one, give it a source of its own kind."

# in a CSV's header, a Parquet's footer, a document or the names of folders; the first whose words are all there counts
_LOOKS = (
    ("a gcp_focus", (b"BilledCost", b"x_ExportTime")),
    ("a FOCUS file", (b"BilledCost", b"ChargePeriodStart")),
    ("an aws_cur", (b"line_item_usage_start_date",)),
    ("an aws_cur", (b"lineItem/UsageStartDate",)),
    ("an aws_carbon", (b"total_mbm_emissions_value", b"usage_account_id")),
    ("a carbon report of the AWS console, which is no export", (b"total_mbm_emissions", b"region")),
    ("a gcp_carbon", (b"carbon_model_version", b"carbon_footprint")),
    ("a gcp_billing", (b"billing_account_id", b"usage_start_time")),
    ("a prometheus", (b'"resultType"', b'"matrix"')),
    ("a neuron_monitor", (b"neuron_runtime_data",)),
    ("a neuron_monitor", (b"neuroncore_utilization",)),
    ("a tpu_monitoring", (b"duty_cycle",)),
    ("a wandb", (b"_timestamp", b"system.gpu.")),
    ("a wandb", (b"_timestamp", b"system.tpu.")),
    ("a gpu_monitoring", (b"DCGM_FI_DEV_POWER_USAGE",)),
    ("a gpu_monitoring", (b"power.draw",)),
    ("a gpu_monitoring", (b'"gpus"', b"power_w")),
    ("a neuron_power", (b"POWER_STATUS_",)),
    ("a neuron_power", (b"neuron.device.power",)),
    ("a neuron_power", (b"neuron_device_power",)),
    ("an xprof", (b"power_metrics",)),
    ("an xprof", (b"/device:TPU:",)),
    ("a power_meters", (b"power_measurement_start",)),
    ("a power_meters", (b"codecarbon_version",)),
    ("a user_inputs", (b"price_per_hour", b"purchase_option")),
    ("a training_runs", (b"training_run_id", b"attempts")),
)
_FOLDERS = (
    ("an aws_carbon", (b"model_version=", b"usage_period=")),
    ("an aws_cur", (b"BILLING_PERIOD=",)),
)


def looks_like(content: bytes, kind: str, looks: Sequence[tuple[str, Sequence[bytes]]] = _LOOKS) -> str | None:
    """What a content is by the words in it; None where that is the kind it was taken for, or nothing is recognised."""
    found = next((what for what, words in looks if all(word in content for word in words)), None)
    return None if found is None or found.split()[1] == kind else found


def folder_looks_like(key: str, kind: str) -> str | None:
    """The same by the folders in an object's key."""
    return looks_like(key.encode("utf-8", "surrogatepass"), kind, _FOLDERS)
