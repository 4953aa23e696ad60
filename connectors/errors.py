"""Errors a connector raises on purpose: what is wrong, where exactly, and by the class whether trying again can help.

Of a file that was given to a source of another kind the message names what it probably is, by words that only one has, and the
remedy what works with it.
No message holds a secret: of a provider's answer only its error code is repeated, never its text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


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
_CUR = "AWS bills are read as CUR 2.0 or as a legacy report: give one of these a source of kind aws_cur."
_FOCUS = "FOCUS is read as AWS Data Exports delivers it (aws_focus) and of Google Cloud from its export in BigQuery (gcp_focus)."
_BIGQUERY = "Bills of Google Cloud are read from their export in BigQuery: give its table a source of kind gcp_billing."
_CONSOLE = (
    "Put the console's monthly report below a folder payer=<account id>, and account=<account id> where it is a member's, of a "
    "source of kind aws_carbon, by month if you can."
)
_ANSWERS = (
    "Put it below a folder payer=<account id> of a source of kind aws_carbon, or give such a source `location: api`; a "
    "CARBON_EMISSIONS export of AWS Data Exports goes before it."
)
_WATER = "Put it below a folder payer=<account id> of a source of kind aws_water, or give such a source `location: api`."
_TOTALS = "Put it below a folder payer=<account id> of a source of kind provider_totals, or give such a source `location: api`."
_CARBON = "Carbon is read from a CARBON_EMISSIONS export of AWS Data Exports: give it a source of kind aws_carbon."

# in a CSV's header, a Parquet's footer, a document or the names of folders: the first whose words are all there counts. What no
# kind of source reads has the one thing that works instead
_LOOKS: tuple[tuple[str, tuple[bytes, ...], str], ...] = (
    ("a gcp_focus", (b"BilledCost", b"x_ExportTime"), OWN_KIND),
    ("an aws_focus", (b"BilledCost", b"x_ServiceCode"), OWN_KIND),
    ("an aws_focus", (b"billedcost", b"x_servicecode"), OWN_KIND),
    ("a FOCUS file of neither AWS nor Google Cloud by its columns", (b"BilledCost", b"ChargePeriodStart"), _FOCUS),
    ("an aws_cur", (b"line_item_usage_start_date",), OWN_KIND),
    ("an aws_cur", (b"lineItem/UsageStartDate",), OWN_KIND),
    ("an aws_carbon", (b"total_mbm_emissions_value", b"usage_account_id"), OWN_KIND),
    ("a carbon report of the AWS console, which names no account", (b"total_mbm_emissions", b"region"), _CONSOLE),
    ("an answer of the AWS Sustainability API", (b'"EmissionsValues"',), _ANSWERS),
    ("an answer about water of the AWS Sustainability API", (b'"AllocationValues"',), _WATER),
    ("an answer of AWS Cost Explorer", (b'"ResultsByTime"',), _TOTALS),
    ("carbon by AWS's experimental script, whose endpoint is switched off", (b'"carbonEmissionEntries"',), _CARBON),
    ("a detailed billing report, AWS's form before the CUR, which is not read", (b"LinkedAccountId", b"RecordType"), _CUR),
    ("a cost table of Google Cloud's console, which is not read", (b"SKU description", b"Usage start date"), _BIGQUERY),
    ("a gcp_carbon", (b"carbon_model_version", b"carbon_footprint"), OWN_KIND),
    ("a gcp_billing", (b"billing_account_id", b"usage_start_time"), OWN_KIND),
    ("a prometheus", (b'"resultType"', b'"matrix"'), OWN_KIND),
    ("a neuron_monitor", (b"neuron_runtime_data",), OWN_KIND),
    ("a neuron_monitor", (b"neuroncore_utilization",), OWN_KIND),
    ("a tpu_monitoring", (b"duty_cycle",), OWN_KIND),
    ("a wandb", (b"_timestamp", b"system.gpu."), OWN_KIND),
    ("a wandb", (b"_timestamp", b"system.tpu."), OWN_KIND),
    ("a gpu_monitoring", (b"DCGM_FI_DEV_POWER_USAGE",), OWN_KIND),
    ("a gpu_monitoring", (b"power.draw",), OWN_KIND),
    ("a gpu_monitoring", (b'"gpus"', b"power_w"), OWN_KIND),
    ("a neuron_power", (b"POWER_STATUS_",), OWN_KIND),
    ("a neuron_power", (b"neuron.device.power",), OWN_KIND),
    ("a neuron_power", (b"neuron_device_power",), OWN_KIND),
    ("an xprof", (b"power_metrics",), OWN_KIND),
    ("an xprof", (b"/device:TPU:",), OWN_KIND),
    ("a power_meters", (b"power_measurement_start",), OWN_KIND),
    ("a power_meters", (b"codecarbon_version",), OWN_KIND),
    ("a user_inputs", (b"price_per_hour", b"purchase_option"), OWN_KIND),
    ("a training_runs", (b"training_run_id", b"attempts"), OWN_KIND),
)
_FOLDERS = (
    ("an aws_carbon", (b"model_version=", b"usage_period="), OWN_KIND),
    ("an aws_cur", (b"BILLING_PERIOD=",), OWN_KIND),
)


class Look(NamedTuple):
    """What a content is, and what to do with it."""

    what: str
    remedy: str


def looks_like(content: bytes, kind: str, looks: Sequence[tuple[str, Sequence[bytes], str]] = _LOOKS) -> Look | None:
    """What a content is by the words in it; None where that is the kind it was taken for, or nothing is recognised."""
    found = next((Look(what, remedy) for what, words, remedy in looks if all(word in content for word in words)), None)
    return None if found is None or found.what.split()[1] == kind else found


def folder_looks_like(key: str, kind: str) -> Look | None:
    """The same by the folders in an object's key."""
    return looks_like(key.encode("utf-8", "surrogatepass"), kind, _FOLDERS)
