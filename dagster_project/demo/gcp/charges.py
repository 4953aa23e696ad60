"""All charges of Google's bill: of nodes by the hour, their disks, helpers and traffic, and what no run caused.

That is a Vertex AI job's chips and fee, a reservation nobody used, a platform's machines and buckets, charges of the whole
account, and what an invoice adds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dagster_project.demo.clock import DAY, HOUR, MONTHS, month_bounds, month_of, seconds
from dagster_project.demo.gcp.account import (
    BILLED_CHIPS,
    BILLING_ACCOUNT,
    CHIP_WATTS,
    COMMITMENT_REGION,
    PLACES,
    PLATFORM,
    PRETRAINING,
    RESEARCH,
    RETIRED,
    Sku,
    chip_hours,
    tpu_sku,
)
from dagster_project.demo.gcp.fleet import BILL_END, TpuNode, job_of, nodes_of
from dagster_project.demo.gcp.lines import Credit, Export, Usage, columns_of, compute_labels, compute_name, instance_of, windows
from dagster_project.demo.organisation import UNIT, digest, generator, money
from dagster_project.demo.simulation import World, normalise
from dagster_project.demo.truth import Rest, line_claim, unclaimed, whole

COMMITMENT_SKU = Sku("Compute Engine", "Commitment v1: TpuV5p running in Netherlands for 3 Years", money("1.911"))
COMMITTED_CHIPS = 12
CORE = Sku("Compute Engine", "N2 Instance Core running in {place}", money("0.031611"))
MEMORY = Sku("Compute Engine", "N2 Instance Ram running in {place}", money("0.004237"), "gibibyte hour", "byte-seconds")
DISK = Sku("Compute Engine", "Balanced PD Capacity in {place}", money("0.1"), "gibibyte month", "byte-seconds")
TRAFFIC = Sku("Compute Engine", "Network Inter Zone Data Transfer Out", money("0.01"), "gibibyte", "bytes")
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
LATE = {"v5p-tower": seconds("2026-07-08T16:05:00"), "gke-sweep-v5e-3-b": seconds("2026-10-04T11:30:00")}
HELPER_CORES, HELPER_GIB = 32, 128


def add_charges(export: Export, world: World) -> None:
    """What one fleet costs, in the order in which the rows of a day are appended."""
    for node in nodes_of(world):
        node_rows(export, world, node)
        if node.volume_gb:
            attached_rows(export, node)
        if node.name.startswith("v5p-tuning"):
            traffic_rows(export, world, node)
    job_rows(export, world)
    unused_reservation_rows(export, world)
    machine_rows(export, world)
    daily_rows(export, world)
    correction_rows(export, world)
    for month in MONTHS:
        invoice_rows(export, world, month)


def node_rows(export: Export, world: World, node: TpuNode) -> None:
    """The chips of one node; of a late one, the rows of a month's last two days come after its invoice had been written."""
    late, unit = LATE.get(node.name), BILLED_CHIPS.get(node.instance_type, 1)
    columns = {label: node_columns(node, label) for label in (None, node.tag)}
    fees: dict[int, Rest] = {}
    credits: tuple[Credit, ...] = ()
    if node.purchase == "committed":
        fees = fees_of(world, node)
        credits = (Credit("COMMITTED_USAGE_DISCOUNT", "Committed Usage Discount: TpuV5p"),)
    elif node.promotion:
        credits = (Credit("PROMOTION", "Research programme", node.promotion),)
    for start, end in windows(node.launched, min(node.terminated, BILL_END)):
        label = node.label_at(start)
        claim = line_claim(world, node, start, end - start, "accelerator", tag=label, fee=fees.get(start), end=end)
        usage = Usage(start, end, node.chips // unit, claim, credits)
        if late is not None and 0 < month_bounds(month_of(late))[0] - start <= 2 * DAY:
            usage = replace(usage, exported=late, invoice=month_of(late))
        export.add(sku_of(node, start), columns[label], [usage], CHIP_WATTS[node.instance_type] * unit)


def sku_of(node: TpuNode, second: int) -> Sku:
    """What a node's chips are billed as; the Spot price is that of the day, the same for all nodes of a zone."""
    sku = tpu_sku(node.instance_type, node.purchase, node.region_id)
    if node.purchase != "spot":
        return sku
    random = generator("spot", node.zone, second // DAY)
    return replace(sku, price=sku.price + random.randrange(-20, 21) * (UNIT // 1_000))


def commitment_id(world: World) -> str:
    return f"{digest('commitment', BILLING_ACCOUNT, world.replica)[:8]}-tpu-v5p-3y"


def fees_of(world: World, node: TpuNode) -> dict[int, Rest]:
    """What part of its month's fee each hour of a committed node carries: by chip-hours, over what was committed or used."""
    used: Counter[str] = Counter()
    for each in nodes_of(world):
        if each.purchase == "committed":
            for start, end in windows(each.launched, each.terminated):
                used[month_of(start)] += chip_hours(end - start, each.chips)
    fees = {}
    for start, end in windows(node.launched, node.terminated):
        month = month_of(start)
        first, last = month_bounds(month)
        bought, carried = chip_hours(last - first, COMMITTED_CHIPS), chip_hours(end - start, node.chips)
        fees[start] = Rest(commitment_id(world), carried // 10_000, max(bought, used[month]) // 10_000)
    return fees


def node_columns(node: TpuNode, label: str | None) -> dict[str, Any]:
    name = node.instance_id
    global_name = f"//tpu.googleapis.com/projects/{node.account.account_id}/locations/{node.zone}/nodes/{name}"
    labels = {node.label_key: label, "cost_center": "training"} if label else {}
    if node.style == "gke":
        global_name = compute_name(node.account, node.zone, instance_of("instance", name))
        pool = {"cluster-name": "sweeps", "cluster-location": node.region_id, "node-pool-name": "v5e-8"}
        labels = {f"goog-k8s-{key}": value for key, value in pool.items()}
    elif node.style == "worker":  # the bill shows a virtual machine, the node only at the end of the global name
        name = f"t1v-n-{digest('worker', name)[:8]}-w-0"
    tag = {"key": "environment", "value": "training", "inherited": True, "namespace": "770300200100"}
    return columns_of(node.account, node.region_id, name, global_name, labels=labels, tags=[tag])


def attached_rows(export: Export, node: TpuNode) -> None:
    """A labelled node's data disk by the hour, and for a v6e the labelled virtual machine that feeds it."""
    label, month = node.tag or "", month_of(node.launched)
    disk, feeder = f"{node.instance_id}-data", f"{node.instance_id}-feeder"
    name = compute_name(node.account, node.zone, f"disks/{disk}")
    shared = node_columns(node, label) | {"resource": {"name": disk, "global_name": name}}
    claim = whole(normalise(label), "tag", "storage")
    usages = [Usage(*hour, node.volume_gb, claim, month=month) for hour in windows(node.launched, node.terminated)]
    export.add(DISK.named(PLACES[node.region_id].sku_name), shared, usages)
    if node.instance_type == "v6e":
        name = compute_name(node.account, node.zone, instance_of("feeder", node.instance_id))
        spec = {"machine_spec": "n2-standard-32", "cores": str(HELPER_CORES), "memory": str(HELPER_GIB * 1_024)}
        shared = shared | {"resource": {"name": feeder, "global_name": name}, "system_labels": compute_labels(spec)}
        claim = whole(normalise(label), "tag", "host")
        usages = [Usage(*hour, 1, claim) for hour in windows(node.launched + 300, node.terminated)]
        virtual_machine_rows(export, shared, HELPER_CORES, HELPER_GIB, usages)


def virtual_machine_rows(export: Export, shared: dict[str, Any], cores: int, gib: int, usages: Sequence[Usage]) -> None:
    """A machine's uses, billed as cores and memory."""
    place = PLACES[shared["location"]["region"]].sku_name
    for sku, size, watts in ((CORE, cores, 7), (MEMORY, gib, 0)):
        export.add(sku.named(place), shared, [replace(usage, size=size) for usage in usages], watts)


def traffic_rows(export: Export, world: World, node: TpuNode) -> None:
    """Traffic of an unlabelled node: the run that held it has it, the rest is no run's."""
    random = generator("tpu traffic", node.instance_id)
    usages = []
    for start, end in windows(node.launched, node.terminated):
        claim = line_claim(world, node, start, end - start, "network", end=end)
        usages.append(Usage(start, end, random.randrange(1, 60_000_000) * 1_000, claim))
    export.add(TRAFFIC, node_columns(node, None), usages)


def job_rows(export: Export, world: World) -> None:
    """Vertex AI bills the chips of a job and a management fee on them, both under the job's name."""
    job = job_of(world)
    run_id, name = normalise(job.name), f"//aiplatform.googleapis.com/{job.instance_id}"
    labels = {job.label_key: run_id, "cost_center": "training"}
    shared = columns_of(job.account, job.region_id, job.instance_id, name, zonal=False, labels=labels)
    for words, price, component, watts in (
        ("Custom training on TpuV5e", "1.2", "accelerator", CHIP_WATTS["v5e"]),
        ("Custom training management fee on TpuV5e", "0.18", "managed_service_fee", 0),
    ):
        sku = Sku("Vertex AI", f"{words} running in {PLACES[job.region_id].sku_name}", money(price))
        claim = whole(run_id, "managed_job", component)
        export.add(sku, shared, [Usage(*hour, job.chips, claim) for hour in windows(job.launched, job.terminated)], watts)


def unused_reservation_rows(export: Export, world: World) -> None:
    """A reservation held for a night that was not used: chips, but no instance."""
    start = seconds("2026-08-21T19:00:00")
    labels = compute_labels({"is_unused_reservation": "true", "reservation_name": "v6e-night" + world.suffix})
    usages = [Usage(*hour, 8, unclaimed("unused_commitment")) for hour in windows(start, start + 10 * HOUR)]
    shared = columns_of(PRETRAINING, "us-east5", system_labels=labels)
    export.add(tpu_sku("v6e", "calendar", "us-east5"), shared, usages, CHIP_WATTS["v6e"])


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
        virtual_machine_rows(export, shared, 16, 64, usages)


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
    """The commitment's fee, a row a day whatever was used; support, taxes, goodwill, and the rounding that closes an invoice.

    Tax is of each project and of the account; September's invoice is open.
    """
    first, last = month_bounds(month)
    shared = columns_of(PRETRAINING, COMMITMENT_REGION, zonal=False, subscription={"instance_id": commitment_id(world)})
    export.add(COMMITMENT_SKU, shared, [Usage(day, day + DAY, COMMITTED_CHIPS) for day in range(first, last, DAY)])
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
