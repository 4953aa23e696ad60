"""Billing rows that no run caused: a platform's machines and buckets, charges of the whole account, and what an invoice adds."""

from __future__ import annotations

from collections.abc import Iterator

from demo.clock import DAY, HOUR, MONTHS, month_bounds, month_of, seconds
from demo.gcp.account import (
    INVOICE,
    LOGGING,
    NETWORKING,
    PLATFORM,
    PRETRAINING,
    RESEARCH,
    RETIRED,
    STORAGE,
    SUPPORT,
    Sku,
    money_of,
    tpu_sku,
)
from demo.gcp.lines import Export, Usage, chip_hours, credit, labels_of, location_columns, project_columns, share, windows
from demo.gcp.machines import GIB, machine_skus, node_columns, spot_price
from demo.gcp.nodes import TpuNode
from demo.gcp.pool import BILL_END
from demo.organisation import UNIT, digest, generator, money
from demo.simulation import World
from demo.truth import Claim, Rest, line_claim

STANDARD = Sku(STORAGE, "Standard Storage {place}", money("0.02"), "gibibyte month", "byte-seconds")
OPERATIONS = Sku(STORAGE, "Regional Standard Class A Operations", money("0.000005"), "count", "requests")
INTERNET = Sku(NETWORKING, "Network Internet Data Transfer Out from Americas to EMEA", money("0.085"), "gibibyte", "bytes")
LOGS = Sku(LOGGING, "Log Storage cost", money("0.5"), "gibibyte", "bytes")
SUPPORT_FEE = Sku(SUPPORT, "Enhanced Support", UNIT, "count", "requests")
TAX = Sku(INVOICE, "Tax", 0, "count", "requests")
ROUNDING = Sku(INVOICE, "Invoice Rounding Error", 0, "count", "requests")
PROJECTS = (PRETRAINING, RESEARCH, PLATFORM)
ROUNDINGS = {"2026-04": "0.003121", "2026-05": "-0.001806", "2026-06": "0.000448", "2026-07": "-0.004", "2026-08": "0.002977"}
NO_PROJECT = Claim("storage", (), Rest("no_project", 1, 1))


def machine_rows(export: Export, world: World, region_id: str, count: int) -> None:
    """Machines that serve dashboards and notebooks. In the second half of a month use has earned its discount."""
    for number in range(count):
        name = f"platform-{number}{world.suffix}"
        columns = {
            **project_columns(PLATFORM),
            **location_columns(region_id),
            "resource.name": name,
            "resource.global_name": f"//compute.googleapis.com/projects/{PLATFORM.account_id}/zones/{region_id}-a/instances/"
            f"{int(digest('platform', name)[:15], 16)}",
            "labels": labels_of(service="notebooks", cost_center="platform"),
            "system_labels": labels_of(**{"compute.googleapis.com/machine_spec": "n2-standard-16"}),
        }
        for sku, size, unit, watts in machine_skus(region_id, 16, 64):
            export.add(sku, columns, _machine_usages(sku, size, unit), watts)


def _machine_usages(sku: Sku, size: int, unit: int) -> Iterator[Usage]:
    for start, end in windows(month_bounds(MONTHS[0])[0], BILL_END):
        amount = chip_hours(end - start, size)
        more = {}
        if start - month_bounds(month_of(start))[0] >= 15 * DAY:
            cost = money_of(amount, sku.price_paid(start))
            more["credits"] = (credit("SUSTAINED_USAGE_DISCOUNT", "Sustained Usage Discount", -share(cost, 20)),)
        yield Usage(start, end, amount, size * unit * HOUR * UNIT, None, more)


def daily_rows(export: Export, world: World) -> None:
    """Buckets, requests partly free, transfer to the internet, and logs that belong to no project."""
    for month in MONTHS:
        first, last = month_bounds(month)
        for project, region_id, bucket, gib in (
            (PRETRAINING, "us-east5", "exag-synthetic-checkpoints", 42_000),
            (RESEARCH, "us-central1", "exag-synthetic-corpora", 96_000),
            (RETIRED, "us-central1", "exag-synthetic-pilot", 1_500),
        ):
            name = bucket + world.suffix
            columns = {
                **project_columns(project),
                **location_columns(region_id, zonal=False),
                "resource.name": name,
                "resource.global_name": f"//storage.googleapis.com/projects/_/buckets/{name}",
            }
            amount = gib * DAY * 1_000_000 // (last - first) * 10_000
            export.add(
                _standard(region_id),
                columns,
                (Usage(day, day + DAY, amount, gib * GIB * DAY * UNIT) for day in range(first, last, DAY)),
                1,
            )
            export.add(OPERATIONS, columns, _free_requests(name, month))
        random = generator("transfer", world.replica, month)
        days = range(first, last, DAY)
        for sku, owner, top in ((INTERNET, PLATFORM, 60), (LOGS, None, 9)):
            place = "us-central1" if sku is INTERNET else None
            columns = {**project_columns(owner), **location_columns(place, zonal=False)}
            claim = NO_PROJECT if owner is None else None
            amounts = [random.randrange(1_000_000, top * 1_000_000) * 10_000 for _ in days]
            usages = (Usage(day, day + DAY, each, each * GIB, claim) for day, each in zip(days, amounts, strict=True))
            export.add(sku, columns, usages, 3)


