"""Two years of three payers of AWS: a plan of who had which machine when, the rows that AWS bills for it, what each one costs.

A row keeps its shares: which run or reason carries which part of it, billed and effective, in whole trillionths of its currency.
What is bought ahead keeps its flows: purchased, refunded, used and not used by month. Amounts are drawn so that a tenth, a half
or a sixteenth of them is a whole number again; one block's fee is not, and its odd units go to the hours that come first.

The payer in dollars has a table with capacity reservations, split cost and net columns, and from NET_FROM on a private discount
of a tenth; in months of DOUBLED the discount has a row of its own as well. The second payer has rows of several hours and
discounts on rows of their own; an account moves there in the middle of a month. The third pays yuan in another partition of AWS.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

FIRST, LAST = date(2024, 6, 1), date(2026, 5, 1)  # of the last month the bill is open
NET_FROM = date(2024, 12, 1)
DOUBLED = {date(2025, 9, 1), date(2026, 2, 1)}
MOVED = datetime(2025, 3, 16)  # noqa: DTZ001 - rows have naive times
CREDITED, CORRECTED = date(2026, 3, 1), date(2025, 10, 1)  # months that are delivered again: a late credit, a correction
EVERY, AT_FIRST, LATER = "every", "at first", "later"  # deliveries of a month that have a row
TRN1, TRN1_SMALL, TRN2 = "trn1.32xlarge", "trn1.2xlarge", "trn2.48xlarge"
PICOS = 10**6  # in a millionth

Amount = int  # millionths, where a row has it; trillionths, where a share of one has it


def months() -> list[date]:
    found = [FIRST]
    while found[-1] < LAST:
        found.append(after(found[-1]))
    return found


def after(month: date) -> date:
    return date(month.year + month.month // 12, month.month % 12 + 1, 1)


@dataclass(frozen=True)
class Payer:
    name: str
    id: str
    currency: str = "USD"
    region: str = "us-east-2"
    prefix: str = "USE2"
    partition: str = "aws"

    def arn(self, service: str, account: str, what: str) -> str:
        return f"arn:{self.partition}:{service}:{self.region}:{account}:{what}"


DOLLARS = Payer("dollars", "000011112222")
BY_DAY = Payer("by-day", "000055556666")
YUAN = Payer("yuan", "000077778888", "CNY", "cn-north-1", "CNN1", "aws-cn")
PAYERS = (DOLLARS, BY_DAY, YUAN)
ACCOUNT, MOVING, DAILY, IN_CHINA = "000011113333", "000011119999", "000055557777", "000077779999"


@dataclass(frozen=True)
class Share:
    """What of a row one run carries, or one reason (`~idle`)."""

    who: str
    component: str
    billed: int
    effective: int


@dataclass(frozen=True)
class Flow:
    """What a row does to the money paid ahead for a commitment."""

    commitment: str
    purchased: int = 0
    refunded: int = 0
    used: int = 0
    unused: int = 0


@dataclass
class Drawn:
    payer: Payer
    month: date
    account: str
    row: dict
    shares: tuple[Share, ...]
    flows: tuple[Flow, ...] = ()
    listed: dict[str, int | None] = field(default_factory=dict)  # list cost of each part of use; None: the row has none
    delivered: str = EVERY
    is_in_focus: bool = True
    in_focus: dict[str, Decimal] = field(default_factory=dict)  # columns whose amounts FOCUS has after discounts
    bought_as: str = ""  # fees and hours of a block or a plan, which FOCUS may not know as such
    undivided: str = ""  # who has all of an hour of pods in a format without rows of them
    is_named: bool = True  # an hour that its own row or its job's record ties to the plan


def whole(amount: Fraction | int) -> int:
    found = Fraction(amount)
    assert found.denominator == 1, f"{found} trillionths are no whole number"
    return found.numerator


class Amazon:
    """`rows` has every row of every delivery; `runs` what schedulers recorded; both follow from the seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.pods = random.Random(seed)
        self.rows: list[Drawn] = []
        self.held: dict[str, list[tuple[str, datetime, datetime, int | None]]] = defaultdict(list)
        self.jobs: list[dict] = []
        self.job_hours: dict[str, float] = {}  # that each of them held its machine
        for number, month in enumerate(months()):
            self._month(number, month)

    # rows

    def _price(self, at_least: int = 1, at_most: int = 40) -> Amount:
        """Millionths that a tenth of is a whole number."""
        return self.random.randrange(at_least * 10**5, at_most * 10**5) * 10

    def _net(self, payer: Payer, month: date, amount: Amount) -> Amount:
        is_lower = payer is DOLLARS and month >= NET_FROM
        return amount * 9 // 10 if is_lower else amount

    def _row(
        self, payer: Payer, account: str, at: datetime, kind: str, usage_type: str, amount: Amount, *, hours: Fraction | int = 1,
        is_discounted: bool = True, **columns: object,
    ) -> dict:  # fmt: skip
        month = date(at.year, at.month, 1)
        end = at + timedelta(hours=max(float(hours), 1))  # of an hour that is billed in part the whole hour
        row: dict = {
            "identity_line_item_id": f"line-{len(self.rows)}",
            "identity_time_interval": f"{at:%Y-%m-%dT%H:%M:%SZ}/{end:%Y-%m-%dT%H:%M:%SZ}",
            "bill_payer_account_id": payer.id,
            "bill_invoice_id": None if month == LAST else f"{payer.id[-4:]}{month:%Y%m}",
            "bill_bill_type": "Anniversary",
            "bill_billing_entity": "AWS",
            "bill_invoicing_entity": "Amazon Web Services, Inc.",
            "bill_billing_period_start_date": datetime(month.year, month.month, 1),  # noqa: DTZ001
            "line_item_usage_account_id": account,
            "line_item_line_item_type": kind,
            "line_item_usage_start_date": at,
            "line_item_usage_end_date": end,
            "line_item_product_code": "AmazonEC2",
            "line_item_usage_type": f"{payer.prefix}-{usage_type}" if usage_type else None,
            "line_item_operation": "RunInstances",
            "line_item_currency_code": payer.currency,
            "line_item_usage_amount": Decimal(str(float(hours))) if kind in USED else Decimal(1),
            "line_item_unblended_cost": money(amount),
            "pricing_unit": "Hrs" if kind in USED else "",
            "product_region_code": payer.region,
            "product": {"product_name": "Amazon Elastic Compute Cloud", "region": payer.region},
        }
        if payer is DOLLARS and month >= NET_FROM:
            row["line_item_net_unblended_cost"] = money(self._net(payer, month, amount) if is_discounted else amount)
        return row | columns

    def _add(self, payer: Payer, row: dict, shares: Iterable[Share], **more: object) -> Drawn:
        at = row["line_item_usage_start_date"]
        drawn = Drawn(payer, date(at.year, at.month, 1), row["line_item_usage_account_id"], row, tuple(shares), **more)
        self.rows.append(drawn)
        return drawn

    def _use(
        self, payer: Payer, account: str, at: datetime, usage_type: str, price: Amount, resource: str | None,
        parts: dict[str, Fraction | int], *, component: str = "accelerator", list_price: Amount | None = -1, tag: str = "",
        hours: Fraction | int = 1, delivered: str = EVERY, is_discounted: bool = True, **columns: object,
    ) -> Drawn:  # fmt: skip
        """Billed use of which each run or reason has a part; its list price is its price unless another is given."""
        list_price = price if list_price == -1 else list_price
        columns = {"line_item_resource_id": resource, "pricing_public_on_demand_cost": money(list_price)} | columns
        if tag:
            columns["resource_tags"] = {"user_training_run_id": tag}
        row = self._row(payer, account, at, "Usage", usage_type, price, hours=hours, is_discounted=is_discounted, **columns)
        net = row.get("line_item_net_unblended_cost", row["line_item_unblended_cost"])
        paid = whole(Fraction(net) * 10**12)
        costs = {who: whole(paid * Fraction(part)) for who, part in parts.items()}
        shares = [Share(who, component, cost, cost) for who, cost in costs.items()]
        listed = {who: None if list_price is None else whole(list_price * PICOS * Fraction(part)) for who, part in parts.items()}
        return self._add(payer, row, shares, listed=listed, delivered=delivered)

    def _charge(
        self, payer: Payer, account: str, at: datetime, kind: str, amount: Amount, who: str, component: str,
        usage_type: str = "", effective: Amount | None = None, delivered: str = EVERY, flows: tuple[Flow, ...] = (),
        is_discounted: bool = False, **columns: object,
    ) -> Drawn:  # fmt: skip
        """A row that is no use: tax, fees, credits; effective what is billed unless another is given."""
        columns = {"line_item_resource_id": None, "line_item_operation": ""} | columns
        row = self._row(payer, account, at, kind, usage_type, amount, is_discounted=is_discounted, **columns)
        net = row.get("line_item_net_unblended_cost", row["line_item_unblended_cost"])
        billed = whole(Fraction(net) * 10**12)
        share = Share(who, component, billed, billed if effective is None else effective * PICOS)
        return self._add(payer, row, [share], flows=flows, delivered=delivered)

    def _hold(self, run: str, resource: str, start: datetime, hours: Fraction | float, chips: int | None = None) -> None:
        self.held[run].append((resource, start, start + timedelta(hours=float(hours)), chips))

    # the plan

    def _month(self, number: int, month: date) -> None:
        start = datetime(month.year, month.month, 1)  # noqa: DTZ001
        day = start + timedelta(days=self.random.randrange(3, 22))
        self._machines(start, day)
        self._bought_by_the_hour(day, number)
        self._savings_plans(number, month, day)
        self._reserved(number, month, day)
        self._block(number, start)
        self._sagemaker(number, day)
        self._others(number, start, day)
        self._second_payer(month, day)
        self._third_payer(day)
        self._doubled_discount(month)

    def _machines(self, start: datetime, day: datetime) -> None:
        """Records show who held what: the whole of two hours, half of the third, nobody the fourth; two runs share a fifth."""
        price = self._price()
        for number, parts in enumerate(({HELD: 1}, {HELD: 1}, {HELD: HALF, "~idle": HALF}, {"~idle": 1})):
            self._use(DOLLARS, ACCOUNT, day + timedelta(hours=number), f"BoxUsage:{TRN1}", price, f"i-held-{start:%y%m}", parts)
        self._hold(HELD, f"i-held-{start:%y%m}", day, Fraction(5, 2))
        shared, price = f"i-shared-{start:%y%m}", self._price()
        parts = {HELD: HALF, BESIDE: QUARTER, "~idle": QUARTER}
        self._use(DOLLARS, ACCOUNT, day, f"BoxUsage:{TRN1}", price, shared, parts)
        self._hold(HELD, shared, day, 1, 8)
        self._hold(BESIDE, shared, day, 1, 4)
        # a machine of the same type that no record names in this month, and one with a tag
        self._use(DOLLARS, ACCOUNT, day, f"BoxUsage:{TRN1}", self._price(), f"i-none-{start:%y%m}", {"~unlogged": 1})
        for hour in range(2):
            at = day + timedelta(hours=hour)
            self._use(DOLLARS, ACCOUNT, at, f"BoxUsage:{TRN1}", self._price(), "i-tagged", {TAGGED: 1}, tag=TAGGED)
        # what a pod had of the first machine: AWS writes it once more, at no cost
        for pod, ratio in (("trainer", "0.75"), ("logger", "0.25")):
            columns = {
                "line_item_resource_id": DOLLARS.arn("eks", ACCOUNT, f"pod/c1/ml/{pod}/uid-{start:%y%m}"),
                "line_item_operation": "EKSPod-EC2",
                "line_item_product_code": "AmazonEKS",
                "split_line_item_parent_resource_id": f"i-held-{start:%y%m}",
                "split_line_item_split_usage_ratio": Decimal(ratio),
                "split_line_item_split_cost": money(price) * Decimal(ratio),
                "resource_tags": {"aws_eks_cluster_name": "c1", "aws_eks_namespace": "ml"},
            }
            row = self._row(DOLLARS, ACCOUNT, day, "Usage", "EKS-EC2-vCPU-Hours", 0, **columns)
            self._add(DOLLARS, row, [], is_in_focus=False)
        self._pods_of_a_run(day, f"i-pods-{start:%y%m}")

    def _pods_of_a_run(self, day: datetime, machine: str) -> None:
        """Half of an hour is of the pods that a run's tag is on, a quarter of a pod without one, and a quarter of none."""
        price = self.pods.randrange(12_500, 500_000) * 80  # of which an eighth of nine tenths is a whole number
        parts = {PODDED: HALF, "~unlogged": QUARTER, "~idle": QUARTER}
        self._use(DOLLARS, ACCOUNT, day, f"BoxUsage:{TRN1}", price, machine, parts).undivided = "~unlogged"
        month = date(day.year, day.month, 1)
        for pod, kind, part, tag in (
            ("worker", "vCPU", Fraction(1, 8), PODDED), ("worker", "GB", Fraction(1, 8), PODDED),
            ("worker", "Accelerator", QUARTER, PODDED), ("daemon", "vCPU", QUARTER, ""),
        ):  # fmt: skip
            cost, net = (money(whole(amount * part)) for amount in (Fraction(price), Fraction(self._net(DOLLARS, month, price))))
            columns = {
                "line_item_resource_id": DOLLARS.arn("eks", ACCOUNT, f"pod/c1/ml/{pod}/uid-{machine}"),
                "line_item_operation": "EKSPod-EC2",
                "line_item_product_code": "AmazonEKS",
                "split_line_item_parent_resource_id": machine,
                "split_line_item_split_usage_ratio": Decimal(str(float(part))),
                "split_line_item_split_cost": cost,
                "resource_tags": {"aws_eks_cluster_name": "c1"} | ({"user_training_run_id": tag} if tag else {}),
            }
            if month >= NET_FROM:
                columns["split_line_item_net_split_cost"] = net
            row = self._row(DOLLARS, ACCOUNT, day, "Usage", f"EKS-EC2-{kind}-Hours", 0, **columns)
            self._add(DOLLARS, row, [], is_in_focus=False)

    def _bought_by_the_hour(self, day: datetime, number: int) -> None:
        """Spot, a reservation on demand with an unused hour, a dedicated host with its machine at 0."""
        price = self._price()
        self._use(
            DOLLARS, ACCOUNT, day, f"SpotUsage:{TRN1}", price, "i-spot", {SPOT: 1}, tag=SPOT, list_price=price * 3,
            hours=HALF,
        )  # fmt: skip
        reserved = DOLLARS.arn("ec2", ACCOUNT, "capacity-reservation/cr-0dcr")
        status = "capacity_reservation_capacity_reservation_status"
        of_it = {"capacity_reservation_capacity_reservation_arn": reserved}
        price = self._price()
        self._use(DOLLARS, ACCOUNT, day, f"BoxUsage:{TRN1}", price, "i-odcr", {ODCR: 1}, tag=ODCR, **of_it, **{status: "Used"})
        self._use(
            DOLLARS, ACCOUNT, day, f"UnusedBox:{TRN1}", price, reserved, {"~unused_commitment": 1}, tag=ODCR, **of_it,
            **{status: "Unused"},
        )  # fmt: skip
        time = self._row(
            DOLLARS, ACCOUNT, day, "Usage", f"Reservation:{TRN1}", 0, hours=2, **of_it, **{status: "Reserved"},
            line_item_resource_id=reserved, pricing_public_on_demand_cost=Decimal(0),
            resource_tags={"user_training_run_id": ODCR},
        )  # fmt: skip
        self._add(DOLLARS, time, [])
        if number % 4 == 1:
            self._use(DOLLARS, ACCOUNT, day, "HostUsage:p5", self._price(), "h-1", {HOST: 1}, tag=HOST, list_price=None)
            self._use(DOLLARS, ACCOUNT, day, "HostBoxUsage:p5.48xlarge", 0, "i-on-host", {HOST: 1}, tag=HOST, list_price=None)

    def _savings_plans(self, number: int, month: date, day: datetime) -> None:
        """A plan that is billed by the month, and one that is paid at once for a year; the refund of a part of the latter."""
        monthly, fee, used = DOLLARS.arn("savingsplans", ACCOUNT, "savingsplan/0aa1"), self._price(20, 40), self._price(5, 15)
        self._covered(day, monthly, used, self._net(DOLLARS, month, used))
        net_fee, net_unused = self._net(DOLLARS, month, fee), self._net(DOLLARS, month, fee - used)
        row = self._row(
            DOLLARS, ACCOUNT, day, "SavingsPlanRecurringFee", "ComputeSP:1yrNoUpfront", fee, line_item_resource_id=monthly,
            line_item_product_code="ComputeSavingsPlans", savings_plan_savings_plan_a_r_n=monthly,
            savings_plan_total_commitment_to_date=money(fee), savings_plan_used_commitment=money(used),
        )  # fmt: skip
        share = Share("~unused_commitment", "fee", net_fee * PICOS, net_unused * PICOS)
        net_used = money(net_fee - net_unused)
        stated = {"savings_plan_total_commitment_to_date": money(net_fee), "savings_plan_used_commitment": net_used}
        flow = Flow(monthly, purchased=net_fee * PICOS, unused=net_unused * PICOS)
        self._add(DOLLARS, row, [share], flows=(flow,), in_focus=stated)
        if 2 <= number < 14:
            self._paid_at_once(number, day)

    def _covered(self, day: datetime, plan: str, used: Amount, effective: Amount) -> None:
        """An hour under a plan at its price on demand, and the negation that takes it away again; once a millionth stays."""
        price = self._price()
        named = {"savings_plan_savings_plan_a_r_n": plan, "resource_tags": {"user_training_run_id": PLANNED}}
        row = self._row(
            DOLLARS, ACCOUNT, day, "SavingsPlanCoveredUsage", f"BoxUsage:{TRN1}", price, is_discounted=False, **named,
            line_item_resource_id="i-planned", pricing_public_on_demand_cost=money(price),
            savings_plan_savings_plan_effective_cost=money(used),
            savings_plan_net_savings_plan_effective_cost=money(effective) if effective != used else None,
        )  # fmt: skip
        share = Share(PLANNED, "accelerator", 0, effective * PICOS)
        flow = Flow(plan, used=effective * PICOS)
        stated = {"savings_plan_savings_plan_effective_cost": money(effective)}
        self._add(DOLLARS, row, [share], listed={PLANNED: price * PICOS}, flows=(flow,), in_focus=stated)
        left = self.random.choice([0, 0, 0, 1])
        taken = row | {
            "line_item_line_item_type": "SavingsPlanNegation",
            "line_item_unblended_cost": money(left - price),
            "line_item_resource_id": None,
            "resource_tags": {},
            "line_item_product_code": "ComputeSavingsPlans",
            "savings_plan_savings_plan_effective_cost": Decimal(0),
            "savings_plan_net_savings_plan_effective_cost": None,
        }
        if "line_item_net_unblended_cost" in taken:
            taken["line_item_net_unblended_cost"] = money(left - price)
        rounding = [Share("~rounding", "fee", left * PICOS, 0)] if left else []
        # what is left is of the payer's own account, as the two rows may be of any
        self._add(DOLLARS, taken | {"line_item_usage_account_id": ACCOUNT}, rounding, is_in_focus=False).account = DOLLARS.id

    def _paid_at_once(self, number: int, day: datetime) -> None:
        plan = DOLLARS.arn("savingsplans", ACCOUNT, "savingsplan/0bb2")
        named = {"line_item_product_code": "ComputeSavingsPlans", "savings_plan_savings_plan_a_r_n": plan}
        if number == 2:
            paid = 1300 * 10**6
            flow = Flow(plan, purchased=paid * PICOS)
            self._charge(
                DOLLARS, ACCOUNT, day, "SavingsPlanUpfrontFee", paid, "~unused_commitment", "fee", "ComputeSP:1yrAllUpfront", 0,
                flows=(flow,), **named,
            )  # fmt: skip
        used = 60 * 10**6
        self._covered(day + timedelta(hours=1), plan, used, used)
        unused = 40 * 10**6
        row = self._row(
            DOLLARS, ACCOUNT, day, "SavingsPlanRecurringFee", "ComputeSP:1yrAllUpfront", 0, line_item_resource_id=plan, **named,
            savings_plan_total_commitment_to_date=money(used + unused), savings_plan_used_commitment=money(used),
        )  # fmt: skip
        share = Share("~unused_commitment", "fee", 0, unused * PICOS)
        self._add(DOLLARS, row, [share], flows=(Flow(plan, unused=unused * PICOS),))
        if number == 4:  # it names no ARN but the plan's id in its text
            back = 100 * 10**6
            text = "Refund for one-time fee for Savings Plan ID: 0bb2"
            self._charge(
                DOLLARS, ACCOUNT, day, "Refund", -back, "~unused_commitment", "credit", "ComputeSP:1yrAllUpfront", 0,
                flows=(Flow(plan, refunded=back * PICOS),), line_item_product_code="ComputeSavingsPlans",
                line_item_line_item_description=text,
            )  # fmt: skip

    def _reserved(self, number: int, month: date, day: datetime) -> None:
        """Reserved instances paid in part ahead: 240 and 10 a month; 24 of 30 are used."""
        if number >= 12:
            return
        reserved = DOLLARS.arn("ec2", ACCOUNT, "reserved-instances/ri-1")
        named, usage_type = {"reservation_reservation_a_r_n": reserved}, f"HeavyUsage:{TRN1_SMALL}"
        if number == 0:
            paid = 240 * 10**6
            self._charge(
                DOLLARS, ACCOUNT, day, "Fee", paid, "~unused_commitment", "fee", usage_type, 0, **named,
                flows=(Flow(reserved, purchased=paid * PICOS),),
            )  # fmt: skip
        used, recurring, unused = 24 * 10**6, 10 * 10**6, 6 * 10**6
        row = self._row(
            DOLLARS, ACCOUNT, day, "DiscountedUsage", f"BoxUsage:{TRN1_SMALL}", 0, **named, line_item_resource_id="i-reserved",
            pricing_public_on_demand_cost=money(used * 2), reservation_effective_cost=money(used),
            resource_tags={"user_training_run_id": RESERVED},
        )  # fmt: skip
        share = Share(RESERVED, "accelerator", 0, used * PICOS)
        flow = Flow(reserved, used=used * PICOS)
        self._add(DOLLARS, row, [share], listed={RESERVED: used * 2 * PICOS}, flows=(flow,))
        fee = {
            "reservation_unused_amortized_upfront_fee_for_billing_period": money(4 * 10**6),
            "reservation_unused_recurring_fee": money(2 * 10**6),
        }
        self._charge(
            DOLLARS, ACCOUNT, day, "RIFee", recurring, "~unused_commitment", "fee", usage_type, unused, **named, **fee,
            flows=(Flow(reserved, purchased=recurring * PICOS, unused=unused * PICOS),),
        ).in_focus = {"reservation_unused_recurring_fee": money(unused)}  # fmt: skip

    def _block(self, number: int, start: datetime) -> None:
        """Every fourth month two machines for six hours over the end of the next one, paid now; some are extended."""
        if number % 4 == 1 or start.date() == LAST:
            self._one_block(number, start, after(after(start.date())))

    def _one_block(self, number: int, bought: datetime, second: date) -> None:
        block = DOLLARS.arn("ec2", ACCOUNT, f"capacity-reservation/cr-b{number:02}")
        begin = datetime(second.year, second.month, 1) - timedelta(hours=3)  # noqa: DTZ001
        is_extended, is_odd = number % 8 == 1, number == 5
        fee = 1000 * 10**6 if is_odd else self.random.randrange(10, 99) * 12 * 10**6
        back = 0 if is_odd else 60 * 10**6
        spans = [(begin, begin, begin + timedelta(hours=6), fee - back)]
        if is_extended:  # it states its own start, or repeats that of the block
            stated = begin + timedelta(hours=6) if number % 16 == 1 else begin
            more = self.random.randrange(10, 99) * 6 * 10**6
            spans.append((begin + timedelta(hours=6), stated, begin + timedelta(hours=9), more))
        for place, (_, stated, end, paid) in enumerate(spans):
            term = {
                "reservation_start_time": f"{stated:%Y-%m-%dT%H:%M:%SZ}",
                "reservation_end_time": f"{end:%Y-%m-%dT%H:%M:%SZ}",
                "reservation_number_of_reservations": "2",
                "reservation_reservation_a_r_n": block,
            }
            usage_type = f"CapacityBlockFee:{TRN2}"
            flow = Flow(block, purchased=(paid + (0 if place else back)) * PICOS)
            amount = paid + (0 if place else back)
            at = bought + timedelta(days=1 + place)
            unused = "~unused_commitment"
            paid_row = self._charge(DOLLARS, ACCOUNT, at, "Fee", amount, unused, "fee", usage_type, 0, flows=(flow,), **term)
            paid_row.bought_as = "block"
            if back and not place:
                flow = Flow(block, refunded=back * PICOS)
                self._charge(
                    DOLLARS, ACCOUNT, at, "Refund", -back, unused, "fee", usage_type, 0, flows=(flow,), **term
                ).bought_as = "block"
        for begins, _, end, paid in spans:
            hours = int((end - begins) / timedelta(hours=1))
            each, odd = divmod(paid * PICOS, hours * 2)
            for hour in range(hours):
                at = begins + timedelta(hours=hour)
                for machine in range(2) if at.date() < after(LAST) else ():  # later ones are on no bill yet
                    self._block_hour(block, at, machine, hour == hours - 1, each + (hour * 2 + machine < odd))

    def _block_hour(self, block: str, at: datetime, machine: int, is_last: bool, cost: int) -> None:
        """The second machine's last hour is not used, and in the last hour of the first one no run held it."""
        resource = f"i-{block[-3:]}-{machine}"
        is_unused = is_last and machine == 1
        status = "Unused" if is_unused else "Used"
        row = self._row(
            DOLLARS, ACCOUNT, at, "Usage", f"{'UnusedBox' if is_unused else 'BoxUsage'}:{TRN2}", 0,
            line_item_resource_id=block if is_unused else resource, pricing_public_on_demand_cost=None,
            capacity_reservation_capacity_reservation_arn=block,
            capacity_reservation_capacity_reservation_status=status,
            capacity_reservation_capacity_reservation_type="EC2 Capacity Blocks for ML",
        )  # fmt: skip
        who = "~unused_commitment" if is_unused else "~idle" if is_last else BLOCK
        if who == BLOCK:
            row["resource_tags"] = {"user_training_run_id": BLOCK}
        flow = Flow(block, unused=cost) if is_unused else Flow(block, used=cost)
        self._add(DOLLARS, row, [Share(who, "accelerator", 0, cost)], listed={who: None}, flows=(flow,), bought_as="block")
        if who == BLOCK:
            self._hold(BLOCK, resource, at, 1)

    def _sagemaker(self, number: int, day: datetime) -> None:
        """A job, the machine that it kept, a managed Spot job, a cluster of HyperPod with its disk; once a year a plan."""
        if number % 3:
            return
        name = f"job-{day:%Y-%m}"
        job = DOLLARS.arn("sagemaker", ACCOUNT, f"training-job/{name}")
        of_it = {"line_item_product_code": "AmazonSageMaker", "line_item_operation": "RunTrainingJob"}
        self._use(DOLLARS, ACCOUNT, day, f"Train:ml.{TRN1}", self._price(), job, {name: 1}, **of_it)
        at = day + timedelta(hours=1)
        self._use(DOLLARS, ACCOUNT, at, f"TrainWarmPool:ml.{TRN1}", self._price(), job, {name: 1}, hours=HALF, **of_it)
        self._record(name, job, day, 1)
        spot = f"spot-{day:%Y-%m}"
        job = DOLLARS.arn("sagemaker", ACCOUNT, f"training-job/{spot}")
        price = self._price()
        # held for an hour, billed for a quarter of it
        self._use(DOLLARS, ACCOUNT, day, f"TrSpt:ml.{TRN1}", price, job, {spot: 1}, hours=QUARTER, list_price=price * 2, **of_it)
        self._record(spot, job, day, 1, BillableTimeInSeconds=900, TrainingTimeInSeconds=3600, EnableManagedSpotTraining=True)
        cluster = DOLLARS.arn("sagemaker", ACCOUNT, "cluster/hp-1")
        of_it["line_item_operation"] = "RunInstances"
        self._use(DOLLARS, ACCOUNT, day, f"Cluster:ml.{TRN1}", self._price(), cluster, {CLUSTER: 1}, tag=CLUSTER, **of_it)
        self._use(
            DOLLARS, ACCOUNT, day, "Cluster:VolumeUsage.gp3", self._price(), cluster, {CLUSTER: 1}, tag=CLUSTER,
            component="storage", **of_it, pricing_unit="GB-Mo",
        )  # fmt: skip
        if number in (3, 15):
            self._training_plan(number, day)

    def _record(self, name: str, arn: str, start: datetime, hours: float, plan: str = "", **more: object) -> None:
        self.job_hours[name] = hours
        machines = {"InstanceType": f"ml.{TRN1}", "InstanceCount": 1} | ({"TrainingPlanArn": plan} if plan else {})
        end = start + timedelta(hours=hours)
        self.jobs.append(
            {
                "TrainingJobName": name, "TrainingJobArn": arn, "TrainingJobStatus": "Completed", "ResourceConfig": machines,
                "TrainingStartTime": f"{start:%Y-%m-%dT%H:%M:%SZ}", "TrainingEndTime": f"{end:%Y-%m-%dT%H:%M:%SZ}",
            }
            | more
        )  # fmt: skip

    def _training_plan(self, number: int, day: datetime) -> None:
        """Two machines for four hours at 20 each, less a fifth that came back; a job uses two hours, five are never used."""
        plan = DOLLARS.arn("sagemaker", ACCOUNT, f"training-plan/p{number}")
        at = day + timedelta(days=1)
        term = {
            "reservation_start_time": f"{at:%Y-%m-%dT07:30:00Z}", "reservation_end_time": f"{at:%Y-%m-%dT11:30:00Z}",
            "reservation_number_of_reservations": "2", "reservation_reservation_a_r_n": plan,
            "line_item_product_code": "AmazonSageMaker",
        }  # fmt: skip
        each, usage_type = 20 * 10**6, f"TrainingPlan:ml.{TRN1}"
        unused = "~unused_commitment"
        for kind, amount, flow, effective in (
            ("Fee", 10 * each, Flow(plan, purchased=10 * each * PICOS, unused=5 * each * PICOS), 5 * each),
            ("Refund", -2 * each, Flow(plan, refunded=2 * each * PICOS), 0),
        ):
            row = self._charge(DOLLARS, ACCOUNT, day, kind, amount, unused, "fee", usage_type, effective, flows=(flow,), **term)
            row.bought_as = "plan"
        name = f"planned-{day:%Y-%m}"
        job = DOLLARS.arn("sagemaker", ACCOUNT, f"training-job/{name}")
        of_it = {"line_item_product_code": "AmazonSageMaker", "pricing_public_on_demand_cost": None}
        begin = at + timedelta(hours=8)
        for hour in range(2):
            then = begin + timedelta(hours=hour)
            row = self._row(DOLLARS, ACCOUNT, then, "Usage", f"Train:ml.{TRN1}", 0, line_item_resource_id=job, **of_it)
            share, flow = Share(name, "accelerator", 0, each * PICOS), Flow(plan, used=each * PICOS)
            self._add(DOLLARS, row, [share], listed={name: None}, flows=(flow,), bought_as="plan")
        self._record(name, job, begin, 2, plan)
        # an hour of a cluster that names no plan: its place, type and time do
        cluster = DOLLARS.arn("sagemaker", ACCOUNT, "cluster/hp-1")
        row = self._row(
            DOLLARS, ACCOUNT, begin, "Usage", f"Cluster:ml.{TRN1}", 0, line_item_resource_id=cluster, **of_it,
            resource_tags={"user_training_run_id": CLUSTER},
        )  # fmt: skip
        share, flow = Share(CLUSTER, "accelerator", 0, each * PICOS), Flow(plan, used=each * PICOS)
        self._add(DOLLARS, row, [share], listed={CLUSTER: None}, flows=(flow,), bought_as="plan", is_named=False)

    def _others(self, number: int, start: datetime, day: datetime) -> None:
        """What is of no run: disks, transfer, hosts, a seller of the marketplace, support, tax, credits, refunds, fees."""
        for usage_type, component, product in (
            ("EBS:VolumeUsage.gp3", "storage", "AmazonEC2"),
            ("TimedStorage-ByteHrs", "storage", "AmazonS3"),
            ("DataTransfer-Out-Bytes", "network", "AmazonEC2"),
            ("BoxUsage:m7i.large", "host", "AmazonEC2"),
            ("NatGateway-Hours", "network", "AmazonEC2"),
            ("ThroughputCapacity", "storage", "AmazonFSx"),
        ):
            self._use(
                DOLLARS, ACCOUNT, day, usage_type, self._price(), None, {"~non_accelerator": 1}, component=component,
                line_item_product_code=product, pricing_unit="GB-Mo",
            )  # fmt: skip
        self._use(
            DOLLARS, ACCOUNT, day, "EBS:VolumeUsage.gp3", self._price(), "vol-1", {TAGGED: 1}, component="storage", tag=TAGGED,
            pricing_unit="GB-Mo",
        )  # fmt: skip
        seller = {"bill_billing_entity": "AWS Marketplace", "bill_invoicing_entity": "A Seller, Inc."}
        self._use(
            DOLLARS, ACCOUNT, day, "SoftwareUsage", self._price(), None, {"~non_accelerator": 1}, component="other_usage",
            line_item_product_code="prod-1abc", is_discounted=False, **seller,
        )  # fmt: skip
        last = datetime.combine(after(start.date()), datetime.min.time()) - timedelta(hours=1)
        self._charge(DOLLARS, DOLLARS.id, last, "Tax", self._price(), "~tax", "fee")
        self._charge(
            DOLLARS, DOLLARS.id, last, "Fee", self._price(), "~support", "fee", line_item_product_code="AWSSupportEnterprise"
        )
        if number % 5 == 0:
            domain = {"line_item_product_code": "AmazonRegistrar"}
            self._charge(DOLLARS, ACCOUNT, day, "Fee", self._price(), "~provider_adjustment", "fee", **domain)
            self._charge(DOLLARS, ACCOUNT, day, "Credit", -self._price(), "~credit", "credit", f"BoxUsage:{TRN1}")
            self._charge(
                DOLLARS, ACCOUNT, day, "Refund", -self._price(), "~refund", "credit", "TimedStorage-ByteHrs",
                line_item_product_code="AmazonS3",
            )  # fmt: skip
        if start.date() == CREDITED:
            usage_type = f"BoxUsage:{TRN1}"
            self._charge(DOLLARS, ACCOUNT, day, "Credit", -self._price(), "~credit", "credit", usage_type, delivered=LATER)
        if start.date() == CORRECTED:  # the price of an hour was wrong, and half of a year later the month is written again
            for delivered in (AT_FIRST, LATER):
                at, of_it = day + timedelta(hours=5), {"tag": TAGGED, "delivered": delivered}
                self._use(DOLLARS, ACCOUNT, at, f"BoxUsage:{TRN1}", self._price(), "i-tagged", {TAGGED: 1}, **of_it)

    def _second_payer(self, month: date, day: datetime) -> None:
        """A row of eight hours, of which a run held two; discounts on rows of their own; an account that moves here."""
        resource, price = f"i-day-{month:%y%m}", self._price(8, 80)
        parts = {OF_DAYS: QUARTER, "~idle": 3 * QUARTER}
        self._use(BY_DAY, DAILY, day, f"BoxUsage:{TRN1}", price, resource, parts, hours=8)
        self._hold(OF_DAYS, resource, day, 2)
        price = self._price()
        used, off = self._use(BY_DAY, DAILY, day, f"BoxUsage:{TRN1}", price, "i-less", {LESS: 1}, tag=LESS), price // 10
        used.in_focus = {"line_item_net_unblended_cost": money(price - off)}
        discount = used.row | {
            "identity_line_item_id": f"line-{len(self.rows)}",
            "line_item_line_item_type": "EdpDiscount",
            "line_item_unblended_cost": money(-off),
            "pricing_public_on_demand_cost": None,
        }
        self._add(BY_DAY, discount, [Share(LESS, "accelerator", -off * PICOS, -off * PICOS)], is_in_focus=False)
        plan, fee = BY_DAY.arn("savingsplans", DAILY, "savingsplan/0cc3"), 20 * 10**6
        named = {"savings_plan_savings_plan_a_r_n": plan, "line_item_product_code": "ComputeSavingsPlans"}
        stated = {
            "savings_plan_total_commitment_to_date": money(fee - 10**6),
            "savings_plan_used_commitment": Decimal(0),
        }
        flow = Flow(plan, purchased=fee * PICOS, unused=(fee - 10**6) * PICOS)
        usage_type = "ComputeSP:1yrNoUpfront"
        self._charge(
            BY_DAY, DAILY, day, "SavingsPlanRecurringFee", fee, "~unused_commitment", "fee", usage_type, fee - 10**6,
            flows=(flow,), **named, **stated,
        ).in_focus = {"line_item_net_unblended_cost": money(fee - 10**6)}  # fmt: skip
        self._charge(
            BY_DAY, DAILY, day, "SppDiscount", -(10**6), "~unused_commitment", "fee", usage_type, 0,
            flows=(Flow(plan, purchased=-(10**6) * PICOS),), **named,
        ).is_in_focus = False  # fmt: skip
        self._charge(BY_DAY, BY_DAY.id, day, "Tax", self._price(), "~tax", "fee")
        for at in (day, *((MOVED - timedelta(hours=1), MOVED) if month == MOVED.date().replace(day=1) else ())):
            payer = DOLLARS if at < MOVED else BY_DAY
            self._use(payer, MOVING, at, f"BoxUsage:{TRN1}", self._price(), "i-moving", {MOVES: 1}, tag=MOVES)
            self._use(payer, MOVING, at, f"BoxUsage:{TRN1}", self._price(), "i-nobody", {"~no_record": 1})

    def _third_payer(self, day: datetime) -> None:
        self._use(YUAN, IN_CHINA, day, f"BoxUsage:{TRN1_SMALL}", self._price(), "i-cn", {CHINESE: 1}, tag=CHINESE)
        self._use(
            YUAN, IN_CHINA, day, "TimedStorage-ByteHrs", self._price(), "bucket", {"~non_accelerator": 1}, component="storage",
            line_item_product_code="AmazonS3", pricing_unit="GB-Mo",
        )  # fmt: skip
        self._charge(YUAN, YUAN.id, day, "Tax", self._price(), "~tax", "fee")

    def _doubled_discount(self, month: date) -> None:
        """The private discount of the month once more, as a row: it is in the net amounts, and counts nothing."""
        if month not in DOUBLED:
            return
        entity = "Amazon Web Services, Inc."
        off = Decimal(0)
        for drawn in self.rows:
            if drawn.payer is DOLLARS and drawn.month == month and drawn.row["bill_invoicing_entity"] == entity:
                kind = drawn.row["line_item_line_item_type"]
                if drawn.delivered != LATER and not kind.startswith("SavingsPlan"):
                    off += drawn.row["line_item_unblended_cost"] - drawn.row["line_item_net_unblended_cost"]
        at = datetime(month.year, month.month, 2)  # noqa: DTZ001
        row = self._row(DOLLARS, DOLLARS.id, at, "EdpDiscount", f"BoxUsage:{TRN1}", 0, line_item_resource_id=None)
        row |= {"line_item_unblended_cost": -off, "line_item_net_unblended_cost": None}
        self._add(DOLLARS, row, [], is_in_focus=False)


