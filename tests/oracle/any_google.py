"""Drawn exports of Google Cloud and of telemetry, from one seed: where two calculations must agree on anything.

Commitments of both models, promotions, corrections, shared and oversubscribed nodes, clusters and pods, labels of nobody, carbon
with holes and repeats, samples with gaps, errors, overlaps and copies. April is invoiced, and the organisation states figures of
its own.
"""

import random
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from tests.connectors.prices import price

from .any_cluster import Clusters
from .builders import hour, run
from .google_builders import (
    COMPUTE,
    PROJECT,
    GoogleExports,
    credits_of,
    gauge,
    kilograms,
    labels_of,
    neuron_document,
    tpu_hour,
    tpu_run,
)

MONTHS = {"2026-04": datetime(2026, 4, 1, tzinfo=UTC), "2026-05": datetime(2026, 5, 1, tzinfo=UTC)}
NODES = {"tpu-0": "v6e", "tpu-1": "v5e", "tpu-2": "v5p", "tpu-3": "v4"}
SPELLINGS = {"v6e": "tpu-v6e-slice", "v5e": "TPU_V5_LITEPOD", "v5p": "v5p", "v4": "TPU v4"}  # of people and systems
RUN_IDS = ["g-run-1", "g-run-10", "g-run-2", "G_Vision.7"]
TRAINIUM = "i-0feed"
TRAINIUM_RUNS = ["a-run-1", "a-run-2", "a-run-3"]
REGIONS = {"tpu-0": "us-east5", "tpu-1": "us-central1", "tpu-2": "us-central1", "tpu-3": "us-east5", TRAINIUM: "us-east-2"}
HOURS = 24
# of the bill's days 1 April and 1 May: a list of 4 March is in force until 1 April, and one of 3 April until 1 May
LISTS = ("2026-03-04", "2026-03-20", "2026-04-01", "2026-04-03", "2026-04-20", "2026-05-01")
UNRECOGNISED = (
    "TPU Ultra running in Iowa", "TPU Ultra running in Columbus", "Tpu99x running in Columbus",
    "Nvidia L9 GPU running in Columbus", "Nvidia vGPU license in Columbus",
    "Custom training management fee on TpuV5e in Columbus",
)  # fmt: skip
SKUS = (
    "N2 Instance Core running in Columbus", "N2 Instance Ram running in Columbus", "Balanced PD Capacity in Columbus",
    "Network Inter Zone Data Transfer Out", "Output tokens", "DWS Defined Duration V6e running in Columbus", "TPU Ultra",
    "Custom training management fee on TpuV5e running in Columbus", "Reserved V6e TPU in Columbus in Calendar Mode",
)  # fmt: skip
CREDITS = (
    "COMMITTED_USAGE_DISCOUNT", "COMMITTED_USAGE_DISCOUNT_DOLLAR_BASE", "SUSTAINED_USAGE_DISCOUNT", "PROMOTION", "NEW",
)  # fmt: skip


