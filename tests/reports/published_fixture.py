"""Writes small published DuckDB files for report tests: an organisation of the usual, and names that mean harm."""

from datetime import date
from pathlib import Path

from tests.reports.published_reference import add_build_rows, add_delivery_rows, add_odd_rows, add_reference_rows
from tests.reports.published_rows import (
    MONTHS,
    PAYERS,
    File,
    Run,
    add_cost_rows,
    add_emission_rows,
    add_reconciliation,
    add_residual_rows,
    add_run_rows,
)

TEAMS = ("language", "vision", "speech", None)
STATES = ("succeeded", "succeeded", "failed", "interrupted", "succeeded", "running")
HOSTILE = (
    Run("run-hostile", '<script>alert("team")</script>', '=HYPERLINK("http://evil.example","x")', dollars=7000),
    Run("run-bidi", "a\"b'c & <b>", "@model\u202etxt", dollars=640, state="failed"),
)
USUAL = tuple(
    Run(
        f"run-{n:03d}",
        TEAMS[n % 4],
        ("llama-8b", "vit-huge", "whisper-like")[n % 3],
        ("trn1.32xlarge", "trn2.48xlarge")[n % 2],
        state=STATES[n % 6],
        dollars=400 + 173 * n % 2900,
        months=MONTHS[n % 4 : n % 4 + 3],
        payer=PAYERS[n % 2],
    )
    for n in range(24)
)


def write_published(
    path: Path,
    runs: tuple[Run, ...] = (*USUAL, *HOSTILE),
    *,
    carbon_until: date = date(2026, 8, 1),
    payers: tuple[str, ...] = PAYERS,
    list_known: bool = False,
    with_odd_rows: bool = True,
) -> Path:
    """A published file of April to September 2026. Carbon after `carbon_until` is not published."""
    file = File()
    currencies = {run.payer: run.currency for run in runs}
    for run in runs:
        add_run_rows(file, run)
        for month in run.months:
            add_cost_rows(file, run, month, list_known)
            add_emission_rows(file, run, month, month <= carbon_until)
    for payer in payers:
        for month in MONTHS:
            add_residual_rows(file, payer, month, month <= carbon_until, currencies.get(payer, "USD"))
            add_delivery_rows(file, payer, month, month <= carbon_until)
    add_reconciliation(file)
    add_reference_rows(file)
    add_build_rows(file)
    if with_odd_rows:
        add_odd_rows(file)
    file.write(path)
    return path