USED = {"Usage", "DiscountedUsage", "SavingsPlanCoveredUsage"}
HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
HELD, BESIDE, TAGGED, SPOT, ODCR, HOST = "run-held", "run-beside", "run-tagged", "run-spot", "run-odcr", "run-host"
PODDED = "run-in-pods"
PLANNED, RESERVED, BLOCK, CLUSTER = "run-planned", "run-reserved", "run-block", "run-cluster"
OF_DAYS, LESS, MOVES, CHINESE = "run-of-days", "run-less", "run-moves", "run-chinese"


def money(millionths: Amount | None) -> Decimal | None:
    return None if millionths is None else Decimal(millionths).scaleb(-6)


def without_terms(rows: Iterable[Drawn]) -> list[Drawn]:
    """The same where no row states the term of a block or a plan: what was paid lies on the hours billed so far, all alike.

    An hour that nothing but the term ties to its plan has no price then.
    """
    found, bought = [], defaultdict(list)
    for drawn in rows:
        if drawn.bought_as and drawn.is_named and drawn.flows:
            [flow] = drawn.flows
            bought[flow.commitment].append(drawn)
        elif drawn.bought_as and drawn.flows:
            found.append(replace(drawn, shares=tuple(replace(share, effective=0) for share in drawn.shares), flows=()))
        else:
            found.append(drawn)
    for commitment, those in bought.items():
        hours = [drawn for drawn in those if drawn.row["line_item_line_item_type"] == "Usage"]
        hours.sort(key=lambda drawn: drawn.row["line_item_usage_start_date"])
        paid = sum(flow.purchased - flow.refunded for drawn in those for flow in drawn.flows)
        each, odd = divmod(paid, len(hours)) if hours else (0, 0)
        for place, drawn in enumerate(hours):
            [share], [flow] = drawn.shares, drawn.flows
            cost = each + (place < odd)
            flow = Flow(commitment, unused=cost) if flow.unused else Flow(commitment, used=cost)
            found.append(replace(drawn, shares=(replace(share, effective=cost),), flows=(flow,)))
        for drawn in those:
            if drawn.row["line_item_line_item_type"] != "Usage":
                [share], [flow] = drawn.shares, drawn.flows
                found.append(replace(drawn, shares=(replace(share, effective=0),), flows=(replace(flow, unused=0),)))
    return found


