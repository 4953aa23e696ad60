"""Google's worked examples of commitments, before and after its change of model: an hour of an E2-Standard-8, 8 GiB and 32 cores.

https://docs.cloud.google.com/docs/cuds-multiprice-datamodel, "Example scenarios before and after" (read 2026-11-22): what each
row costs and what its credits take off. Each example is a billing account of its own here; its usage rows carry the run `worked`.
The page calls the fee's SKU "Fee SKU"; rows have the name that Google bills it by.
"""

from decimal import Decimal

from .google_builders import credits_of, labels_of, tpu_hour

FEE = "Commitment - dollar based v1: GCE for 1 year"
WORDING = {"RAM": "E2 Instance Ram running in Americas", "CORE": "E2 Instance Core running in Americas"}
UNIT = {"RAM": ("gibibyte hour", 8), "CORE": ("hour", 32)}
RUN = "worked"
HOUR = "2025-07-10T10:00:00"
OLD, NEW = "DOLLAR_BASE", "OFFSET"
_CREDIT = {OLD: "COMMITTED_USAGE_DISCOUNT_DOLLAR_BASE", NEW: "FEE_UTILIZATION_OFFSET"}

# account -> rows: what is billed (a fee and the SKU that it pays for, or usage), cost, credit
EXAMPLES: dict[str, tuple[str, list[tuple[str, str, str, str]]]] = {
    "OVER-USED-OLD": (OLD, [
        ("fee", "RAM", "0.046868", ""), ("fee", "CORE", "0.025132", ""),
        ("usage", "RAM", "0.174496", "-0.065095"), ("usage", "CORE", "0.093568", "-0.034905"),
    ]),
    "OVER-USED-NEW": (NEW, [
        ("fee", "RAM", "0.046868", "-0.046868"), ("fee", "CORE", "0.025132", "-0.025132"),
        ("usage", "RAM", "0.109398", ""), ("usage", "CORE", "0.058648", ""),
        ("covered", "RAM", "0.046868", ""), ("covered", "CORE", "0.025132", ""),
    ]),
    "UNDER-USED-OLD": (OLD, [
        ("fee", "", "0.022994", ""), ("fee", "RAM", "0.125637", ""), ("fee", "CORE", "0.067369", ""),
        ("usage", "RAM", "0.174496", "-0.174496"), ("usage", "CORE", "0.093568", "-0.093568"),
    ]),
    "UNDER-USED-NEW": (NEW, [
        ("fee", "", "0.022994", ""), ("fee", "RAM", "0.125637", "-0.1256348"), ("fee", "CORE", "0.067369", "-0.0673581"),
        ("covered", "RAM", "0.125637", ""), ("covered", "CORE", "0.067369", ""),
    ]),
}  # fmt: skip
# Google's own totals, and what of them no usage used: of the last its waste of 0.022994 and what two fees keep after their offset
TOTALS = {"OVER-USED-OLD": "0.240064", "OVER-USED-NEW": "0.240046", "UNDER-USED-OLD": "0.216000", "UNDER-USED-NEW": "0.2160131"}
UNUSED = {"OVER-USED-OLD": "0", "OVER-USED-NEW": "0", "UNDER-USED-OLD": "0.022994", "UNDER-USED-NEW": "0.0230071"}


def example_rows(account: str) -> list[dict]:
    """The rows of an example; costs are decimals, for a table whose costs are NUMERIC."""
    model, stated = EXAMPLES[account]
    return [_row(account, model, *row) for row in stated]


def _row(account: str, model: str, what: str, sku: str, cost: str, credit: str) -> dict:
    columns: dict = {
        "billing_account_id": account,
        "cost_at_list": Decimal(cost),
        "location": {"region": "us-central1"},
        "resource": None,
        "credits": credits_of(**{_CREDIT[model]: float(credit)}) if credit else [],
        "invoice": {"month": "202507"},
    }
    if what == "fee":
        labels = labels_of(**{"goog-originating-sku-id": sku}) if sku else []
        columns |= {"sku": {"id": "FEE", "description": FEE}, "labels": labels, "subscription": {"instance_id": model}}
        columns |= {"usage": {}, "location": None, "consumption_model": {"description": "Default"}}
    else:
        unit, amount = UNIT[sku]
        columns |= {"sku": {"id": sku, "description": WORDING[sku]}, "labels": labels_of(training_run_id=RUN)}
        columns["usage"] = {"amount_in_pricing_units": float(amount), "pricing_unit": unit}
    if what == "covered":
        columns |= {"subscription": {"instance_id": model}, "consumption_model": {"description": "Compute Flexible CUDs 1 Year"}}
    return tpu_hour(HOUR, Decimal(cost), "", **columns)
