"""Energy and modelled emissions of a small publication, and where the model meets the provider: plain factors of a run's dollars.

Chips 2 kWh a dollar on Trainium, 1.5 on TPU; host 25 % more, network and storage 5 %, PUE 1.1; bounds 0.8 and 1.25.
"""

from datetime import date
from decimal import Decimal

from tests.reports.published_file import File
from tests.reports.published_rows import Run, cell_of

BOUNDARIES = {
    "chip": Decimal(1),
    "chip_host": Decimal("1.25"),
    "it": Decimal("1.3125"),
    "facility": Decimal("1.44375"),
}
BOUNDS = {"": Decimal(1), "_low": Decimal("0.8"), "_high": Decimal("1.25")}
FACTORS = {"AWS": ("egrid2023-rfcw", "RFCW", Decimal("0.431")), "Google Cloud": ("google2024-us-ia", "US-IA", Decimal("0.298"))}
SCOPE_2 = "provider_scope_2_location_based_kgco2e"


def nine(value: Decimal) -> Decimal:
    return value.quantize(Decimal("1e-9"))


def chip_energy(run: Run) -> Decimal:
    return run.dollars * (Decimal("1.5") if run.family == "tpu" else Decimal(2))


def add_energy_rows(file: File, run: Run, month: date) -> None:
    """A run without power has its row and no figure; its chips were held all the same."""
    values: dict[str, Decimal | None] = {
        f"{name}_energy_kwh{end}": nine(chip_energy(run) * factor * bound) if run.has_power else None
        for name, factor in BOUNDARIES.items()
        for end, bound in BOUNDS.items()
    }
    facility = values["facility_energy_kwh"]
    observed = Decimal("0.9") if run.has_telemetry else Decimal(0)
    hours = Decimal(run.dollars) * 4
    parts = {"measured": 0, "driver_power": 0, "utilisation_model": observed, "time_model": 1 - observed}
    file.add(
        "marts.fct_training_run_energy",
        training_run_id=run.id,
        usage_month=month,
        **values,
        idle_share_facility_energy_kwh=None if facility is None else nine(facility / 8),
        **{f"energy_kwh_{name}": None if facility is None else nine(facility * share) for name, share in parts.items()},
        energy_basis="time_model",
        power_confidence="published" if run.family == "tpu" else "third_party",
        telemetry_coverage_ratio=float(observed),
        power_coverage_ratio=0.0,
        use_coverage_ratio=float(observed),
        reserved_chip_hours=hours,
        busy_chip_hours=nine(hours * observed * Decimal("0.75")) if run.has_telemetry else None,
        pue_ratio=1.1 if run.has_power else None,
        pue_source="Provider's fact sheet, 2025, fleet" if run.has_power else None,
    )
    factor_id, _, factor = FACTORS[run.provider]
    file.add(
        "marts.fct_training_run_emissions_modelled",
        training_run_id=run.id,
        usage_month=month,
        region_id=run.region,
        factor_set_id="location_direct_v1",
        facility_energy_kwh=facility,
        **{
            f"modelled_location_based_kgco2e{end}": None if facility is None else nine(facility * factor * bound)
            for end, bound in BOUNDS.items()
        },
        factor_id=factor_id,
        factor_age_years=2,
    )


def add_factor_rows(file: File) -> None:
    for provider, (factor_id, zone, value) in FACTORS.items():
        file.add(
            "marts.dim_emission_factors",
            factor_id=factor_id,
            factor_set_id="location_direct_v1",
            grid_zone=zone,
            method="location_based",
            basis="direct",
            data_year=2024,
            valid_from=date(2024, 1, 1),
            valid_to=date(2029, 1, 1),
            known_from=date(2026, 1, 15),
            value=value,
            unit="kgCO2e/kWh",
            gases="CO2 CH4 N2O",
            gwp_set="AR5",
            source="US EPA eGRID2023" if provider == "AWS" else "Google region table, commit 1a2b3c4",
            source_date=date(2026, 1, 15),
            licence="US government work" if provider == "AWS" else "Apache-2.0",
            confidence="high",
            note=None,
        )


def add_modelled_reconciliation(file: File) -> None:
    """Per provider cell: the Scope 2 of its runs beside their modelled emissions; nothing where one side is not published."""
    modelled = {
        (row["training_run_id"], row["usage_month"]): row["modelled_location_based_kgco2e"]
        for row in file.rows.get("marts.fct_training_run_emissions_modelled", [])
    }
    cells: dict[tuple, list[tuple[Decimal, Decimal | None]]] = {}
    for row in file.rows.get("marts.fct_run_cell_emissions", []):
        key = (*cell_of(row).values(), row["provider_model_version"])
        cells.setdefault(key, []).append((row[SCOPE_2], modelled[row["training_run_id"], row["usage_month"]]))
    totals: dict[tuple, Decimal] = {}
    for table in ("marts.fct_run_cell_emissions", "marts.fct_residual_emissions"):
        for row in file.rows.get(table, []):
            key = (*cell_of(row).values(), row["provider_model_version"])
            totals[key] = totals.get(key, Decimal(0)) + row[SCOPE_2]
    names = list(cell_of(file.rows["marts.fct_run_cell_emissions"][0])) if cells else []
    for key, runs in cells.items():
        provider = sum((mass for mass, _ in runs), Decimal(0))
        known = [mass for _, mass in runs if mass is not None]
        total = sum(known, Decimal(0)) if len(known) == len(runs) else None
        file.add(
            "marts.fct_reconciliation",
            **dict(zip(names, key[:-1], strict=True)),
            measure=SCOPE_2,
            unit_or_currency="kgCO2e",
            provider_model_version=key[-1],
            method="modelled_vs_provider",
            is_elected=False,
            provider_total=totals[key],
            runs_total=provider,
            residual_total=None,
            quarantined_total=None,
            difference=None if total is None else provider - total,
            modelled_total=total,
            ratio=None if total is None else round(float(total) / float(provider), 9),
            weight_coverage_ratio=None,
            reason=None if total is not None else f"modelled for {len(known)} of {len(runs)} runs",
        )
