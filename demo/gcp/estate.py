"""Billing rows that no run caused: a platform's machines and buckets, charges of the whole account, and what an invoice adds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from demo.clock import DAY, HOUR, MONTHS, month_bounds, month_of, seconds
from demo.gcp.account import (
    PLATFORM,
    PRETRAINING,
    RESEARCH,
    RETIRED,
    Sku,
    tpu_sku,
)
from demo.gcp.fleet import BILL_END, nodes_of
from demo.gcp.lines import Credit, Export, Usage, columns_of, compute_labels, compute_name, instance_of, windows
from demo.gcp.machines import node_columns, sku_of, virtual_machine_rows
from demo.organisation import UNIT, generator, money
from demo.simulation import World
from demo.truth import line_claim, unclaimed

STANDARD = Sku("Cloud Storage", "Standard Storage {place}", money("0.02"), "gibibyte month", "byte-seconds")
OPERATIONS = Sku("Cloud Storage", "Regional Standard Class A Operations", money("0.000005"), "count", "requests")
INTERNET = Sku("Networking", "Network Internet Data Transfer Out from Americas to EMEA", money("0.085"), "gibibyte", "bytes")
LOGS = Sku("Cloud Logging", "Log Storage cost", money("0.5"), "gibibyte", "bytes")
SUPPORT_FEE = Sku("Support", "Enhanced Support", UNIT, "count", "requests")
TAX = Sku("Invoice", "Tax", 0, "count", "requests")
ROUNDING = Sku("Invoice", "Invoice Rounding Error", 0, "count", "requests")
SUSTAINED = (Credit("SUSTAINED_USAGE_DISCOUNT", "Sustained Usage Discount", 20),)
FREE = (Credit("FREE_TIER", "Free operations", limit=money("0.005")),)
ROUNDINGS = {"2026-04": "0.003121", "2026-05": "-0.001806", "2026-06": "0.000448", "2026-07": "-0.004", "2026-08": "0.002977"}
BUCKETS = (
    (PRETRAINING, "us-east5", "Columbus Regional", "exag-synthetic-checkpoints", 42_000),
    (RESEARCH, "us-central1", "US Regional", "exag-synthetic-corpora", 96_000),
    (RETIRED, "us-central1", "US Regional", "exag-synthetic-pilot", 1_500),
)


def machine_rows(export: Export, world: World) -> None:
    """Machines that serve dashboards and notebooks. In the second half of a month use has earned its discount."""
    usages = []
    for start, end in windows(month_bounds(MONTHS[0])[0], BILL_END):
        is_earned = start - month_bounds(month_of(start))[0] >= 15 * DAY
        usages.append(Usage(start, end, 1, credits=SUSTAINED if is_earned else ()))
    for number in range(2):
        name = f"platform-{number}{world.suffix}"
        global_name = compute_name(PLATFORM, "us-central1-a", instance_of("platform", name))
        labels = {"service": "notebooks", "cost_center": "platform"}
        system_labels = compute_labels({"machine_spec": "n2-standard-16"})
        shared = columns_of(PLATFORM, "us-central1", name, global_name, labels=labels, system_labels=system_labels)
        virtual_machine_rows(export, shared, "us-central1", 16, 64, usages)


def daily_rows(export: Export, world: World) -> None:
    """Buckets, requests partly free, transfer to the internet, and logs that belong to no project."""
    for month in MONTHS:
        days = [(day, day + DAY) for day in range(*month_bounds(month), DAY)]
        for project, region_id, kind, bucket, gib in BUCKETS:
            name = bucket + world.suffix
            shared = columns_of(project, region_id, name, f"//storage.googleapis.com/projects/_/buckets/{name}", zonal=False)
            random = generator("requests", name, month)
            requests = [Usage(*day, random.randrange(2_000, 90_000) * UNIT, credits=FREE) for day in days]
            export.add(STANDARD.named(kind), shared, [Usage(*day, gib) for day in days], 1)
            export.add(OPERATIONS, shared, requests)
        random = generator("transfer", world.replica, month)
        for sku, shared, claim, top in (
            (INTERNET, columns_of(PLATFORM, "us-central1", zonal=False), None, 60),
            (LOGS, columns_of(None, None), unclaimed("no_project", "storage"), 9),
        ):
            usages = [Usage(*day, random.randrange(1_000_000, top * 1_000_000) * 10_000, claim) for day in days]
            export.add(sku, shared, usages, 3)


def invoice_rows(export: Export, world: World, month: str) -> None:
    """Support, tax by project and of the account, goodwill, and the rounding that closes an invoice; September's is open."""
    first, last = month_bounds(month)
    growth = 100 + 2 * int(month[5:])
    nowhere = columns_of(None, None)
    export.add(SUPPORT_FEE, nowhere, [Usage(first, last, growth * 9 * UNIT, exported=last + 20 * HOUR, invoice=month)])
    closed = last + 2 * DAY + 9 * HOUR
    charges = []
    for number, project in enumerate((PRETRAINING, RESEARCH, PLATFORM, None)):
        cost = growth * (17 - 4 * number) * (UNIT // 10) + 310_000_000 * number
        charges.append((TAX, columns_of(project, None, cost_type="tax"), cost, closed))
    if month in ROUNDINGS:
        charges.append((ROUNDING, nowhere | {"cost_type": "rounding_error"}, money(ROUNDINGS[month]), closed + HOUR))
    if month == "2026-08":
        info = _adjustment("goodwill-1", "Goodwill for an interrupted capacity", "MANUAL_ADJUSTMENT", "GOODWILL")
        shared = columns_of(RESEARCH, "us-central1", zonal=False) | info
        charges.append((tpu_sku("v5e", "on_demand", "us-central1"), shared, money("-184.25"), last + 8 * HOUR))
    for sku, shared, cost, exported in charges:
        export.add(sku, shared, [Usage(last - HOUR, last, 0, cost=cost, exported=exported, invoice=month)])


def _adjustment(number: str, words: str, mode: str, kind: str) -> dict[str, Any]:
    info = {"id": number, "description": f"{words} (synthetic)", "mode": mode, "type": kind}
    return {"cost_type": "adjustment", "adjustment_info": info}


def correction_rows(export: Export, world: World) -> None:
    """In July Google takes back an hour of a node in June and bills three quarters of it: June's time, July's invoice."""
    node = next(each for each in nodes_of(world) if each.name.startswith("bert-tpu-04") and month_of(each.launched) == "2026-06")
    start = node.launched - node.launched % HOUR + 3 * HOUR
    shared = node_columns(node, node.tag)
    shared |= _adjustment("correction-1", "Usage counted twice", "COMPLETE_NEGATION_WITH_REMONETIZATION", "USAGE_CORRECTION")
    claim, exported = line_claim(world, node, start, HOUR, "accelerator", tag=node.tag), seconds("2026-07-16T10:20:00")
    usage = Usage(start, start + HOUR, -node.chips, claim, exported=exported, invoice="2026-07")
    export.add(sku_of(node, start), shared, [usage, replace(usage, size=node.chips * 3 // 4)])