def _standard(region_id: str) -> Sku:
    return STANDARD.named({"us-east5": "Columbus Regional", "us-central1": "US Regional"}[region_id])


def _free_requests(bucket: str, month: str) -> Iterator[Usage]:
    random = generator("requests", bucket, month)
    for day in range(*month_bounds(month), DAY):
        amount = random.randrange(2_000, 90_000) * UNIT
        free = -min(money_of(amount, OPERATIONS.price), money("0.005"))
        yield Usage(day, day + DAY, amount, amount, None, {"credits": (credit("FREE_TIER", "Free operations", free),)})


def invoice_rows(export: Export, world: World, month: str) -> None:
    """Support, tax by project and of the account, goodwill, and the rounding that closes an invoice; September's is open."""
    first, last = month_bounds(month)
    growth = 100 + 2 * int(month[5:])
    nowhere = {**project_columns(None), **location_columns(None)}
    fee = growth * 9 * UNIT
    export.add(SUPPORT_FEE, nowhere, [Usage(first, last, fee, fee, exported=last + 20 * HOUR, more=_of(month))])
    closed = last + 2 * DAY + 9 * HOUR
    for number, project in enumerate((*PROJECTS, None)):
        columns = {**project_columns(project), **location_columns(None), "cost_type": "tax"}
        cost = growth * (17 - 4 * number) * (UNIT // 10) + 310_000_000 * number
        export.add(TAX, columns, [Usage(last - HOUR, last, 0, 0, exported=closed, more=_of(month, cost))])
    if month in ROUNDINGS:
        columns = {**nowhere, "cost_type": "rounding_error"}
        export.add(
            ROUNDING, columns, [Usage(last - HOUR, last, 0, 0, exported=closed + HOUR, more=_of(month, money(ROUNDINGS[month])))]
        )
    if month == "2026-08":
        columns = {**project_columns(RESEARCH), **location_columns("us-central1", zonal=False), "cost_type": "adjustment"}
        columns |= _adjustment("goodwill-1", "Goodwill for an interrupted capacity", "MANUAL_ADJUSTMENT", "GOODWILL")
        export.add(
            tpu_sku("v5e", "on_demand", "us-central1"),
            columns,
            [Usage(last - HOUR, last, 0, 0, exported=last + 8 * HOUR, more=_of(month, money("-184.25")))],
        )


def _of(month: str, cost: int | None = None) -> dict[str, object]:
    """The invoice of a charge, and its cost where no price made it; such a charge has no usage and no price of its own."""
    more: dict[str, object] = {"invoice.month": month.replace("-", "")}
    if cost is not None:
        more |= dict.fromkeys(("cost", "cost_at_list", "cost_at_effective_price_default", "cost_at_list_consumption_model"), cost)
        more |= dict.fromkeys(("usage.amount", "usage.amount_in_pricing_units", "price.effective_price"))
        more |= dict.fromkeys(("price.effective_price_default", "price.list_price", "price.list_price_consumption_model"))
    return more


def _adjustment(number: str, words: str, mode: str, kind: str) -> dict[str, str]:
    return {
        "adjustment_info.id": number,
        "adjustment_info.description": f"{words} (synthetic)",
        "adjustment_info.mode": mode,
        "adjustment_info.type": kind,
    }


def correction_rows(export: Export, world: World) -> None:
    """In July Google takes back an hour of a node in June and bills three quarters of it: June's time, July's invoice."""
    node = next(
        each
        for each in world.instances
        if isinstance(each, TpuNode) and each.name.startswith("bert-tpu-04") and month_of(each.launched) == "2026-06"
    )
    sku = tpu_sku(node.instance_type, node.purchase, node.region_id)
    start = node.launched - node.launched % HOUR + 3 * HOUR
    columns = node_columns(node, node.tag) | {"cost_type": "adjustment"}
    columns |= _adjustment("correction-1", "Usage counted twice", "COMPLETE_NEGATION_WITH_REMONETIZATION", "USAGE_CORRECTION")
    claim = line_claim(world, node, start, HOUR, "accelerator", tag=node.tag)
    exported, invoice, price = seconds("2026-07-16T10:20:00"), {"invoice.month": "202607"}, spot_price(node, start)
    usages = []
    for factor in (-4, 3):
        amount, used = factor * chip_hours(HOUR, node.chips) // 4, factor * HOUR * node.chips * UNIT // 4
        usages.append(Usage(start, start + HOUR, amount, used, claim, invoice, price, exported))
    export.add(sku, columns, usages)
