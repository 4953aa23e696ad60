"""Fleets with known true watts: what runs drew, and what meters, drivers and monitors wrote. It imports nothing of the rules.

A fleet has one run of each basis, of one chip (published: of eight) for an hour, under periods of load that are drawn. At use
u a chip draws idle + u x (full - idle); full power differs by type, workload, host and chip. The ratings below are those of
vendors' pages, about which the truth is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import numpy as np

SEED = 20261124
HOMES, FLEETS = 5, 40  # of each home
PROMISED = {"measured": 0.95, "driver_power": 0.95, "calibrated": 0.95, "published": 0.90}
MONTH = datetime(2026, 7, 1)  # noqa: DTZ001 raw times are UTC without a zone
HOUR = 3_600
H100, H200, TRAINIUM2 = ("p5.4xlarge", 700.0), ("p5en.48xlarge", 700.0), ("trn2.3xlarge", 500.0)
TYPE, HOST, CHIP = {"gpu": 0.05, "trainium": 0.1}, 0.04, 0.03  # standard deviations of full power, as shares
METER = 0.05  # NVML and the driver are at most so far off
LIMIT_W = 1.05 * 700  # the firmware of a GPU holds it there
BELOW_RATING = 0.8  # what an organisation's workloads draw of a type that it calibrates


@dataclass
class Home:
    """Rows of raw tables, and the true energy of each chip's hour by run."""

    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    true_kwh: dict[str, float] = field(default_factory=dict)

    def add(self, table: str, **values: object) -> None:
        self.rows.setdefault(table, []).append(values)

    def run(self, name: str, machines: dict[str, int], kind: str, hours: int, at: datetime, **stated: object) -> None:
        """A record of a run on these machines, with the chips that it holds of each."""
        shared = {"record_system": "run_json", "recorded_id": name}
        attempt = shared | {"attempt_id": "1", "started_at": at, "ended_at": at + timedelta(hours=hours)}
        self.add("training_runs", part="run", provider_name="AWS", **shared, **stated)
        self.add("training_runs", part="attempt", state="succeeded", **attempt)
        for host, chips in machines.items():
            self.add("training_runs", part="node", resource_id=host, accelerator_type=kind, chips=chips, node_count=1, **attempt)

    def read(self, table: str, host: str, start: datetime | None, end: datetime, device: int = 0, **figures: object) -> None:
        evidence = "measured" if "utilisation_ratio" in figures else "power"
        self.add(
            table, host_id=host, device_index=device, sample_start=start, sample_end=end, evidence=evidence, boundary="chip",
            is_idle_by_absence=False, is_sampled=False, document_hash=f"{host}-{device}-{end}", **figures,
        )  # fmt: skip


@dataclass(frozen=True)
class Chip:
    idle_w: float
    full_w: float

    def watts(self, use: np.ndarray) -> np.ndarray:
        return self.idle_w + use * (self.full_w - self.idle_w)


@dataclass(frozen=True)
class Fleet:
    """A type as this fleet's chips are, the differences between its workloads, and its meter's error."""

    name: str
    dice: np.random.Generator
    between_workloads: float
    meter: float

    def chip(self, rating: float, family: str) -> Chip:
        full = rating * (1 + self.dice.normal(0, TYPE[family]))
        return Chip(full * self.dice.uniform(0.15, 0.47), full)

    def off(self, *spreads: float) -> float:
        return float(np.prod([1 + self.dice.normal(0, each) for each in spreads]))

    def load(self) -> np.ndarray:
        """Use in each second of an hour: periods of half a minute to ten minutes in the mean, each at one use."""
        usual = self.dice.uniform(30, 600)
        lengths = np.ceil(self.dice.exponential(usual, HOUR)).astype(int)
        return np.repeat(self.dice.uniform(0, 1, HOUR), lengths)[:HOUR]


def home(number: int) -> Home:
    """Forty fleets."""
    drawn = Home()
    for fleet in range(FLEETS):
        dice = np.random.default_rng([SEED, number, fleet])
        each = Fleet(f"f{number}{fleet:02}", dice, float(dice.uniform(0.05, 0.2)), float(1 + dice.uniform(-METER, METER)))
        _measured(drawn, each)
        _driver_power(drawn, each)
        _calibrated(drawn, each)
        _published(drawn, each)
    return drawn


def _of_run(fleet: Fleet, chip: Chip) -> Chip:
    """A chip of one more host under one more workload."""
    full = chip.full_w * fleet.off(fleet.between_workloads, HOST, CHIP)
    return Chip(chip.idle_w * fleet.off(HOST, CHIP), min(full, LIMIT_W))


def _kwh(watts: np.ndarray) -> float:
    return float(watts.sum()) / 3.6e6


