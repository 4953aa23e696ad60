"""Who pays Google and for what: the billing account, its projects and regions, and the price list. All of it is invented."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dagster_project.demo.clock import HOUR, month_bounds
from dagster_project.demo.organisation import UNIT, Account, digest, money

BILLING_ACCOUNT = "01A7F3-5E2C90-B4D816"
SERVICES = {
    "Compute Engine": "6F81-5844-456A",
    "Cloud Storage": "95FF-2EF5-5EA1",
    "Networking": "E505-1604-58F8",
    "Vertex AI": "C7E2-9256-1C43",
    "Cloud Logging": "5490-F7B7-8DF6",
    "Support": "2062-016F-44A2",
    "Invoice": "0000-5F0A-1D07",
}
DISCOUNT_FROM = month_bounds("2026-07")[0]  # a negotiated price, as at AWS
DISCOUNT_LEFT = 94  # per cent that is still paid
DISCOUNTED = ("Compute Engine", "Vertex AI")
GIB = 1 << 30
MILLIONTH = UNIT // 1_000_000


@dataclass(frozen=True, slots=True)
class Project(Account):
    """account_id is the project's number, which is what both exports join by."""

    project_id: str


PRETRAINING = Project("401020030041", "tpu-pretraining (synthetic)", "exag-tpu-pretraining")
RESEARCH = Project("401020030052", "tpu-research (synthetic)", "exag-tpu-research")
PLATFORM = Project("401020030063", "gcp-platform (synthetic)", "exag-gcp-platform")
EFFICIENCY = Project("401020030085", "tpu-efficiency (synthetic)", "exag-tpu-efficiency")
TRIALS = Project("401020030096", "tpu-comparisons (synthetic)", "exag-tpu-comparisons")
RETIRED = Project("401020030074", "tpu-pilot (synthetic)", "exag-tpu-pilot")  # deleted since: the carbon export forgot its id


@dataclass(frozen=True, slots=True)
class Place:
    """A region, with its name in SKUs and a made-up grid intensity that is no factor to cite."""

    zone: str
    country: str
    sku_name: str
    grams_per_kwh: int


PLACES = {
    "us-central1": Place("us-central1-a", "US", "Americas", 402),
    "us-central2": Place("us-central2-b", "US", "Oklahoma", 388),
    "us-east5": Place("us-east5-b", "US", "Columbus", 366),
    "europe-west4": Place("europe-west4-b", "NL", "Netherlands", 268),
}


@dataclass(frozen=True, slots=True)
class Sku:
    service: str
    description: str
    price: int  # per pricing unit, in 1e-10
    pricing_unit: str = "hour"
    usage_unit: str = "seconds"

    def named(self, place: str) -> Sku:
        return replace(self, description=self.description.format(place=place))

    @property
    def sku_id(self) -> str:
        text = digest("sku", SERVICES[self.service], self.service, self.description).upper()
        return "-".join((text[:4], text[4:8], text[8:12]))

    def price_paid(self, second: int) -> int:
        is_discounted = self.service in DISCOUNTED and second >= DISCOUNT_FROM
        return self.price * DISCOUNT_LEFT // 100 if is_discounted else self.price

    def amounts(self, start: int, end: int, size: int, month: str) -> tuple[int, int]:
        """Usage units and pricing units (1e-10): `size` chips, cores or GiB for that time, or 1e-10 of what takes no time."""
        used = size * (GIB if "byte" in self.usage_unit else 1)
        if self.pricing_unit in ("gibibyte", "count"):
            return used, size
        if self.pricing_unit == "gibibyte month":
            first, last = month_bounds(month)
            return used * (end - start) * UNIT, size * (end - start) * 1_000_000 // (last - first) * MILLIONTH
        return used * (end - start) * UNIT, chip_hours(end - start, size)


# per chip-hour, near what is quoted publicly
TPU_PRICES = {
    ("v4", "on_demand"): money("3.22"),
    ("v5e", "on_demand"): money("1.2"),
    ("v5e", "spot"): money("0.6"),
    ("v5p", "on_demand"): money("4.2"),
    ("v5p", "committed"): money("4.2"),  # the credit takes it away again; the fee is what it costs
    ("v6e", "on_demand"): money("2.7"),
    ("v6e", "flex_start"): money("2.56"),
    ("v6e", "calendar"): money("2.61"),
}
TPU_WORDING = {
    "on_demand": "TpuV{kind} running in {place}",
    "committed": "TpuV{kind} running in {place}",
    "spot": "TpuV{kind} attached to Spot Preemptible VMs running in {place}",
    "flex_start": "DWS Defined Duration V{kind} running in {place}",
    "calendar": "Reserved V{kind} TPU in {place} in Calendar Mode",
}
COMMITMENT_REGION = "europe-west4"
# what the synthetic provider's racks draw per chip, for its carbon export only
CHIP_WATTS = {"v4": 175, "v5e": 165, "v5p": 430, "v6e": 310}
BILLED_CHIPS = {"v4": 4}  # the first generations are priced by boards


def tpu_sku(kind: str, purchase: str, region_id: str) -> Sku:
    words = TPU_WORDING[purchase].format(kind=kind[1:], place=PLACES[region_id].sku_name)
    return Sku("Compute Engine", words, TPU_PRICES[kind, purchase] * BILLED_CHIPS.get(kind, 1))


def chip_hours(second_count: int, chips: int) -> int:
    """Chip-hours to the millionth, so that a double and a split of nine decimals hold them exactly."""
    return (second_count * chips * 1_000_000 + HOUR // 2) // HOUR * MILLIONTH


def money_of(amount: int, price: int) -> int:
    """Amount times price (1e-10 units each), half away from zero at a millionth: costs are doubles, and so stay exact ones."""
    product = abs(amount * price)
    coarse = UNIT * MILLIONTH
    rounded = (product + coarse // 2) // coarse * MILLIONTH
    return rounded if amount * price >= 0 else -rounded
