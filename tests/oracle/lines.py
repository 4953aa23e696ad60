"""One bill row as the ledger sees it: its cell, kind, component and cost measures before anything is amortised or attributed."""

import re
from dataclasses import dataclass, field
from datetime import date, datetime
from fractions import Fraction

from . import facts, tags
from .exports import moment
from .numerals import MONEY, hours_to_microseconds, units
from .pods import COLUMNS as OF_PODS
from .pods import Name, Pod, pod_of
from .records import microseconds

PODS = {"EKSPod-EC2", "ECSTask-EC2"}  # each repeats a part of its instance's row
USAGE = {"Usage", "DiscountedUsage", "SavingsPlanCoveredUsage"}
SAVINGS_PLAN_PAIR = {"SavingsPlanCoveredUsage", "SavingsPlanNegation"}

COLUMNS = {
    "bill_invoice_id", "bill_invoicing_entity",
    "bill_payer_account_id", "line_item_usage_account_id", "line_item_line_item_type", "line_item_usage_start_date",
    "line_item_usage_end_date", "line_item_product_code", "line_item_usage_type", "line_item_availability_zone",
    "line_item_resource_id", "line_item_line_item_description", "line_item_usage_amount", "line_item_currency_code",
    "line_item_operation",
    "line_item_unblended_cost", "line_item_net_unblended_cost",
    "pricing_public_on_demand_cost", "pricing_unit", "product_region_code", "product", "resource_tags", "tags", "cost_category",
    "product_product_family", "product_servicecode",
    "reservation_reservation_a_r_n", "reservation_effective_cost", "reservation_net_effective_cost",
    "reservation_unused_amortized_upfront_fee_for_billing_period", "reservation_unused_recurring_fee",
    "reservation_net_unused_amortized_upfront_fee_for_billing_period", "reservation_net_unused_recurring_fee",
    "reservation_start_time", "reservation_end_time", "reservation_number_of_reservations",
    "savings_plan_savings_plan_effective_cost", "savings_plan_net_savings_plan_effective_cost",
    "savings_plan_savings_plan_a_r_n", "savings_plan_total_commitment_to_date", "savings_plan_used_commitment",
    "capacity_reservation_capacity_reservation_arn", "capacity_reservation_capacity_reservation_status", *OF_PODS,
}  # fmt: skip


@dataclass(slots=True)
class Line:
    source_name: str
    source_object: str
    row_number: int
    payer_account_id: str
    sub_account_id: str
    service_code: str
    region_id: str
    usage_month: date
    currency: str
    kind: str  # line item type
    usage_type: str
    resource_id: str
    tags: list[tags.Tag]
    start: int
    end: int
    usage_us: int  # billed time: the usage amount where its unit is hours, else the interval
    component: str
    unblended: int
    billed: int
    effective: int
    list_cost: int | None
    weight: int
    reservation_arn: str
    savings_plan_arn: str
    block_arn: str  # the reservation a usage row may belong to
    status: str  # of its capacity reservation, lower case
    term: tuple[str, str, str] = ("", "", "")  # start, end, number of reservations of a fee row
    is_pod: bool = False
    told_plan: str = ""  # the plan that the text of a refund names
    is_block_fee: bool = False
    is_block_hour: bool = False
    purchase: str = ""  # kind of the commitment whose purchase a refund or discount lowers
    cell: tuple = field(default=())
    invoice: str = ""  # its number, empty while there is none
    provider_name: str = "AWS"
    contracted: int | None = None  # a CUR does not say, FOCUS does
    hours: Fraction | None = None  # as billed, where the unit is hours
    on_demand: int | None = None  # what it would have cost on demand
    promotion: int | None = None  # inside a usage row: Google's alone
    gross: int = 0  # unblended, whether the bill has net amounts or not
    seller: str = ""  # who issues the invoice
    has_amount: bool = True
    amount: Fraction = Fraction(1)  # of usage, in whatever unit; one where none is stated
    is_zero_priced: bool = False
    stated: int = 0  # effective cost before a share of a block's fee
    pod: Pod | None = None  # of a row of a pod or a task
    allocation: str = ""  # of a part of a machine's row: pod, unallocated
    allocated_names: list[Name] = field(default_factory=list)  # by which records know the part's pods
    chip_share: Fraction = Fraction(1)  # of the machine's accelerators
    machine_us: int | None = None  # of machines of HyperPod: their time in this interval, all rows of the cluster and type
    of_cluster: list[str] = field(default_factory=list)  # names under which records hold them

    @property
    def is_usage(self) -> bool:
        """Billed usage, which can belong to a run and weighs in a carbon cell; support is a fee whatever its type."""
        return self.kind in USAGE and not self.is_pod and not self.is_block_fee and not self.is_support

    @property
    def is_discount(self) -> bool:
        return self.kind.endswith("Discount") and not self.purchase and not self.is_pod

    @property
    def is_support(self) -> bool:
        return "Support" in self.service_code

    @property
    def is_unused(self) -> bool:
        return self.status == "unused" or "UnusedBox" in self.usage_type or "UnusedDed" in self.usage_type

    @property
    def is_reserved_time(self) -> bool:
        """Whether it counts the time of a reservation as a whole, at 0, beside its used and unused hours."""
        return re.search(r"(^|-)(Reservation|DedicatedRes):", self.usage_type) is not None

    @property
    def is_host(self) -> bool:
        """Whether it is of a dedicated host with accelerators: a price, and no hour of a machine."""
        return facts.is_host(self.usage_type)

    @property
    def instance_type(self) -> str:
        return facts.instance_type_of(self.usage_type)