def _measured(drawn: Home, fleet: Fleet) -> None:
    """NVML's points, ten seconds to a minute apart."""
    name, at = f"{fleet.name}-measured", MONTH + timedelta(days=20)
    watts = _of_run(fleet, fleet.chip(H100[1], "gpu")).watts(fleet.load())
    drawn.run(name, {f"i-{name}": 1}, H100[0], 1, at)
    drawn.true_kwh[name] = _kwh(watts)
    spacing = int(fleet.dice.choice([10, 15, 30, 60]))
    for second in range(spacing, HOUR + 1, spacing):
        read = float(watts[second - 1]) * fleet.meter
        when = at + timedelta(seconds=second)
        drawn.read("gpu_monitoring", f"i-{name}", None, when, power_w=read, meter="nvml", sdk_version=name)


def _driver_power(drawn: Home, fleet: Fleet) -> None:
    """A driver's share of full power, minute by minute."""
    name, at = f"{fleet.name}-driver_power", MONTH + timedelta(days=20)
    chip, use = fleet.chip(TRAINIUM2[1], "trainium"), fleet.load()
    drawn.run(name, {f"i-{name}": 1}, TRAINIUM2[0], 1, at)
    drawn.true_kwh[name] = _kwh(chip.watts(use))
    for minute, share in enumerate(use.reshape(60, 60).mean(axis=1)):
        start = at + timedelta(minutes=minute)
        ratio = min(float(share) * fleet.meter, 1.0)
        drawn.read(
            "neuron_power", f"i-{name}", start, start + timedelta(minutes=1), power_ratio=ratio, meter="neuron_sysfs",
            sdk_version=name,
        )  # fmt: skip


def _calibrated(drawn: Home, fleet: Fleet) -> None:
    """Three to eight workloads metered on one to four hosts, busy for an hour, idle for one; then a run without a meter."""
    chip, at = fleet.chip(BELOW_RATING * H100[1], "gpu"), MONTH + timedelta(days=2)
    hosts = {f"i-{fleet.name}-{number}": _of_host(fleet, chip) for number in range(fleet.dice.integers(1, 5))}
    for number in range(fleet.dice.integers(3, 9)):
        start, name = at + timedelta(days=number), f"{fleet.name}-metered-{number}"
        by_workload = fleet.off(fleet.between_workloads)
        use = np.repeat([fleet.dice.uniform(0.92, 1), 0.0], HOUR)
        drawn.run(name, dict.fromkeys(hosts, 1), H100[0], 2, start, sdk_version=fleet.name, workload_key=name)
        for host, of_host in hosts.items():
            watts = Chip(of_host.idle_w, min(of_host.full_w * by_workload, LIMIT_W)).watts(use) * fleet.meter
            for quarter, read in enumerate(watts.reshape(8, 900).mean(axis=1)):
                begin = start + timedelta(minutes=15 * quarter)
                figures = {"power_w": float(read), "meter": "nvml", "utilisation_ratio": float(use[900 * quarter])}
                drawn.read("gpu_monitoring", host, begin, begin + timedelta(minutes=15), **figures)
    name, start = f"{fleet.name}-calibrated", MONTH + timedelta(days=20)
    use = fleet.load()
    drawn.run(name, {f"i-{name}": 1}, H100[0], 1, start, sdk_version=fleet.name, workload_key=name)
    drawn.true_kwh[name] = _kwh(_of_run(fleet, chip).watts(use))
    _seen(drawn, name, start, use, chips=1)


def _of_host(fleet: Fleet, chip: Chip) -> Chip:
    return Chip(chip.idle_w * fleet.off(HOST, CHIP), chip.full_w * fleet.off(HOST, CHIP))


def _published(drawn: Home, fleet: Fleet) -> None:
    """Use alone, of a type whose watts its vendor states."""
    name, start = f"{fleet.name}-published", MONTH + timedelta(days=20)
    chip, use = _of_run(fleet, fleet.chip(H200[1], "gpu")), fleet.load()
    drawn.run(name, {f"i-{name}": 8}, H200[0], 1, start)
    drawn.true_kwh[name] = 8 * _kwh(chip.watts(use))
    _seen(drawn, name, start, use, chips=8)


def _seen(drawn: Home, name: str, start: datetime, use: np.ndarray, chips: int) -> None:
    """The mean use of every five minutes."""
    for number, mean in enumerate(use.reshape(12, 300).mean(axis=1)):
        begin = start + timedelta(minutes=5 * number)
        for device in range(chips):
            end = begin + timedelta(minutes=5)
            drawn.read("gpu_monitoring", f"i-{name}", begin, end, device, utilisation_ratio=float(mean), meter="nvml")
