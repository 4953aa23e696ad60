"""One row of Google's detailed bill as the ledger sees it: cell, component, measures before commitments are amortised."""

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import date, datetime
from fractions import Fraction

from . import google_facts as facts
from .exports import moment
from .google_clusters import Allocation, allocation_of
from .google_exports import at, pairs
from .numerals import MONEY, units
from .projects import Projects
from .records import microseconds

QUANTITY = 9
COLUMNS = {
    "billing_account_id", "service", "sku", "usage_start_time", "usage_end_time", "project", "labels", "system_labels",
    "location", "resource", "cost", "currency", "usage", "credits", "cost_type", "adjustment_info", "cost_at_list",
    "subscription", "cost_at_effective_price_default", "invoice",
}  # fmt: skip


@dataclass(slots=True)
class GoogleLine:
    source_name: str
    source_object: str
    row_number: int
    payer_account_id: str
    sub_account_id: str  # project number, or its id where the month has no number
    service_code: str
    region_id: str
    usage_month: date
    currency: str
    sku_id: str
    sku: str
    generation: str  # of the TPU the SKU names
    cost_type: str
    adjustment: str
    resource_name: str
    global_name: str
    place: tuple[str, str, str]  # project number, project id, zone; empty where nothing shows it
    labels: dict[str, str]
    start: int
    end: int
    component: str
    billed: int  # without promotions
    promotion: int | None  # None: the row has none
    effective: int
    list_cost: int | None
    contracted: int | None
    pricing_units: int
    stated_units: Fraction | None  # the same; None where the bill states none
    pricing_unit: str
    originating_sku: str  # of a spend-based fee: the SKU it pays for
    subscription: str
    is_usage: bool
    is_fee: bool  # of a commitment
    is_support: bool
    is_unused: bool  # a reservation nobody used
    is_spend_based: bool  # the fee
    spend_credit: int
    covered_units: int  # of the pricing units what a commitment's credit covers
    has_commitment_credit: bool
    has_resource_credit: bool
    has_fee_offset: bool
    invoice: str  # its month, 202604; empty while there is none
    allocation: Allocation
    machines: frozenset[str] = frozenset()  # names of run records that mean this machine
    wider: dict[str, int] = field(default_factory=dict)  # names that mean its pool, reservation or cluster, and how wide
    provider_name: str = "Google Cloud"
    kind: str = ""  # AWS's line item type
    on_demand: int | None = None  # what it would have cost on demand
    is_free: bool = False  # cost and credits of the price both 0
    has_amount: bool = True
    is_zero_priced: bool = False

    @property
    def cell(self) -> tuple:
        place = self.payer_account_id, self.sub_account_id, self.service_code, self.region_id, self.usage_month
        return self.source_name, self.provider_name, *place

    @property
    def instance_type(self) -> str:
        return self.generation

    @property
    def usage_us(self) -> int:
        return self.end - self.start

    @property
    def weight(self) -> int:
        if not self.is_usage:
            return 0
        return self.effective if self.list_cost is None else self.list_cost

    @property
    def resources(self) -> set[str]:
        """Names a run record may know the resource by."""
        return {name for name in (self.resource_name, self.global_name.rsplit("/", 1)[-1]) if name}

    @property
    def held_names(self) -> frozenset[str]:
        return self.machines | self.wider.keys()

    @property
    def commitment_id(self) -> str:
        return self.subscription or f"{self.sku_id}|{self.sub_account_id}"


def _text(row: dict, path: str) -> str:
    return str(at(row, path) or "")


def _time(value: object) -> datetime:
    return moment(value.isoformat() if isinstance(value, datetime) else str(value))


def region_of(row: dict) -> str:
    if "-" in (region := _text(row, "location.region")):
        return region
    zone = _text(row, "location.zone")
    return zone.rsplit("-", 1)[0] if zone else ""


