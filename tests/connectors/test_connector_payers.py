"""A row without a payer or billing account is of the only one that its delivery names, in every kind that has one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from connectors.errors import ExportContentError
from connectors.registry import DESCRIPTORS
from tests.connectors.aws_focus import focus_row, write_focus
from tests.connectors.bills import csv_export, csv_line, overwrite
from tests.connectors.focus import FOCUS, focus_line
from tests.connectors.gcp import CARBON as EMISSIONS
from tests.connectors.gcp import DAY, EMISSION, line, write_lines, write_partition
from tests.connectors.kit import CARBON, LINE, converted, rows_of, table, write_csv, write_manifest
from tests.connectors.test_connector_aws_carbon import export

PAYER, OTHER = "000000000017", "000000000018"
Write = Callable[[Path, Sequence[str | None]], object]


def cur_csv(folder: Path, payers: Sequence[str | None]) -> None:
    csv_export(folder, *(csv_line().replace(PAYER, payer or "", 1) for payer in payers))


def carbon_csv(folder: Path, payers: Sequence[str | None]) -> None:
    lines = (f"{payer or ''},012345678901,2026-04-01T00:00:00Z,1.5" for payer in payers)
    export(folder, "\n".join(["payer_account_id,usage_account_id,usage_period_start,total_lbm_emissions_value", *lines]) + "\n")


def focus_csv(folder: Path, payers: Sequence[str | None]) -> None:
    """Named in lower case."""
    names = "billingaccountid,billingperiodstart,chargeperiodstart,chargeperiodend,chargecategory,billingcurrency,providername"
    at = "2026-04-01 00:00:00"
    rows = (f"{one or ''},{at},{at},2026-04-01 01:00:00,Usage,USD,AWS,1,1" for one in payers)
    key = "data/BILLING_PERIOD=2026-04/focus-00001.csv.gz"
    write_csv(folder / key, "\n".join([f"{names},billedcost,effectivecost", *rows]) + "\n")
    write_manifest(folder / "metadata/BILLING_PERIOD=2026-04/Manifest.json", [key])


def google_files(folder: Path, payers: Sequence[str | None]) -> None:
    """A file for each row: what names the account may lie in another file of the same day."""
    for number, payer in enumerate(payers):
        write_partition(folder, DAY, line(billing_account_id=payer), name=f"part-{number}")


FORMS: dict[str, tuple[str, Write]] = {
    "aws_cur": (
        "aws_cur",
        lambda folder, payers: overwrite(folder, *(LINE | {"bill_payer_account_id": one, "new_column": "x"} for one in payers)),
    ),
    "aws_cur csv": ("aws_cur", cur_csv),
    "aws_focus": (
        "aws_focus",
        lambda folder, payers: write_focus(folder, *(focus_row(BillingAccountId=one) for one in payers)),
    ),
    "aws_focus csv": ("aws_focus", focus_csv),
    "aws_carbon": (
        "aws_carbon",
        lambda folder, payers: export(folder, table(*(CARBON | {"payer_account_id": one} for one in payers))),
    ),
    "aws_carbon csv": ("aws_carbon", carbon_csv),
    "gcp_billing": ("gcp_billing", google_files),
    "gcp_billing json": (
        "gcp_billing",
        lambda folder, payers: write_lines(folder, DAY, *(line(billing_account_id=one) for one in payers)),
    ),
    "gcp_focus": (
        "gcp_focus",
        lambda folder, payers: write_partition(folder, DAY, *(focus_line(BillingAccountId=one) for one in payers), schema=FOCUS),
    ),
    "gcp_carbon": (
        "gcp_carbon",
        lambda folder, payers: write_partition(
            folder,
            "2026-04-01",
            # rows that are equal in all else are one row, which Google delivered twice
            *(EMISSION | {"billing_account_id": one, "carbon_model_version": at} for at, one in enumerate(payers)),
            schema=EMISSIONS,
        ),
    ),
}


def test_every_kind_that_has_payers_is_asked() -> None:
    assert {kind for kind, _ in FORMS.values()} == {kind for kind, one in DESCRIPTORS.items() if one.payer_column}


@pytest.mark.parametrize("empty", [None, ""])
@pytest.mark.parametrize("form", FORMS)
def test_a_row_without_a_payer_takes_the_only_one_of_its_delivery(form: str, empty: str | None, tmp_path: Path) -> None:
    kind, write = FORMS[form]
    write(tmp_path / "source", [PAYER, empty, PAYER])
    result = converted(kind, tmp_path / "source", tmp_path / "landing")
    rows = rows_of(result)
    assert {row[DESCRIPTORS[kind].payer_column or ""] for row in rows} == {PAYER}
    assert (result.rows, result.refusals) == (len(rows), ())
    assert len([row for row in rows if row.get("part") != "credit"]) == 3, "no row is left out"
    assert result.unknown_columns == (("new_column",) if form == "aws_cur" else ())


@pytest.mark.parametrize("payers", [[PAYER, OTHER, ""], ["", ""]], ids=["several", "none"])
@pytest.mark.parametrize("form", FORMS)
def test_a_row_without_a_payer_is_refused_where_the_delivery_names_none_or_several(
    form: str, payers: list[str], tmp_path: Path
) -> None:
    kind, write = FORMS[form]
    write(tmp_path / "source", payers)
    with pytest.raises(ExportContentError) as caught:
        converted(kind, tmp_path / "source", tmp_path / "landing")
    row = 1 if form == "gcp_billing" else payers.index("") + 1
    assert (caught.value.reason, caught.value.row_number) == ("missing_value", row)
    assert "ccount" in (caught.value.column_name or "")
