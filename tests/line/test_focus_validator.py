"""The validator of the FinOps Foundation over `export focus --version 1.0`, in an environment of its own.

`focus-validator` 1.0.0 is the newest on the package index and knows FOCUS 1.0. Six of its checks fail for a fault of its own,
whatever the file: docs/handover/focus.md has them.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.warm import run_trainledger

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = Path(os.environ.get("TRAINLEDGER_FOCUS_VALIDATOR") or ROOT / ".venv-focus")
FAULTS = {  # names that 1.0 does not have; a column that it does not have; ids of digits that it reads as numbers
    *("InvoiceIssuer_Required", "Provider_Required", "Publisher_Required", "ResourceID_Required"),
    *("SkuPriceId_Nullable", "SubAccountId_IsString"),
}
PAGE = ROOT / "docs" / "handover" / "focus.md"


def failed_by(file: Path) -> set[str]:
    """The checks that a file fails."""
    program = ENVIRONMENT / "bin" / "focus-validator"
    if not program.exists():
        reason = f"{ENVIRONMENT.name} is missing: `make .venv-focus/installed` makes it, on Python up to 3.12"
        if os.environ.get("CI") and sys.version_info < (3, 13):
            pytest.fail(reason)
        pytest.skip(reason)
    (packages,) = ENVIRONMENT.glob("lib/python*/site-packages")  # it opens its list of currencies by a relative path
    command = [program, "--data-file", file, "--validate-version", "1.0"]
    done = subprocess.run(command, cwd=packages, env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, check=False)
    assert done.stdout.rstrip().endswith("Validation failed!"), done.stderr
    return {line.split()[0] for line in done.stdout.splitlines() if line.endswith(" failed:")}


@pytest.fixture(scope="module")
def exported(demo_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("focus") / "focus.csv"
    made = run_trainledger("export", "focus", "--version", "1.0", "--out", file, "--config", demo_home / "trainledger.yaml")
    assert made.returncode == 0, made.stderr
    return file


@pytest.mark.slow
def test_the_validator_of_the_foundation_fails_the_export_of_1_0_by_its_own_faults_alone(exported: Path) -> None:
    assert failed_by(exported) == FAULTS
    assert [name for name in FAULTS if name not in PAGE.read_text()] == []


@pytest.mark.slow
def test_the_validator_fails_a_file_that_is_wrong(exported: Path, tmp_path: Path) -> None:
    with exported.open(newline="") as file:
        rows = list(csv.DictReader(file))
    rows[0] |= {"ChargeFrequency": "Monthly", "CommitmentDiscountStatus": "Idle", "BillingCurrency": "dollars"}
    names = [name for name in rows[0] if name != "ListCost"]
    with (tmp_path / "wrong.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, names, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    assert failed_by(tmp_path / "wrong.csv") - FAULTS == {
        *("ChargeFrequency_Enum", "CommitmentDiscountStatus_Enum", "BillingCurrency_IsCurrencyCode", "ListCost_Required")
    }
