"""The kinds of sources: one row each, and the only place where a kind is added or declared built.

A row says which provider a kind speaks for, which kind of fact it carries, its rank as book source among the kinds of the
same fact, and which column names the payer. How bytes are read is the connector's; what the numbers mean is dbt's.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

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
    GPU_MONITORING = "gpu_monitoring"
    TRAINING_RUNS = "training_runs"
    FX_RATES = "fx_rates"
    USER_INPUTS = "user_inputs"


@dataclass(frozen=True, slots=True)
class KindFacts:
    """What the line must know of a kind."""

    fact: Fact
    provider_name: str | None = None
    book_rank: int = 0  # the smallest rank that covers a payer's month is the book
    payer_column: str | None = None
    usage_column: str | None = None  # bills whose partitions are no months: the time of use places a row in its month
    version_column: str | None = None  # carbon whose partitions name no model version: its rows do
    detail_columns: tuple[str, ...] = ()  # an export with none of them is the less detailed one, and ranks one lower
    is_built: bool = False


KINDS: dict[Kind, KindFacts] = {
    Kind.AWS_CUR: KindFacts("bill", "AWS", 0, "bill_payer_account_id", is_built=True),
    Kind.AWS_FOCUS: KindFacts("bill", "AWS", 1),
    Kind.AWS_CARBON: KindFacts("carbon", "AWS", 0, "payer_account_id", is_built=True),
    Kind.GCP_BILLING: KindFacts(
        "bill",
        "Google Cloud",
        0,
        "billing_account_id",
        "usage_start_time",
        detail_columns=("resource_name", "resource_global_name"),
        is_built=True,
    ),
    Kind.GCP_FOCUS: KindFacts("bill", "Google Cloud", 2),  # 1: a standard export, found out when it is read
    Kind.GCP_CARBON: KindFacts("carbon", "Google Cloud", 0, "billing_account_id", version_column="model_version", is_built=True),
    Kind.NEURON_MONITOR: KindFacts("telemetry", "AWS", is_built=True),
    Kind.TPU_MONITORING: KindFacts("telemetry", "Google Cloud", is_built=True),
    Kind.GPU_MONITORING: KindFacts("telemetry"),
    Kind.TRAINING_RUNS: KindFacts("runs", is_built=True),
    Kind.FX_RATES: KindFacts("inputs", is_built=True),
    Kind.USER_INPUTS: KindFacts("inputs", is_built=True),
}


def built_kinds() -> list[Kind]:
    """The kinds this version reads, in the order of the table; each has a raw view."""
    return [kind for kind, facts in KINDS.items() if facts.is_built]
