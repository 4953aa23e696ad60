"""Billing rows of TPU nodes by the hour, of their disks, helpers and traffic, and of the Vertex AI job."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from demo.clock import DAY, HOUR, month_bounds, month_of
from demo.gcp.account import (
    CHIP_WATTS,
    COMMITMENT_SKU,
    COMMITTED_CHIPS,
    COMPUTE,
    PLACES,
    PRETRAINING,
    TPU_PRICES,
    VERTEX,
    Sku,
    money_of,
    tpu_sku,
)
from demo.gcp.lines import Export, Usage, chip_hours, credit, labels_of, location_columns, project_columns, share, windows
from demo.gcp.nodes import TpuNode
from demo.gcp.pool import BILL_END, JOB_CHIPS, Job, commitment_id, job_of
from demo.organisation import UNIT, digest, generator, money
from demo.simulation import World
from demo.truth import Claim, Rest, line_claim, normalise, whole

CORE = Sku(COMPUTE, "N2 Instance Core running in {place}", money("0.031611"))
MEMORY = Sku(COMPUTE, "N2 Instance Ram running in {place}", money("0.004237"), "gibibyte hour", "byte-seconds")
DISK = Sku(COMPUTE, "Balanced PD Capacity in {place}", money("0.1"), "gibibyte month", "byte-seconds")
TRAFFIC = Sku(COMPUTE, "Network Inter Zone Data Transfer Out", money("0.01"), "gibibyte", "bytes")
GIB = 1 << 30
HELPER_CORES, HELPER_GIB = 32, 128


def node_rows(export: Export, world: World, node: TpuNode, late: int | None = None) -> None:
    """The chips of one node; `late` is when the rows of a month's last two days came, after its invoice had been written."""
    sku = tpu_sku(node.instance_type, node.purchase, node.region_id)
    fees = fees_of(world, node) if node.purchase == "committed" else {}
    by_label: dict[str | None, list[Usage]] = defaultdict(list)
    for start, end in windows(node.launched, min(node.terminated, BILL_END)):
        label = node.label_at(start)
        amount = chip_hours(end - start, node.chips)
        price = spot_price(node, start) if node.purchase == "spot" else None
        claim = line_claim(world, node, start, end - start, "accelerator", tag=label, fee=fees.get(start), end=end)
        more: dict[str, Any] = {}
        cost = money_of(amount, sku.price_paid(start))
        if node.purchase == "committed":
            more["credits"] = (credit("COMMITTED_USAGE_DISCOUNT", "Committed Usage Discount: TpuV5p", -cost),)
        elif node.promotion:
            more["credits"] = (credit("PROMOTION", "Research programme", -share(cost, node.promotion)),)
        exported = late if late is not None and 0 < month_bounds(month_of(late))[0] - start <= 2 * DAY else None
        if exported is not None:
            more["invoice.month"] = month_of(exported).replace("-", "")
        usage = Usage(start, end, amount, (end - start) * node.chips * UNIT, claim, more, price, exported)
        by_label[label].append(usage)
    for label, usages in by_label.items():
        export.add(sku, node_columns(node, label), usages, CHIP_WATTS[node.instance_type])