def without_pods(drawn: Drawn) -> Drawn:
    """An hour of pods where no row is of them: it is as its machine's own row shows."""
    if not drawn.undivided:
        return drawn
    [component] = {share.component for share in drawn.shares}
    billed, effective = (sum(getattr(share, of) for share in drawn.shares) for of in ("billed", "effective"))
    listed = {drawn.undivided: None if None in drawn.listed.values() else sum(drawn.listed.values())}
    return replace(drawn, shares=(Share(drawn.undivided, component, billed, effective),), listed=listed)


def without_reservations(drawn: Drawn) -> Drawn:
    """A row of a block where nothing ties a fee to hours: the fee is one like others, and the hours have no price."""
    if drawn.bought_as != "block":
        return drawn
    [share], kind = drawn.shares, drawn.row["line_item_line_item_type"]
    if kind == "Usage":
        return replace(drawn, shares=(replace(share, effective=0),), flows=())
    who, component = ("~refund", "credit") if kind == "Refund" else ("~provider_adjustment", "fee")
    return replace(drawn, shares=(replace(share, who=who, component=component, effective=share.billed),), flows=())


Key = tuple[str, str, date, str, str, str]  # payer, account, month, currency, run or reason, component


def delivered(rows: Iterable[Drawn], is_later: bool) -> Iterator[Drawn]:
    """The rows of the first delivery of each month, or of its last one."""
    left_out = AT_FIRST if is_later else LATER
    return (drawn for drawn in rows if drawn.delivered != left_out)