_TOLD_PLAN = re.compile(r"Savings Plan ID:? *([0-9A-Za-z-]+)")
_times: dict[object, tuple[int, date]] = {}


def _time(value: object) -> tuple[int, date]:
    """Microseconds and month; the few distinct hours of a bill are worked out once."""
    if value not in _times:
        at = moment(value.isoformat() if isinstance(value, datetime) else str(value))
        _times[value] = microseconds(at), at.date().replace(day=1)
    return _times[value]


def region_of(row: dict, product_code: str, usage_type: str) -> str:
    product = row.get("product") or {}
    for named in (row.get("product_region_code"), product.get("region_code"), product.get("region")):
        if named:
            return "" if named.lower() == "global" else named
    if zone := facts.REGION_OF_ZONE.match(row.get("line_item_availability_zone") or ""):
        return zone[0]
    if prefix := facts.PREFIX.match(usage_type):  # one that is unknown states that it is not us-east-1
        return facts.REGION_OF_PREFIX.get(prefix[1], "")
    return "us-east-1" if usage_type and product_code == "AmazonEC2" else ""


def _named_by_resource(row: dict) -> dict:
    """A commitment may be named as the resource of a row alone."""
    resource, named = row.get("line_item_resource_id") or "", {}
    if resource.startswith("arn:"):
        part = ":".join(resource.split(":")[5:])
        if part.startswith("savingsplan/") and not row.get("savings_plan_savings_plan_a_r_n"):
            named["savings_plan_savings_plan_a_r_n"] = resource
        is_reservation = part.startswith(("reserved-instances/", "ri:", "reserved-instance:"))
        if is_reservation and not row.get("reservation_reservation_a_r_n"):
            named["reservation_reservation_a_r_n"] = resource
    return row | named


def _is_pod(row: dict) -> bool:
    return row.get("line_item_operation") in PODS


def purchase_of(row: dict, is_block_fee: bool) -> str:
    """Kind of the commitment on whose purchase or fee a refund or discount is, '' for any other row."""
    kind, product = row["line_item_line_item_type"], row.get("line_item_product_code") or ""
    if _is_pod(row) or (kind != "Refund" and not kind.endswith("Discount")):
        return ""
    if is_block_fee:
        return "capacity_block"
    if row.get("savings_plan_savings_plan_a_r_n") or product.endswith("SavingsPlans"):
        return "savings_plan"
    is_reserved = row.get("reservation_reservation_a_r_n") or "HeavyUsage" in (row.get("line_item_usage_type") or "")
    return "reservation" if is_reserved else ""


