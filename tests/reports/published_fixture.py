"""Writes small published DuckDB files for report tests: an organisation of the usual, and names that mean harm."""

from datetime import date
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.reports.published_energy import add_energy_rows, add_factor_rows, add_modelled_reconciliation
from tests.reports.published_file import File
from tests.reports.published_reference import (
    add_build_rows,
    add_delivery_rows,
    add_google_reference_rows,
    add_names,
    add_odd_rows,
    add_reference_rows,
)
from tests.reports.published_rows import (
    BILLING_ACCOUNT,
    MONTHS,
    PAYERS,
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
    Run("run-bidi", "a\"b'c & <b>", "@model\u202etxt", dollars=640, state="failed", has_power=False),
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
TWO_RUNS = (
    Run("run-a", "language", "llama-8b", dollars=1000, months=MONTHS[:3]),
    Run("run-b", None, "vit-huge", accelerator="trn1.32xlarge", dollars=501, months=MONTHS[1:2], state="failed"),
)
PAIR_RATIOS = {  # TPU dollars for 100 of Trainium, pair by pair
    "llm-8b": (71, 74, 69, 78, 72, 70, 75, 73),
    "bert-large": (96, 105, 99, 110, 92, 101, 103, 97),
    "vit-huge": (93, 88),
}
PAIRED = tuple(
    Run(
        f"{workload}-{'tpu' if family == 'tpu' else 'trn'}-{n:02d}",
        "language",
        workload,
        ("v6e", "v5e")[workload != "llm-8b"] if family == "tpu" else "trn2.48xlarge",
        family,
        dollars=(900 + 37 * n) * (ratio if family == "tpu" else 100) // 100,
        months=MONTHS[n % 2 * 3 : n % 2 * 3 + 1],
        payer=BILLING_ACCOUNT if family == "tpu" else PAYERS[0],
        workload=workload,
        pair=f"{workload}-pair-{n:02d}",
        useful_tokens=2 * 10**9 + (10**8 if n == 1 and family == "tpu" else 0),
        has_telemetry=n % 5 != 4,
    )
    for workload, ratios in PAIR_RATIOS.items()
    for n, ratio in enumerate(ratios)
    for family in ("trainium", "tpu")
)
TPU_ALONE = tuple(
    Run(f"tpu-only-{n}", "vision", "moe-120b", "v5p", "tpu", state, 800, MONTHS[n : n + 2], BILLING_ACCOUNT, workload="moe-120b")
    for n, state in enumerate(("succeeded", "failed", "interrupted"))
)


def write_published(
    path: Path,
    runs: tuple[Run, ...] = (*USUAL, *HOSTILE, *PAIRED, *TPU_ALONE),
    *,
    carbon_until: date = date(2026, 8, 1),
    payers: tuple[str, ...] = (*PAYERS, BILLING_ACCOUNT),
    list_known: bool = False,
    with_odd_rows: bool = True,
) -> Path:
    """A published file of April to September 2026. Carbon after `carbon_until` is not published."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_published(runs, carbon_until, payers, list_known, with_odd_rows))
    return path


@cache
def _published(
    runs: tuple[Run, ...], carbon_until: date, payers: tuple[str, ...], list_known: bool, with_odd_rows: bool
) -> bytes:
    """The file's bytes: most tests change a copy of the same one."""
    file = File()
    currencies = {run.payer: run.currency for run in runs}
    for run in runs:
        add_run_rows(file, run)
        for month in run.months:
            add_cost_rows(file, run, month, list_known)
            add_emission_rows(file, run, month, month <= carbon_until)
            add_energy_rows(file, run, month)
    for payer in payers:
        for month in MONTHS:
            add_residual_rows(file, payer, month, month <= carbon_until, currencies.get(payer, "USD"))
            add_delivery_rows(file, payer, month, month <= carbon_until)
    add_reconciliation(file)
    add_modelled_reconciliation(file)
    add_factor_rows(file)
    add_names(file, payers)
    add_reference_rows(file)
    add_google_reference_rows(file)
    add_build_rows(file)
    if with_odd_rows:
        add_odd_rows(file)
    with TemporaryDirectory() as folder:
        file.write(path := Path(folder) / "trainledger.duckdb")
        return path.read_bytes()