def spot_price(node: TpuNode, second: int) -> int:
    """The price of the day, the same for all nodes of a zone."""
    random = generator("spot", node.zone, second // DAY)
    return TPU_PRICES[node.instance_type, "spot"] + random.randrange(-20, 21) * (UNIT // 1_000)


def fees_of(world: World, node: TpuNode) -> dict[int, Rest]:
    """What part of its month's fee each hour of a committed node carries: by chip-hours, over what was committed or used."""
    committed = [each for each in world.instances if isinstance(each, TpuNode) and each.purchase == "committed"]
    used: dict[str, int] = defaultdict(int)
    for each in committed:
        for start, end in windows(each.launched, each.terminated):
            used[month_of(start)] += chip_hours(end - start, each.chips)
    fees = {}
    for start, end in windows(node.launched, node.terminated):
        month = month_of(start)
        first, last = month_bounds(month)
        bought = chip_hours(last - first, COMMITTED_CHIPS)
        carried = chip_hours(end - start, node.chips)
        fees[start] = Rest(commitment_id(world), carried // 10_000, max(bought, used[month]) // 10_000)
    return fees


def commitment_rows(export: Export, world: World, month: str) -> None:
    """The fee, a row a day, whatever was used."""
    first, last = month_bounds(month)
    shared = {
        **project_columns(PRETRAINING),
        **location_columns("europe-west4", zonal=False),
        "subscription.instance_id": commitment_id(world),
    }
    amount = chip_hours(DAY, COMMITTED_CHIPS)
    days = range(first, last, DAY)
    export.add(COMMITMENT_SKU, shared, (Usage(day, day + DAY, amount, DAY * COMMITTED_CHIPS * UNIT) for day in days))


def node_columns(node: TpuNode, label: str | None) -> dict[str, Any]:
    zone, number = node.zone, node.account.account_id
    columns = {**project_columns(node.project), **location_columns(node.region_id)}
    tpu_name = f"//tpu.googleapis.com/projects/{number}/locations/{zone}/nodes/{node.instance_id}"
    labels = labels_of(**({node.label_key.replace("-", "__"): label, "cost_center": "training"} if label else {}))
    if node.style == "gke":
        instance = int(digest("instance", node.instance_id)[:15], 16)
        columns["resource.name"] = node.instance_id
        columns["resource.global_name"] = f"//compute.googleapis.com/projects/{number}/zones/{zone}/instances/{instance}"
        labels = labels_of(
            goog__k8s__cluster__name="sweeps", goog__k8s__cluster__location=node.region_id, goog__k8s__node__pool__name="v5e-8"
        )
    elif node.style == "worker":  # the bill shows a virtual machine, the node only at the end of the global name
        columns["resource.name"] = f"t1v-n-{digest('worker', node.instance_id)[:8]}-w-0"
        columns["resource.global_name"] = tpu_name
    else:
        columns["resource.name"] = node.instance_id
        columns["resource.global_name"] = tpu_name
    tag = {"key": "environment", "value": "training", "inherited": True, "namespace": "770300200100"}
    return columns | {"labels": labels, "tags": (tag,)}


def disk_rows(export: Export, node: TpuNode) -> None:
    """A labelled node's data disk, by the hour."""
    first, last = month_bounds(month_of(node.launched))
    label = node.tag or ""
    sku = DISK.named(PLACES[node.region_id].sku_name)
    columns = node_columns(node, label) | {
        "resource.name": f"{node.instance_id}-data",
        "resource.global_name": f"//compute.googleapis.com/projects/{node.account.account_id}/zones/{node.zone}"
        f"/disks/{node.instance_id}-data",
    }
    claim = whole(normalise(label), "tag", "storage")
    export.add(
        sku,
        columns,
        (
            Usage(
                start,
                end,
                node.volume_gb * (end - start) * 1_000_000 // (last - first) * 10_000,
                node.volume_gb * GIB * (end - start) * UNIT,
                claim,
            )
            for start, end in windows(node.launched, node.terminated)
        ),
    )


def helper_rows(export: Export, node: TpuNode) -> None:
    """A labelled virtual machine that feeds the node, as cores and memory."""
    label = node.tag or ""
    claim = whole(normalise(label), "tag", "host")
    columns = node_columns(node, label) | {
        "resource.name": f"{node.instance_id}-feeder",
        "resource.global_name": f"//compute.googleapis.com/projects/{node.account.account_id}/zones/{node.zone}/instances/"
        f"{int(digest('feeder', node.instance_id)[:15], 16)}",
        "system_labels": labels_of(
            **{
                "compute.googleapis.com/machine_spec": "n2-standard-32",
                "compute.googleapis.com/cores": str(HELPER_CORES),
                "compute.googleapis.com/memory": str(HELPER_GIB * 1_024),
            }
        ),
    }
    for sku, size, unit, watts in machine_skus(node.region_id, HELPER_CORES, HELPER_GIB):
        export.add(
            sku,
            columns,
            (
                Usage(start, end, chip_hours(end - start, size), size * unit * (end - start) * UNIT, claim)
                for start, end in windows(node.launched + 300, node.terminated)
            ),
            watts,
        )


def machine_skus(region_id: str, cores: int, gib: int) -> Iterator[tuple[Sku, int, int, int]]:
    """SKU, size, usage units of one of the size, watts of one of the size."""
    for sku, size, unit, watts in ((CORE, cores, 1, 7), (MEMORY, gib, GIB, 0)):
        yield sku.named(PLACES[region_id].sku_name), size, unit, watts


def traffic_rows(export: Export, world: World, node: TpuNode) -> None:
    """Traffic of an unlabelled node: the run that held it has it, the rest is nobody's."""
    random = generator("tpu traffic", node.instance_id)

    def usages() -> Iterator[Usage]:
        for start, end in windows(node.launched, node.terminated):
            amount = random.randrange(1, 60_000_000) * 1_000
            claim = line_claim(world, node, start, end - start, "network", end=end)
            yield Usage(start, end, amount, amount * GIB, claim)

    export.add(TRAFFIC, node_columns(node, None), usages())


def job_rows(export: Export, world: World) -> None:
    """Vertex AI bills the chips of a job and a management fee on them, both under the job's name."""
    job = job_of(world)
    place = PLACES[job.region_id].sku_name
    columns = {
        **project_columns(job.project),
        **location_columns(job.region_id, zonal=False),
        "resource.name": job.name,
        "resource.global_name": f"//aiplatform.googleapis.com/{job.name}",
        "labels": labels_of(training_run_id=normalise(job.display_name), cost_center="training"),
    }
    for words, price, component, watts in (
        (f"Custom training on TpuV5e running in {place}", "1.2", "accelerator", CHIP_WATTS["v5e"]),
        (f"Custom training management fee on TpuV5e running in {place}", "0.18", "managed_service_fee", 0),
    ):
        export.add(Sku(VERTEX, words, money(price)), columns, _job_usages(job, component), watts)


def _job_usages(job: Job, component: str) -> Iterator[Usage]:
    claim: Claim = whole(normalise(job.display_name), "managed_job", component)
    for start, end in windows(job.start, job.end):
        yield Usage(start, end, chip_hours(end - start, JOB_CHIPS), (end - start) * JOB_CHIPS * UNIT, claim)


def unused_reservation_rows(export: Export, world: World) -> None:
    """A reservation held for a night that nobody used: chips, but no instance."""
    sku = tpu_sku("v6e", "calendar", "us-east5")
    start, _ = month_bounds("2026-08")
    start += 20 * DAY + 19 * HOUR
    columns = {
        **project_columns(PRETRAINING),
        **location_columns("us-east5"),
        "system_labels": labels_of(
            **{
                "compute.googleapis.com/is_unused_reservation": "true",
                "compute.googleapis.com/reservation_name": "v6e-night" + world.suffix,
            }
        ),
    }
    claim = Claim("accelerator", (), Rest("unused_commitment", 1, 1))
    export.add(
        sku,
        columns,
        (Usage(hour, hour + HOUR, chip_hours(HOUR, 8), HOUR * 8 * UNIT, claim) for hour in range(start, start + 10 * HOUR, HOUR)),
        CHIP_WATTS["v6e"],
    )