def plan_of(row: dict) -> str:
    """The training plan that a row names, wherever it does."""
    named = (
        row.get("reservation_reservation_a_r_n"),
        row.get("capacity_reservation_capacity_reservation_arn"),
        row.get("line_item_resource_id"),
    )
    return next((name for name in named if name and ":training-plan/" in name), "")


def is_fee_of_plan(row: dict, kind: str, in_hours: bool) -> bool:
    """What is billed of the plan itself and not by the hour, whatever it is called."""
    if not (plan := plan_of(row)):
        return False
    is_bought = row.get("line_item_resource_id") == plan and _first_amount(row, "line_item_unblended_cost") != 0 and not in_hours
    return kind in ("Fee", "Refund") or kind.endswith("Discount") or (kind == "Usage" and is_bought)


def moves_data(row: dict) -> bool:
    """By AWS's family or service of transfer; by the usage type in bills that leave both out."""
    family = row.get("product_product_family") or (row.get("product") or {}).get("product_family")
    services = row.get("line_item_product_code"), row.get("product_servicecode")
    usage_type = row.get("line_item_usage_type") or ""
    return family == "Data Transfer" or "AWSDataTransfer" in services or facts.NETWORK.search(usage_type) is not None


def component_of(kind: str, usage_type: str, product_code: str, is_block_fee: bool, purchase: str, is_moved: bool) -> str:
    if is_block_fee or (purchase and kind != "Refund"):
        return "fee"
    if kind in ("Credit", "Refund"):
        return "credit"
    if kind == "Tax" or kind.endswith("Fee") or "Support" in product_code:
        return "fee"
    instance_type = facts.instance_type_of(usage_type)
    if facts.ACCELERATED.match(instance_type) or facts.is_host(usage_type):
        return "accelerator"
    if facts.STORAGE.search(usage_type):
        return "storage"
    if "." in instance_type and facts.HOST.search(usage_type):
        return "host"
    if is_moved:
        return "network"
    return "storage" if product_code in ("AmazonFSx", "AmazonEFS") else "other_usage"


def _first_amount(row: dict, *columns: str) -> int | None:
    return next((amount for name in columns if (amount := units(row.get(name), MONEY)) is not None), None)


def _after_discount(unused: int, row: dict) -> int:
    """The unused commitment is stated before a private discount and the fee billed after it: the same share of both, half up."""
    net, gross = units(row.get("line_item_net_unblended_cost"), MONEY), units(row.get("line_item_unblended_cost"), MONEY)
    if net is None or gross is None or net == gross or gross <= 0 or net < 0 or unused <= 0:
        return unused
    return (2 * unused * net + gross) // (2 * gross)


def effective_of(row: dict, kind: str, unblended: int, is_block_fee: bool) -> int:
    """The amortised cost by line item type; a block's share is added to its hours elsewhere."""
    if _is_pod(row) or is_block_fee or kind in ("SavingsPlanNegation", "SavingsPlanUpfrontFee"):
        return 0
    if kind == "Fee" and row.get("reservation_reservation_a_r_n"):
        return 0
    if purchase_of(row, is_block_fee):
        return 0
    if kind == "DiscountedUsage":
        amount = _first_amount(row, "reservation_net_effective_cost", "reservation_effective_cost")
        return unblended if amount is None else amount
    if kind == "SavingsPlanCoveredUsage":
        amount = _first_amount(row, "savings_plan_net_savings_plan_effective_cost", "savings_plan_savings_plan_effective_cost")
        return unblended if amount is None else amount
    if kind == "SavingsPlanRecurringFee":
        total = _first_amount(row, "savings_plan_total_commitment_to_date") or 0
        return _after_discount(total - (_first_amount(row, "savings_plan_used_commitment") or 0), row)
    if kind == "RIFee":
        unused = "unused_amortized_upfront_fee_for_billing_period"
        upfront = _first_amount(row, f"reservation_net_{unused}", f"reservation_{unused}") or 0
        return upfront + (_first_amount(row, "reservation_net_unused_recurring_fee", "reservation_unused_recurring_fee") or 0)
    return unblended


def _amount_of(stated: object) -> float:
    return 1.0 if stated in (None, "") else float(str(stated))


