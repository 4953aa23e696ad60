"""Rows of a small publication that are not the ledger: deliveries, builds, gates, dimensions, one odd row of each kind."""

from datetime import date, timedelta
from decimal import Decimal
from itertools import groupby

from tests.reports.published_file import File
from tests.reports.published_rows import PAYERS, PLACES, instant, provider_of, source_of


def add_delivery_rows(file: File, payer: str, month: date, carbon: bool) -> None:
    published = instant(2026, month.month + 1, 5, 6, 30)
    kinds = [("cur", "aws_cur", f"{month:%Y-%m}", published)]
    if carbon:
        kinds.append(("carbon", "aws_carbon", f"{month:%Y-%m}@v3.0.1", published.replace(day=17)))
    if provider_of(payer) == "Google Cloud":  # a bill partition a day, a carbon partition a month
        kinds = [("cur", "gcp_billing", f"{month:%Y-%m}-{day:02}", instant(2026, month.month, day, 20)) for day in (1, 15, 28)]
        kinds += [("carbon", "gcp_carbon", f"{month:%Y-%m}", published.replace(day=16))] if carbon else []
    for prefix, kind, partition, at in kinds:
        listed = {"source_name": source_of(payer, prefix), "kind": kind}
        if listed not in file.rows.get("ops.listed_objects", []):
            file.add("ops.listed_objects", **listed)
        digest = f"{abs(hash_of(prefix + payer + partition)):064x}"
        file.add(
            "ops.dim_deliveries",
            source_name=source_of(payer, prefix),
            provider_name=provider_of(payer),
            kind=kind,
            partition=partition,
            published_at=at,
            landed_at=at + timedelta(hours=1),
            content_hash=digest,
            rows=1200,
            is_elected=True,
            is_book=True,
        )


def hash_of(text: str) -> int:
    """A number for a text, the same in every process."""
    return int.from_bytes(text.encode()) % (1 << 255)


def add_google_reference_rows(file: File) -> None:
    url = "https://docs.example.org/tpu"
    for kind, watts in (("v5e", None), ("v6e", Decimal("300"))):
        file.add(
            "marts.dim_accelerators",
            accelerator_type=kind,
            accelerator_family="tpu",
            provider_name="Google Cloud",
            chip_name=f"TPU {kind}",
            chips_per_node=None,
            peak_bf16_tflops=Decimal("918"),
            chip_power_idle_w=None,
            chip_power_max_w=watts,
            power_confidence="third_party" if watts else None,
            source=url,
            source_date=date(2026, 8, 21),
            confidence="medium",
        )
    file.add(
        "marts.dim_regions",
        provider_name="Google Cloud",
        region_id="us-central1",
        region_name="Iowa",
        country_code="US",
        grid_zone="US-IA",
        source=url,
        source_date=date(2026, 8, 21),
        confidence="high",
    )


def add_reference_rows(file: File) -> None:
    url = "https://docs.example.org/neuron/trn2"
    for kind, chips, watts in (("trn1.32xlarge", 16, None), ("trn2.48xlarge", 16, Decimal("500"))):
        file.add(
            "marts.dim_accelerators",
            accelerator_type=kind,
            accelerator_family="trainium",
            provider_name="AWS",
            chip_name=kind[:4].title(),
            chips_per_node=chips,
            peak_bf16_tflops=Decimal("667.5"),
            chip_power_idle_w=None,
            chip_power_max_w=watts,
            power_confidence="third_party" if watts else None,
            source=url,
            source_date=date(2026, 8, 21),
            confidence="high",
        )
    file.add(
        "marts.dim_regions",
        provider_name="AWS",
        region_id="us-east-2",
        region_name="US East (Ohio)",
        country_code="US",
        grid_zone="RFCW",
        source=url,
        source_date=date(2026, 8, 21),
        confidence="high",
    )
    file.add(
        "marts.dim_prices",
        price_id="p1",
        provider_name="AWS",
        accelerator_type="trn1.32xlarge",
        region_id="us-east-2",
        purchase_option="on_demand",
        price_per_unit=Decimal("21.50"),
        unit="instance-hour",
        currency="USD",
        valid_from=date(2026, 9, 1),
        source=url,
        source_date=date(2026, 9, 1),
        confidence="high",
        is_quoted_only=False,
    )


def add_names(file: File, payers: tuple[str, ...]) -> None:
    """Names as the bills carry them: Google names no billing account, and the second payer's bill has no name columns."""
    for provider, of_provider in groupby(payers, key=provider_of):
        account, service, _, _ = PLACES[provider]
        named = {payer: (payer, "Example payer" if payer == PAYERS[0] else None) for payer in of_provider}
        named[account] = (next(iter(named)), f"research <{provider}>")
        for account_id, (payer, name) in named.items():
            file.add(
                "marts.dim_accounts",
                provider_name=provider,
                account_id=account_id,
                account_name=name,
                payer_account_id=payer,
                first_usage_month=date(2026, 4, 1),
                last_usage_month=date(2026, 9, 1),
            )
        name = "Amazon Elastic Compute Cloud" if provider == "AWS" else "Compute Engine"
        file.add("marts.dim_services", provider_name=provider, service_code=service, service_name=name)


def add_build_rows(file: File) -> None:
    """The published build with its gates, and a gate of an older build that must not show."""
    file.add(
        "ops.builds",
        build_id="b1",
        started_at=instant(2026, 10, 10),
        finished_at=None,
        fingerprint="f" * 64,
        code_version="c" * 64,
        is_full=True,
        months="2026-04",
        outcome="started",
    )
    for gate, detail in (
        ("dbt.costs_add_up_to_the_bill", None),
        ("gx.deliveries.rows_arrived", None),
        ("dbt.keys", "<i>checked</i>"),
    ):
        file.add("ops.gate_results", build_id="b1", gate=gate, passed=True, failing_rows=0, detail=detail)
    file.add(
        "ops.gate_results", build_id="b0", gate="dbt.of_an_older_build", passed=False, failing_rows=3, detail="not of this build"
    )


def add_odd_rows(file: File) -> None:
    """One of each: a run record, a conflict, a quarantined row, a commitment."""
    file.add(
        "ops.dim_deliveries",
        source_name="runs",
        provider_name="",
        kind="training_runs",
        partition="a~b.run.json",
        is_elected=True,
        published_at=instant(2026, 9, 30, 12),
        landed_at=instant(2026, 10, 1),
        content_hash="e" * 64,
        rows=1,
        is_book=True,
    )
    file.add(
        "marts.fct_run_conflicts",
        training_run_id="run-000",
        field="team",
        source_a="run.json",
        value_a="language",
        source_b="<tag>",
        value_b="-1+1",
        chosen="run.json",
    )
    file.add(
        "marts.fct_quarantine",
        source_name="carbon-012",
        source_object="x/y.parquet",
        row_number=7,
        column_name="total_lbm",
        value="-0.000002",
        reason="negative_emission",
        remedy="Ask the provider to publish the month again.",
    )
    file.add(
        "marts.fct_prepaid",
        provider_name="AWS",
        payer_account_id="000011112222",
        commitment_id="arn:aws:ec2:us-east-2:000011112222:capacity-block/cb-1",
        commitment_kind="capacity_block",
        usage_month=date(2026, 8, 1),
        billing_currency="USD",
        opening_cost=0,
        purchased_cost=9000,
        refunded_cost=0,
        amortised_used_cost=8400,
        amortised_unused_cost=600,
        closing_cost=0,
    )
