"""What the ledger must know of each kind of source, one row a kind: provider, kind of fact, rank as book source, payer column.

Which kinds can be read, and by which module, is the list of connectors.registry; what the numbers mean is dbt's.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from connectors import registry

Fact = Literal["bill", "carbon", "runs", "telemetry", "inputs"]


class Kind(StrEnum):
    """Every kind trainledger.yaml may name."""

    AWS_CUR = "aws_cur"
    AWS_FOCUS = "aws_focus"
    AWS_CARBON = "aws_carbon"
    GCP_BILLING = "gcp_billing"
    GCP_FOCUS = "gcp_focus"
    GCP_CARBON = "gcp_carbon"
    NEURON_MONITOR = "neuron_monitor"
    TPU_MONITORING = "tpu_monitoring"
    XPROF = "xprof"
    NEURON_POWER = "neuron_power"
    GPU_MONITORING = "gpu_monitoring"
    POWER_METERS = "power_meters"
    TRAINING_RUNS = "training_runs"
    FX_RATES = "fx_rates"
    USER_INPUTS = "user_inputs"


@dataclass(frozen=True, slots=True)
class KindFacts:
    """What the ledger must know of a kind."""

    fact: Fact
    provider_name: str | None = None
    book_rank: int = 0  # the smallest rank that covers a payer's month is the book
    payer_column: str | None = None
    usage_column: str | None = None  # bills whose partitions are no months: the time of use places a row in its month
    version_column: str | None = None  # carbon whose partitions name no model version: its rows do
    meters_chips: bool = False  # watts of chips, by which a month and the twelve after it are calibrated
    detail_columns: tuple[str, ...] = ()  # an export with none of them is the less detailed one, and ranks one lower


KINDS: dict[Kind, KindFacts] = {
    Kind.AWS_CUR: KindFacts("bill", "AWS", 0, "bill_payer_account_id"),
    Kind.AWS_FOCUS: KindFacts("bill", "AWS", 1),
    Kind.AWS_CARBON: KindFacts("carbon", "AWS", 0, "payer_account_id"),
    Kind.GCP_BILLING: KindFacts(
        "bill",
        "Google Cloud",
        0,
        "billing_account_id",
        "usage_start_time",
        detail_columns=("resource_name", "resource_global_name"),
    ),
    # 1 is a standard export, found out when it is read
    Kind.GCP_FOCUS: KindFacts("bill", "Google Cloud", 2, "billing_account_id", "usage_start_time"),
    Kind.GCP_CARBON: KindFacts("carbon", "Google Cloud", 0, "billing_account_id", version_column="model_version"),
    Kind.NEURON_MONITOR: KindFacts("telemetry", "AWS"),
    Kind.TPU_MONITORING: KindFacts("telemetry", "Google Cloud"),
    Kind.XPROF: KindFacts("telemetry", "Google Cloud", meters_chips=True),
    Kind.NEURON_POWER: KindFacts("telemetry", "AWS"),
    Kind.GPU_MONITORING: KindFacts("telemetry", meters_chips=True),
    Kind.POWER_METERS: KindFacts("telemetry"),
    Kind.TRAINING_RUNS: KindFacts("runs"),
    Kind.FX_RATES: KindFacts("inputs"),
    Kind.USER_INPUTS: KindFacts("inputs"),
}


def built_kinds() -> list[Kind]:
    """The kinds this version reads, in the order of the table; each has a raw view."""
    return [kind for kind in KINDS if kind in registry.KINDS]
