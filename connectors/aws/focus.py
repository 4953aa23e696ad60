"""AWS bills in FOCUS 1.0 and 1.2, as Data Exports delivers them: Parquet or CSV, one delivery per billing period and execution.

Columns keep the names that FOCUS gives them, in whichever case a file writes them. What a row is in the words of the CUR is
decided in SQL, where both exports meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from connectors.aws.bills import DATA_EXPORT, convert_bill
from connectors.aws.objects import convert_object
from connectors.aws.payers import Object, payers_in
from connectors.deliveries import Converted, Delivery
from connectors.formats.focus import CATEGORIES
from connectors.formats.lazy import pc
from connectors.formats.parquet import open_parquet, read_rows
from connectors.formats.schema import Number, Schema, Text, TextMap, Timestamp, optional, required
from connectors.formats.values import Rows, check_month, check_years
from connectors.layouts.exports import find_export_deliveries

KIND = "aws_focus"
_PAYER = "BillingAccountId"
_PERIOD, _USE = "BillingPeriodStart", ("ChargePeriodStart", "ChargePeriodEnd")
_MONEY = 1e12  # as in a CUR

# the others of the 48 columns of FOCUS 1.0 and the 60 of 1.2
_DOCUMENTED = """
BillingPeriodEnd ChargeClass CommitmentDiscountCategory CommitmentDiscountName CommitmentDiscountQuantity CommitmentDiscountUnit
ContractedUnitPrice ListUnitPrice PricingCategory PricingCurrency PricingCurrencyContractedUnitPrice PricingCurrencyEffectiveCost
PricingCurrencyListUnitPrice PricingQuantity PricingUnit PublisherName RegionName ResourceName ResourceType ServiceCategory
ServiceSubcategory SkuId SkuPriceDetails SkuPriceId SubAccountType x_Discounts
"""

_COLUMNS = (
    required(_PAYER, Text, filled=True),
    required(_PERIOD, Timestamp, filled=True),
    *(required(name, Timestamp, filled=True) for name in _USE),
    required("ChargeCategory", Text, filled=True, known=CATEGORIES),
    required("BillingCurrency", Text, filled=True),
    required("ProviderName", Text, filled=True),
    required("BilledCost", Number, filled=True, below=_MONEY),
    required("EffectiveCost", Number, filled=True, below=_MONEY),
    *optional("ListCost ContractedCost", Number, below=_MONEY),
    *optional("ConsumedQuantity", Number),
    *optional("BillingAccountName BillingAccountType InvoiceId InvoiceIssuerName SubAccountId SubAccountName", Text),
    *optional("x_ServiceCode ServiceName x_UsageType SkuMeter x_Operation ConsumedUnit ChargeDescription", Text),
    *optional("AvailabilityZone RegionId ResourceId ChargeFrequency", Text),
    *optional("CommitmentDiscountId CommitmentDiscountType CommitmentDiscountStatus", Text),
    *optional("CapacityReservationId CapacityReservationStatus", Text),
    *optional("Tags x_CostCategories", TextMap),
)

SCHEMA = Schema(
    _COLUMNS,
    documented=frozenset([*_DOCUMENTED.split(), *_DOCUMENTED.lower().split()]),
    remedy_page="docs/sources/aws_focus.md",
    measures={column.name: 12 for column in _COLUMNS if column.type == Number},
)
_BY_LOWER_CASE = {name.lower(): name for name in SCHEMA.names}

LAYOUTS = (DATA_EXPORT,)
find_deliveries = partial(find_export_deliveries, kind=KIND, layouts=LAYOUTS)


def convert(delivery: Delivery, files: dict[str, Path], folder: Path, store_uri: str) -> Converted:
    """Check the landed objects; write a typed copy of a CSV, or of a Parquet file with other names, into `folder`.

    Rows without a payer get the only payer that the delivery names; where it names several, it is refused.
    """
    payers = partial(payers_in, column=_PAYER, in_csv=lambda csv, header: (_sources(header)[_PAYER],))
    return convert_bill(delivery, files, store_uri, partial(_convert_object, delivery.partition, folder), payers, _PAYER)


def _convert_object(month: str, folder: Path, one: Object, payer: str | None) -> Converted:
    constants = {_PAYER: payer} if payer else {}
    check = partial(_check_rows, month)
    return convert_object(SCHEMA, one, folder, _sources, lambda sources: constants, SCHEMA.check_names, check)


def _sources(names: Sequence[str]) -> dict[str, str]:
    """Which column of a file gives which declared one; the declared spelling comes before any other case of it."""
    found = {_BY_LOWER_CASE[name.lower()]: name for name in names if name.lower() in _BY_LOWER_CASE}
    return found | {name: name for name in names if name in found}


def _check_rows(month: str, path: Path, key: str, uri: str) -> None:
    """Refuse rows of another provider, a bill in the folder of another month, and use in no month at all."""
    for rows, batch in read_rows(open_parquet(path, key, uri), [_PERIOD, *_USE, "ProviderName"], Rows(key, uri)):
        provider = batch.column("ProviderName").cast("string")
        is_aws = pc.match_substring_regex(provider, r"^(AWS|Amazon)\b")
        rows.check("ProviderName", provider, is_aws, "where AWS is expected", "wrong_value")
        check_month(_PERIOD, batch.column(_PERIOD), month, rows)
        for name in _USE:
            check_years(name, batch.column(name), rows)