def costs(rows: Iterable[Drawn]) -> dict[Key, tuple[int, int]]:
    """Billed and effective by whom they are of; what is 0 in both is not there."""
    found: dict[Key, list[int]] = defaultdict(lambda: [0, 0])
    for drawn in rows:
        for share in drawn.shares:
            key = drawn.payer.id, drawn.account, drawn.month, drawn.payer.currency, share.who, share.component
            found[key][0] += share.billed
            found[key][1] += share.effective
    return {key: (billed, effective) for key, (billed, effective) in found.items() if billed or effective}


def list_costs(rows: Iterable[Drawn]) -> dict[tuple[str, date, str, str], int | None]:
    """By run, month, currency and component; null where any part has none."""
    found: dict[tuple[str, date, str, str], int | None] = {}
    for drawn in rows:
        for run, listed in drawn.listed.items():
            if run.startswith("~"):
                continue
            [component] = {share.component for share in drawn.shares if share.who == run}
            key = run, drawn.month, drawn.payer.currency, component
            before = found.get(key, 0)
            found[key] = None if listed is None or before is None else before + listed
    return found


def weights(rows: Iterable[Drawn], account: str, product: str) -> dict[date, dict[str, int]]:
    """By month what divides the emissions of an account's product: list cost of use, of use without one its effective cost."""
    found: dict[date, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for drawn in rows:
        if drawn.account == account and drawn.row["line_item_product_code"] == product:
            for share in drawn.shares:
                if share.who in drawn.listed:
                    listed = drawn.listed[share.who]
                    found[drawn.month][share.who] += share.effective if listed is None else listed
    return found


def invoices(rows: Iterable[Drawn]) -> dict[tuple[str, date, str], int]:
    """What each payer is asked for."""
    found: dict[tuple[str, date, str], int] = defaultdict(int)
    for drawn in rows:
        found[drawn.payer.id, drawn.month, drawn.payer.currency] += sum(share.billed for share in drawn.shares)
    return dict(found)


def prepaid(rows: Iterable[Drawn]) -> dict[tuple[str, str, date], tuple[int, ...]]:
    """By payer, commitment and month in which anything moves: opening, purchased, refunded, used, unused, closing."""
    moved: dict[tuple[str, str], dict[date, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0, 0, 0]))
    for drawn in rows:
        for flow in drawn.flows:
            of_month = moved[drawn.payer.id, flow.commitment][drawn.month]
            for place, amount in enumerate((flow.purchased, flow.refunded, flow.used, flow.unused)):
                of_month[place] += amount
    found = {}
    for (payer, commitment), by_month in moved.items():
        balance = 0
        for month in sorted(by_month):
            purchased, refunded, used, unused = by_month[month]
            closing = balance + purchased - refunded - used - unused
            found[payer, commitment, month] = (balance, purchased, refunded, used, unused, closing)
            balance = closing
    return found


def utc(at: datetime) -> str:
    return at.replace(tzinfo=UTC).isoformat().replace("+00:00", "Z")