def _covered(amount: int, cost: int, taken_off: int) -> int:
    """As much of an amount as the credit took off its cost, the share at 1e-9."""
    return amount * (taken_off * 10**QUANTITY // cost) // 10**QUANTITY if 0 < taken_off < cost else amount


def _credits(row: dict) -> tuple[int, int | None, dict[str, int]]:
    """What lowers the cost, what is a gift (None without any), and the amounts by type."""
    found = [(entry.get("type") or "", units(entry["amount"], MONEY) or 0) for entry in row.get("credits") or ()]
    cost = sum(amount for kind, amount in found if kind in facts.COST_CREDITS)
    gifts = [amount for kind, amount in found if kind not in facts.COST_CREDITS]
    by_type: dict[str, int] = defaultdict(int)
    for kind, amount in found:
        by_type[kind] += amount
    return cost, sum(gifts) if gifts else None, dict(by_type)


def _component(cost_type: str, adjustment: str, sku: str, service: str, is_fee: bool) -> str:
    if cost_type in ("tax", "rounding_error") or "support" in service.lower() or is_fee:
        return "fee"
    return "credit" if adjustment in facts.GOODWILL else facts.usage_component(sku, service)


def line_of(source_name: str, source_object: str, row_number: int, row: dict) -> GoogleLine:
    sku, service = _text(row, "sku.description"), _text(row, "service.description")
    cost_type, adjustment = _text(row, "cost_type") or "regular", _text(row, "adjustment_info.type")
    labels, system_labels = pairs(row, "labels"), pairs(row, "system_labels")
    is_adjusted, is_support = cost_type == "adjustment" or adjustment != "", "support" in service.lower()
    can_be_used = cost_type not in ("tax", "rounding_error") and adjustment not in facts.GOODWILL and not is_support
    originating_sku = labels.get("goog-originating-sku-id", "")
    is_fee = can_be_used and (sku.lower().startswith("commitment") or originating_sku != "")
    component = _component(cost_type, adjustment, sku, service, is_fee)
    has_amount = at(row, "usage.amount") is not None
    is_usage = can_be_used and not is_fee and (not is_adjusted or (has_amount and component in ("accelerator", "host")))
    start, end = _time(row["usage_start_time"]), _time(row["usage_end_time"])
    cost = units(row["cost"], MONEY)
    lowered, promotion, kinds = _credits(row)
    generation, pricing_units = facts.generation_of(sku), units(at(row, "usage.amount_in_pricing_units"), QUANTITY) or 0
    spend_credit = kinds.get(facts.SPEND_CREDIT, 0)
    taken_off = -kinds.get(facts.RESOURCE_CREDIT, 0) - (spend_credit if generation else 0)
    default = units(row.get("cost_at_effective_price_default"), MONEY)
    return GoogleLine(
        source_name=source_name, source_object=source_object, row_number=row_number,
        payer_account_id=row["billing_account_id"], sub_account_id=_text(row, "project.number"),
        service_code=_text(row, "service.id"), region_id=region_of(row), usage_month=start.date().replace(day=1),
        currency=row["currency"], sku_id=_text(row, "sku.id"), sku=sku, generation=generation, cost_type=cost_type,
        adjustment=adjustment, resource_name=_text(row, "resource.name"), global_name=_text(row, "resource.global_name"),
        place=(_text(row, "project.number"), _text(row, "project.id"), _text(row, "location.zone")),
        labels=labels, start=microseconds(start), end=microseconds(end),
        component=component,
        billed=cost + lowered, promotion=promotion, effective=cost + lowered,
        list_cost=units(row.get("cost_at_list"), MONEY) if is_usage else 0,
        contracted=(cost if default is None else default) if is_usage else 0,
        pricing_units=pricing_units, covered_units=_covered(pricing_units, cost, taken_off),
        stated_units=None if at(row, "usage.amount_in_pricing_units") is None else Fraction(pricing_units, 10**QUANTITY),
        pricing_unit=_text(row, "usage.pricing_unit").lower(), originating_sku=originating_sku,
        is_spend_based=is_fee and (sku.lower().startswith("commitment - dollar") or not sku.lower().startswith("commitment")),
        spend_credit=spend_credit, has_resource_credit=facts.RESOURCE_CREDIT in kinds,
        subscription=_text(row, "subscription.instance_id"), is_usage=is_usage, is_fee=is_fee, is_support=is_support,
        is_unused=system_labels.get("compute.googleapis.com/is_unused_reservation", "").lower() == "true"
        or "/reservations/" in _text(row, "resource.global_name"),
        invoice=_text(row, "invoice.month"),
        allocation=allocation_of(labels, system_labels, start, _text(row, "location.zone")),
        is_free=cost == 0 and lowered == 0, has_amount=float(at(row, "usage.amount") or 0) != 0,
        has_commitment_credit=bool(kinds.keys() & facts.COMMITMENT_CREDITS), has_fee_offset=facts.FEE_OFFSET in kinds,
    )  # fmt: skip


def name_projects(lines: list[GoogleLine], projects: Projects) -> None:
    """A row that gives its project's id alone is of the same account as the rows of its month with the number."""
    for line in lines:
        number, project_id, zone = line.place
        line.sub_account_id = projects.account_of(line.usage_month, number, project_id)
        line.place = projects.number_of(line.usage_month, number, project_id), project_id, zone
