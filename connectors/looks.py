"""What a file probably is, by words that only one kind of file has: a hint for people who gave it to a source of another kind."""

from __future__ import annotations

from collections.abc import Sequence

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
    ("a neuron_monitor", (b"neuron_runtime_data",)),
    ("a neuron_monitor", (b"neuroncore_utilization",)),
    ("a tpu_monitoring", (b"duty_cycle",)),
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
