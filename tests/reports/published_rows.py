"""The rows of a small publication: what one run, one payer and one month put into each table of the contract.

Costs and masses come from small integers by a formula, never at random, so that a figure in a test can be computed by hand.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from tests.reports.published_file import File

MONTHS = tuple(date(2026, month, 1) for month in range(4, 10))
PAYERS = ("012345678901", "210987654321")
BILLING_ACCOUNT = "01A2B3-C4D5E6-F70819"
PLACES = {  # sub-account, service and region of everything a cloud's runs use; model version of its carbon
    "AWS": ("000011112222", "AmazonEC2", "us-east-2", "v3.0.1"),
    "Google Cloud": ("112233445566", "6F81-5844-456A", "us-central1", "11"),
}
LOCATION, MARKET = "provider_total_location_based_kgco2e", "provider_total_market_based_kgco2e"
MASS_FACTORS = {
    "provider_scope_1_kgco2e": Decimal("0.01"),
    "provider_scope_2_location_based_kgco2e": Decimal("0.80"),
    "provider_scope_2_market_based_kgco2e": Decimal("0.15"),
    "provider_scope_3_location_based_kgco2e": Decimal("0.19"),
    "provider_scope_3_market_based_kgco2e": Decimal("0.14"),
    "provider_scope_3_unsplit_kgco2e": None,
    LOCATION: Decimal("1.00"),
    MARKET: Decimal("0.30"),
}
GOOGLE_FACTORS = {  # Google does not split Scope 3 by method
    **MASS_FACTORS,
    "provider_scope_3_location_based_kgco2e": None,
    "provider_scope_3_market_based_kgco2e": None,
    "provider_scope_3_unsplit_kgco2e": Decimal("0.19"),
    MARKET: Decimal("0.35"),
}


def instant(year: int, month: int, day: int, *time: int) -> datetime:
    """A UTC instant as the published file holds it: without an offset."""
    return datetime(year, month, day, *time, tzinfo=UTC).replace(tzinfo=None)


@dataclass(frozen=True)
class Run:
    """One run of the fixture: what it is called and how much it is worth a month."""

    id: str
    team: str | None
    model: str | None
    accelerator: str = "trn2.48xlarge"
    family: str = "trainium"
    state: str = "succeeded"
    dollars: int = 1000
    months: tuple[date, ...] = MONTHS
    payer: str = PAYERS[0]
    currency: str = "USD"
    workload: str | None = None
    pair: str | None = None
    useful_tokens: int | None = None
    has_power: bool = True
    has_telemetry: bool = True

    @property
    def provider(self) -> str:
        return "Google Cloud" if self.family == "tpu" else "AWS"

    @property
    def region(self) -> str:
        return PLACES[self.provider][2]


def provider_of(payer: str) -> str:
    return "Google Cloud" if payer == BILLING_ACCOUNT else "AWS"


def source_of(payer: str, kind: str) -> str:
    return f"gcp-{kind}" if payer == BILLING_ACCOUNT else f"{kind}-{payer[:3]}"


CELL = ("source_name", "provider_name", "payer_account_id", "sub_account_id", "service_code", "region_id", "usage_month")


def _cell(payer: str, month: date, kind: str, region: str | None = None) -> dict[str, object]:
    provider = provider_of(payer)
    account, service, home, _ = PLACES[provider]
    return dict(
        zip(
            CELL,
            (source_of(payer, kind), provider, payer, account, service, home if region is None else region, month),
            strict=True,
        )
    )


def cell_of(row: dict[str, object]) -> dict[str, object]:
    return {name: row[name] for name in CELL}


def _masses(kg: Decimal, payer: str) -> dict[str, Decimal | None]:
    factors = GOOGLE_FACTORS if payer == BILLING_ACCOUNT else MASS_FACTORS
    return {name: None if factor is None else (kg * factor).quantize(Decimal("1e-9")) for name, factor in factors.items()}


def add_run_rows(file: File, run: Run) -> None:
    start = instant(run.months[0].year, run.months[0].month, 3, 4, 5, 6) if run.months else None
    file.add(
        "marts.dim_training_runs",
        training_run_id=run.id,
        recorded_id=run.id.upper(),
        provider_name=run.provider,
        accelerator_family=run.family,
        accelerator_type=run.accelerator,
        is_multi_accelerator=False,
        region_id=run.region,
        is_multi_region=False,
        sub_account_id=PLACES[run.provider][0],
        is_multi_account=False,
        team=run.team,
        model_name=run.model,
        framework="jax",
        workload_key=run.workload,
        pair_key=run.pair,
        started_at=start,
        ended_at=start and start + timedelta(days=60 if len(run.months) > 1 else 20),
        state=run.state,
        attempt_count=2 if run.state == "interrupted" else 1,
        chip_count=16,
        chip_equivalents=Decimal(16),
        tokens=10**12,
        useful_tokens=run.useful_tokens,
        steps=10_000,
        model_flops=None,
        target_metric=None,
        target_direction=None,
        target_value=None,
        final_value=None,
        is_target_reached=None,
        is_end_known=True,
    )


def add_cost_rows(file: File, run: Run, month: date, list_known: bool) -> None:
    rule, confidence = ("tag", "high") if run.dollars % 2 else ("resource_time", "medium")
    for component, share in (("accelerator", Decimal("0.92")), ("storage", Decimal("0.08"))):
        cost = (run.dollars * share).quantize(Decimal("1e-12"))
        known = list_known or component == "accelerator"
        costs = {
            "billed_cost": cost * Decimal("1.1"),
            "effective_cost": cost,
            "list_cost": cost * 2 if known else None,
            "contracted_cost": None,
            "idle_share_billed_cost": cost / 16,
            "idle_share_effective_cost": cost / 16,
        }
        keys = {
            "training_run_id": run.id,
            "billing_currency": run.currency,
            "cost_component": component,
            "attribution_rule": rule,
        }
        status = "preliminary" if month >= date(2026, 9, 1) else "final"
        file.add(
            "marts.fct_training_run_costs",
            **keys,
            usage_month=month,
            attribution_confidence=confidence,
            **costs,
            list_cost_coverage_ratio=1.0,
            status=status,
            reporting_currency_effective_cost=cost if run.currency == "USD" else None,
            effective_cost_with_list=cost,
            on_demand_list_cost=costs["list_cost"],
        )
        file.add(
            "marts.fct_run_cell_costs",
            **keys,
            **_cell(run.payer, month, "cur"),
            **costs,
        )


def add_emission_rows(file: File, run: Run, month: date, published: bool) -> None:
    masses, version = _masses(Decimal(run.dollars) / 4, run.payer), PLACES[run.provider][3]
    values = masses if published else dict.fromkeys(MASS_FACTORS)
    if published:
        cell = _cell(run.payer, month, "carbon")
        whole = {"weight_numerator": "1", "weight_denominator": "1"}  # no two runs share a cell here
        file.add(
            "marts.fct_run_cell_emissions", training_run_id=run.id, **cell, provider_model_version=version, **masses, **whole
        )
    file.add(
        "marts.fct_training_run_emissions",
        training_run_id=run.id,
        usage_month=month,
        provider_name=run.provider,
        provider_model_version=version if published else None,
        **values,
        idle_share_location_based_kgco2e=None,
        idle_share_market_based_kgco2e=None,
        reporter_scope=3,
        reporter_scope_3_category=1,
        allocation_confidence="medium",
        status="preliminary" if published else "not_published",
    )


RESIDUALS = {
    "idle": ("accelerator", "trn1.32xlarge", 1900),
    "unused_commitment": ("fee", "trn1", 600),
    "non_accelerator": ("other_usage", "", 5200),
    "unlogged": ("accelerator", "", 450),
    "tax": ("fee", "", 811),
    "credit": ("credit", "", -250),
    "rounding": ("fee", "", 0),
}


def add_residual_rows(file: File, payer: str, month: date, carbon: bool, currency: str) -> None:
    for reason, (component, accelerator_type, dollars) in RESIDUALS.items():
        billed = Decimal("0.000000000071") if reason == "rounding" else Decimal(dollars)
        effective = Decimal(0) if reason in ("rounding", "credit") else Decimal(dollars)
        file.add(
            "marts.fct_residual_costs",
            **_cell(payer, month, "cur"),
            billing_currency=currency,
            cost_component=component,
            accelerator_type=accelerator_type,
            reason=reason,
            billed_cost=billed,
            effective_cost=effective,
            list_cost=None,
            contracted_cost=None,
            spread_billed_cost=Decimal(0),
            spread_effective_cost=Decimal(0),
        )
    places = (
        ("idle", 480, None),
        ("non_accelerator", 1300, None),
        ("non_accelerator", 90, "eu-north-1"),
        ("global", 33, ""),
    )
    for reason, kg, region in places if carbon else ():
        file.add(
            "marts.fct_residual_emissions",
            **_cell(payer, month, "carbon", region),
            provider_model_version=PLACES[provider_of(payer)][3],
            reason=reason,
            **_masses(Decimal(kg), payer),
            spread_location_based_kgco2e=None,
            spread_market_based_kgco2e=None,
        )


def add_reconciliation(file: File) -> None:
    """The conservation rows of what was added, cell by cell: sums of runs and residuals, difference zero."""
    sums: dict[tuple, list[Decimal]] = {}
    for table, side in (("run_cell_costs", 0), ("residual_costs", 1), ("run_cell_emissions", 0), ("residual_emissions", 1)):
        for row in file.rows.get(f"marts.fct_{table}", []):
            costs = ("billed_cost", "effective_cost")
            measures = costs if "billed_cost" in row else tuple(name for name in MASS_FACTORS if row[name] is not None)
            unit = row.get("billing_currency", "kgCO2e")
            for measure in measures:
                key = (*cell_of(row).values(), measure, unit, row.get("provider_model_version", ""))
                sums.setdefault(key, [Decimal(0), Decimal(0)])[side] += row[measure]
    for key, (runs, residual) in sums.items():
        cell = dict(zip(CELL, key[:7], strict=True))
        file.add(
            "marts.fct_reconciliation",
            **cell,
            measure=key[7],
            unit_or_currency=key[8],
            provider_model_version=key[9],
            method="conservation",
            provider_total=runs + residual,
            runs_total=runs,
            residual_total=residual,
            quarantined_total=Decimal(0),
            difference=Decimal(0),
            modelled_total=None,
            ratio=None,
            weight_coverage_ratio=1.0 if key[9] else None,
            reason=None,
            is_elected=True,
        )