class Draw:
    """Everything is drawn from one generator, in a fixed order."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        # on their own: another way to name a project, or another own figure, leaves every other draw as it is
        self.projects = random.Random(seed)
        self.own = random.Random(seed)
        self.spot = random.Random(seed)
        self.parts = random.Random(seed)
        self.listed = random.Random(seed)
        self.clusters = Clusters(seed)

    def amount(self, top: float = 40) -> float:
        return round(self.random.uniform(0, top), self.random.choice([2, 6, 10])) * self.random.choice([1, 1, 1, 1, 0])

    def place(self, region: str | None = None) -> dict:
        region = region or self.random.choice(["us-east5", "us-central1"])
        kinds = (
            {"location": {"location": f"{region}-b", "region": region, "zone": f"{region}-b"}},
            {"location": {"location": f"{region}-b", "zone": f"{region}-b"}},
            {"location": {"location": region, "region": region}},
        )
        return self.random.choice(kinds)

    def evidence(self, node: str) -> dict:
        columns: dict = {"resource": {"name": node, "global_name": f"//tpu.googleapis.com/projects/1/locations/z/nodes/{node}"}}
        if self.random.random() < 0.3:
            columns["resource"]["name"] = f"t1v-n-{node}-w-0"
        if self.random.random() < 0.3:
            key = self.random.choice(["training_run_id", "training-run-id"])
            columns["labels"] = labels_of(**{key: self.random.choice([*RUN_IDS, "g-vision-7", "nobody", "g-amb-x"])})
        return columns

    def money(self, cost: float) -> dict:
        columns: dict = {"cost_at_list": self.random.choice([cost, self.amount(), None])}
        if self.random.random() < 0.3:
            columns["cost_at_effective_price_default"] = Decimal(str(self.amount())).quantize(Decimal("1e-9"))
        if self.random.random() < 0.4:
            chosen = self.random.sample(CREDITS, self.random.choice([1, 1, 2]))
            columns["credits"] = credits_of(**{kind: -self.amount(cost) for kind in chosen})
        if self.random.random() < 0.2:
            columns["subscription"] = {"instance_id": self.random.choice(["sub-1", "sub-2", "sub-offset"])}
        return columns

    def usage_row(self, at: datetime, node: str, kind: str) -> dict:
        cost, hours = self.amount(), self.random.choice([1.0, 4.0, 0.123457, 8.0])
        mode = self.spot.choice(["", "", " attached to Spot Preemptible VMs"])
        row = tpu_hour(_naive(at), cost, f"Tpu{kind.capitalize()}{mode} running in Columbus")
        row |= self.place("us-east5" if node in ("tpu-0", "tpu-3") else "us-central1") | self.evidence(node) | self.money(cost)
        row["usage"] = {"amount": hours * 3600, "unit": "seconds", "amount_in_pricing_units": hours}
        if self.random.random() < 0.04:
            kind = self.random.choice(["USAGE_CORRECTION", "PRICE_CORRECTION", "GOODWILL", "SLA_VIOLATION"])
            row |= {"cost_type": "adjustment", "adjustment_info": {"type": kind}, "cost": -row["cost"]}
            row["usage"] = self.random.choice([row["usage"], {"amount": -3600.0, "amount_in_pricing_units": -1.0}, None])
        return row

    def named(self, project: dict | None) -> dict | None:
        """A project by its number, by its id or by both; of `gone` no row gives the number."""
        if not project or not project["number"]:
            return self.projects.choice([project, project, {"id": "gone"}])
        name = "first" if project["number"] == PROJECT else "second"
        return self.projects.choice([project, project | {"id": name}, {"id": name}])

    def other_row(self, at: datetime) -> dict:
        cost = self.amount()
        row = tpu_hour(_naive(at), cost, self.random.choice(SKUS)) | self.place() | self.money(cost)
        row |= {"resource": self.random.choice([None, {"name": "vm-1"}])}
        row["sku"]["id"] = row["sku"]["description"][:13]  # separates memory from cores
        row["usage"] = row["usage"] | {"pricing_unit": "gibibyte hour" if "Ram" in row["sku"]["description"] else "hour"}
        row["project"] = self.random.choice([{"number": PROJECT}, {"number": "401000000002"}, None])
        row["project"] = self.named(row["project"])
        special = self.random.choice(["", "", "", "", "tax", "rounding_error", "support", "unused"])
        if special in ("tax", "rounding_error"):
            row |= {"cost_type": special, "credits": None}
        elif special == "support":
            row["service"] = {"id": "2062-016F-44A2", "description": "Support"}
        elif special == "unused":
            row["system_labels"] = labels_of(**{"compute.googleapis.com/is_unused_reservation": "true"})
        return row

    def fee_rows(self, at: datetime) -> list[dict]:
        rows = []
        for sku, subscription in (("TpuV6e", "sub-1"), ("TpuV5p", None), ("core", "sub-2"), ("TpuV6e", "sub-offset")):
            hours = self.random.choice([4.0, 48.0])
            row = tpu_hour(_naive(at), self.amount(400), f"Commitment v1: {sku} running in Columbus for 1 Year", resource=None)
            row |= {"usage": {"amount": hours * 3600, "amount_in_pricing_units": hours, "pricing_unit": "hour"}, **self.place()}
            row["location"] = self.random.choice([row["location"], None])
            row["subscription"] = subscription and {"instance_id": subscription}
            if subscription == "sub-offset" and self.random.random() < 0.5:
                row["credits"] = credits_of(FEE_UTILIZATION_OFFSET=-self.amount(row["cost"]))
            elif self.random.random() < 0.2:
                row["credits"] = credits_of(PROMOTION=-self.amount(row["cost"]))
            rows.append(row)
        for sku in (None, *SKUS[:2]):  # committed spend: billed by the SKU it pays for
            row = tpu_hour(
                _naive(at), self.amount(4), "Commitment - dollar based v1: GCE for 1 year", resource=None, location=None
            )
            row |= {
                "subscription": {"instance_id": "sub-spend"},
                "labels": sku and labels_of(**{"goog-originating-sku-id": sku[:13]}),
            }
            if sku and self.random.random() < 0.3:
                row["credits"] = credits_of(FEE_UTILIZATION_OFFSET=-row["cost"])
            rows.append(row)
        return rows

    def bill(self, month: str) -> list[dict]:
        rows = []
        for number in range(HOURS):
            at = MONTHS[month] + timedelta(hours=number)
            used = [self.usage_row(at, node, kind) for node, kind in NODES.items() if self.random.random() < 0.8]
            rows += map(self.clusters.labelled, [*used, *(self.other_row(at) for _ in range(3))])
            if number % 12 == 0:
                rows += self.fee_rows(at)
        return rows

    def invoiced(self, rows: list[dict]) -> list[dict]:
        """On the invoice of their month; a few came late, on that of May."""
        return [row | {"invoice": {"month": self.own.choice([*["202604"] * 30, "202605"])}} for row in rows]

    def prices(self) -> list[dict]:
        """Of three types of four: in one region, everywhere, and from a day of May on."""
        google, choice = {"provider_name": "Google Cloud"}, self.spot.choice
        of_type = {name: google | {"accelerator_type": name} for name in NODES.values()}
        return [
            of_type["v6e"] | {"region_id": "us-east5", "price_per_hour": choice(["2.7", "2.712345678"])},
            of_type["v6e"] | {"price_per_hour": "3.1", "valid_from": "2026-05-02"},
            of_type["v5e"] | {"price_per_hour": "1.2", "valid_to": "2026-05-01"},
            of_type["v5e"] | {"price_per_hour": "1.3", "valid_from": "2026-04-02", "valid_to": "2026-05-03"},
            of_type["v4"] | {"price_per_hour": "3.22", "valid_from": "2026-04-01"},
            of_type["v4"] | {"price_per_hour": "4", "currency": "EUR"},
            of_type["v5p"] | {"price_per_hour": "2", "purchase_option": "spot"},
        ]

    def price_list(self, day: str) -> list[dict]:
        """What a day's list has: hours at a price, hours of which two prices or tiers are stated, and SKUs that no rule knows."""

        def listed(sku: str, *regions: str, **changes: object) -> dict:
            return price(sku, self.listed.choice(["1.2", "2.345678901", "3.22"]), *regions, day=day, **changes)

        rows = [
            listed(f"{name}{mode} running in {place}", region)
            for name in ("TpuV5p", "TpuV5e", "TpuV6e", "Cloud TPU v4 pod", "Nvidia H100 80GB GPU")
            for mode in ("", " attached to Spot Preemptible VMs")
            for place, region in (("Iowa", "us-central1"), ("Columbus", "us-east5"))
            if self.listed.random() < 0.8
        ]
        two = listed("TpuV6e in two tiers running in Columbus", "us-east5")
        two["list_price"] = {"tiered_rates": two["list_price"]["tiered_rates"] * 2}
        return [
            *rows,
            two,
            listed("TpuV5p running in Americas", "us-central1", "us-east5"),  # at a second price, or the same once more
            listed("TpuV5p running in Iowa", "us-central1", account_currency_code="EUR"),
            listed("TpuV5e in all of a month running in Iowa", "us-central1", pricing_unit="mo"),
            listed("TpuV5e for Vertex AI running in Iowa", "us-central1", service={"id": "C7E2-9256-1C43"}),
            listed("Commitment v1: TpuV5p in Iowa for 1 Year", "us-central1"),
            listed("Reserved V6e TPU in Columbus in Calendar Mode", "us-east5"),
            listed("DWS Defined Duration V6e running in Columbus", "us-east5"),
            *self.listed.sample([listed(sku, "us-east5") for sku in UNRECOGNISED], 3),
            listed("Instance Core running in Columbus", "us-east5"),
        ]

    def _drawable_wh(self, records: list[dict], run_id: str, month: str, region: str | None = None) -> int:
        """Some 200 W for each chip and hour of a run's month, which any chip can draw: other energy would be unknown."""
        hours = 0.0
        for node in (node for record in records if record["training_run_id"] == run_id for node in nodes_of(record)):
            if node["started_at"][:7] == month and region in (None, REGIONS[node["resource_id"]]):
                start, end = (datetime.fromisoformat(node.get(name) or node["started_at"]) for name in ("started_at", "ended_at"))
                hours += max((end - start).total_seconds() / 3600, 1) * (node.get("chips") or 4)
        return round(hours * self.own.uniform(150, 250))

    def own_figures(self, records: list[dict]) -> list[dict]:
        """PUE of a region from May on and of a run, watts of a type, factors, energy of a run and of a region of another."""
        run_ids, regions = sorted(record["training_run_id"] for record in records), [*REGIONS.values()]
        places: dict[tuple[str, str], set[str]] = defaultdict(set)
        for record in records:
            for node in nodes_of(record):
                places[record["training_run_id"], node["started_at"][:7]].add(REGIONS[node["resource_id"]])
        other, at = self.own.choice(
            sorted(places, key=lambda place: (-len(places[place]), place))[:6]
        )  # of several regions first
        one, month = self.own.choice(sorted(places.keys() - {(other, at)}))
        name = self.own.choice([*NODES])
        watts, bases = self.own.randrange(100, 340), ["chip", "chip_host", "it", "facility"]
        energy = {"kind": "measured_energy", "basis": self.own.choice(bases), "valid_to": ""}
        return [
            {"kind": "pue", "key": self.own.choice(["us-east5", "us-central1"]), "value": 1.2345, "unit": "ratio",
             "valid_from": "2026-05-01"},
            {"kind": "pue", "key": "*", "value": 1.31, "unit": "ratio", "training_run_id": self.own.choice(run_ids)},
            {"kind": "max_power", "key": NODES[name], "value": watts / 1000, "unit": "kW"},
            {"kind": "idle_power", "key": NODES[name], "value": watts // 3, "unit": "W", "region_id": REGIONS[name]},
            {"kind": "factor", "key": self.own.choice(regions), "value": 287.125, "unit": "gCO2e/kWh"},
            {"kind": "factor", "key": "*", "value": 0.41, "unit": "tCO2e/MWh", "training_run_id": self.own.choice(run_ids),
             "valid_to": "2026-05-01"},
            energy | {"key": one, "value": self._drawable_wh(records, one, month) / 1000, "unit": "kWh",
                      "valid_from": f"{month}-01"},
            energy | {"key": other, "value": self._drawable_wh(records, other, at, min(places[other, at])), "unit": "Wh",
                      "valid_from": f"{at}-01", "basis": self.own.choice(bases), "region_id": min(places[other, at])},
        ]  # fmt: skip

    def holdings(self, nodes: Iterable[str]) -> list[tuple]:
        held = []
        for first in MONTHS.values():
            for node in nodes:
                if self.random.random() < 0.6:
                    start = first + timedelta(minutes=self.random.randrange(HOURS * 60))
                    end = start + timedelta(seconds=self.random.randrange(1, 10 * 3600))
                    chips = self.random.choice([None, 1, 2, 4, 8])
                    held.append((node, start.isoformat(), end.isoformat(), self.parts.choice([chips, chips, chips, 0.5, 1 / 7])))
        return held

    def record(self, run_id: str) -> dict:
        record = tpu_run(run_id, *self.holdings(NODES))
        for node in nodes_of(record):
            node["accelerator_type"] = SPELLINGS[NODES[node["resource_id"]]]
        return record

    def carbon_rows(self) -> list[dict]:
        rows = []
        for number in (PROJECT, "401000000002", ""):
            for place in ("us-east5", "us-central1", "europe-west4", "global", "us", "us-west99"):
                if self.random.random() < 0.8:
                    mass = self.random.choice([None, *(round(self.random.uniform(3, 90), 6) for _ in range(5))])
                    location = {"location": place, "region": place if "-" in place else None}
                    row = kilograms(
                        mass, project=self.named({"number": number}), location=location, service={"id": COMPUTE["id"]}
                    )
                    rows += [row] * self.random.choice([1, 1, 1, 2])
        return rows

    def neuron(self, first: datetime) -> list[tuple[str, dict]]:
        """Half hours with gaps, errors, overlaps and idle times."""
        documents, at = [], first
        while at < first + timedelta(hours=HOURS):
            at += timedelta(seconds=self.random.choice([1800, 1800, 1800, 1800.4, 1830, 5000, 1700]))
            cores = {core: round(self.random.uniform(0, 110), 2) for core in range(32) if self.random.random() < 0.8}
            error = self.random.choice(["", "", "", "", "", "", "lost"])
            document = neuron_document(self.random.choice([cores, cores, cores, None]), period=1800.0, error=error)
            documents += [(at.isoformat(), document)] * self.random.choice([1, 1, 1, 2])
        return documents

    def tpu(self, node: str, run: str | None) -> list[dict]:
        """Ten-minute points; some are missing, some chips are idle while memory is in use, some have the name of a run."""
        series = []
        for chip in range(4):
            times = [first + timedelta(minutes=10 * number) for first in MONTHS.values() for number in range(1, HOURS * 6)]
            kept = {_z(at): round(self.random.uniform(0, 100), 1) for at in times if self.random.random() < 0.7}
            series.append(gauge("duty_cycle", node, chip, kept, run))
            series.append(gauge("memory_used", node, chip, {_z(at): 1.0 for at in times}, run))
        return series


def nodes_of(record: dict) -> list[dict]:
    return record["attempts"][0]["nodes"]


def _naive(at: datetime) -> str:
    return at.replace(tzinfo=None).isoformat()


def _z(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def write_any_google(exports: GoogleExports, seed: int) -> list[dict]:
    """Returns the organisation's own figures."""
    draw = Draw(seed)
    for month, first in MONTHS.items():
        rows = draw.bill(month)
        exports.google_bill(draw.invoiced(rows) if month == "2026-04" else rows, day=f"{first:%Y-%m-%d}")
        exports.neuron(TRAINIUM, draw.neuron(first), name=month)
        exports.neuron(TRAINIUM, draw.neuron(first), run=TRAINIUM_RUNS[0], name=month)
        times = [_naive(first + timedelta(hours=number)) for number in range(2 * HOURS)]
        exports.bill([hour(at, 20.0, line_item_resource_id=TRAINIUM) for at in times], period=month)
    exports.google_carbon(draw.carbon_rows())
    records = [draw.record(run_id) for run_id in RUN_IDS]
    records += [run(run_id, *draw.holdings([TRAINIUM] * 2)) for run_id in TRAINIUM_RUNS]
    exports.runs(*records, *draw.clusters.records([*MONTHS.values()], HOURS))
    exports.runs(tpu_run("G-Amb.X", ("tpu-0", "2026-04-01T00:00:00Z", "2026-04-01T09:00:00Z", 2)), tpu_run("g-amb-x"))
    for node in NODES:
        exports.tpu(*draw.tpu(node, None), name=node)
    exports.tpu(*draw.tpu("tpu-1", "g_run_10"), *draw.tpu("tpu-1", RUN_IDS[0]), name="keyed")
    figures = draw.own_figures(records)
    exports.own_figures(*figures)
    exports.own_prices(*draw.prices())
    for day in sorted(draw.listed.sample(LISTS, 3)):
        exports.google_prices(draw.price_list(day), day)
    return figures