def _is_in_hours(row: dict, usage_type: str) -> bool:
    unit = (row.get("pricing_unit") or "").lower()
    return unit in ("hrs", "hours", "hour") or (unit == "" and ("BoxUsage" in usage_type or "SpotUsage" in usage_type))


def _hours(row: dict, usage_type: str) -> int | None:
    return units(row.get("line_item_usage_amount"), MONEY) if _is_in_hours(row, usage_type) else None


def line_of(source_name: str, source_object: str, row_number: int, row: dict) -> Line:
    row = _named_by_resource(row)
    kind = row["line_item_line_item_type"]
    usage_type = row.get("line_item_usage_type") or ""
    product_code = row.get("line_item_product_code") or ""
    reservation_arn = row.get("reservation_reservation_a_r_n") or ""
    resource_id = row.get("line_item_resource_id") or ""
    is_block_fee = "CapacityBlockFee" in usage_type and reservation_arn != "" and kind not in ("Tax", "Credit")
    if is_fee_of_plan(row, kind, _is_in_hours(row, usage_type)):
        is_block_fee, reservation_arn = True, plan_of(row)
    (start, month), (end, _) = _time(row["line_item_usage_start_date"]), _time(row["line_item_usage_end_date"])
    unblended = _first_amount(row, "line_item_net_unblended_cost", "line_item_unblended_cost")
    effective = effective_of(row, kind, unblended, is_block_fee)
    is_usage = kind in USAGE and not _is_pod(row) and not is_block_fee and "Support" not in product_code
    hours = _hours(row, usage_type)
    contracted = units(row.get("contracted"), MONEY)
    list_cost = units(row.get("pricing_public_on_demand_cost"), MONEY) if is_usage else 0
    line = Line(
        source_name=source_name, source_object=source_object, row_number=row_number,
        payer_account_id=row["bill_payer_account_id"], sub_account_id=row["line_item_usage_account_id"],
        service_code=product_code, region_id=region_of(row, product_code, usage_type),
        usage_month=month, currency=row["line_item_currency_code"],
        kind=kind, usage_type=usage_type, resource_id=resource_id, tags=list(tags.tags_of(row)),
        start=start, end=end,
        # a correction takes back hours, so it is shared like the hours it takes back
        usage_us=end - start if hours is None or "TrSpt:" in usage_type else abs(hours_to_microseconds(hours)),
        hours=Fraction(hours, 10**MONEY) if hours else None,
        component=component_of(
            kind, usage_type, product_code, is_block_fee, purchase_of(row, is_block_fee), moves_data(row)
        ),
        unblended=unblended, billed=0 if kind in SAVINGS_PLAN_PAIR and not _is_pod(row) else unblended,
        effective=effective, list_cost=list_cost, stated=effective, pod=pod_of(row) if _is_pod(row) else None,
        weight=(effective if list_cost is None else list_cost) if is_usage else 0,
        reservation_arn=reservation_arn, savings_plan_arn=row.get("savings_plan_savings_plan_a_r_n") or "",
        block_arn=plan_of(row) or row.get("capacity_reservation_capacity_reservation_arn") or resource_id,
        status=(row.get("capacity_reservation_capacity_reservation_status") or "").lower(), is_block_fee=is_block_fee,
        purchase=purchase_of(row, is_block_fee), is_pod=_is_pod(row), invoice=row.get("bill_invoice_id") or "",
        gross=_first_amount(row, "line_item_unblended_cost") or 0, seller=row.get("bill_invoicing_entity") or "",
        has_amount=_amount_of(row.get("line_item_usage_amount")) != 0,
        amount=Fraction(_amount_of(row.get("line_item_usage_amount"))),
        contracted=contracted if is_usage or contracted is None else 0,
        told_plan=shown[1] if (shown := _TOLD_PLAN.search(row.get("line_item_line_item_description") or "")) else "",
    )  # fmt: skip
    if is_block_fee:
        named = ("reservation_start_time", "reservation_end_time", "reservation_number_of_reservations")
        line.term = tuple(str(row.get(name) or "") for name in named)
    place = line.payer_account_id, line.sub_account_id, line.service_code, line.region_id, month
    line.cell = line.source_name, line.provider_name, *place
    return line
