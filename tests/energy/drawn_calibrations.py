"""Metered chips with a full power that is known: what each meter read while several workloads ran on several hosts.

It imports nothing of the rules that are judged by it. A reading is the true watts times what the meter, the host, the chip, the
workload and the hour are off by. All of a type's chips share their meter's error.
"""

from __future__ import annotations

from datetime import date

import numpy as np
import polars as pl

SEED = 20261124
TRUE_W = 500.0
METER, HOST, CHIP, WINDOW = 0.05, 0.04, 0.03, 0.02  # standard deviations, as shares
BETWEEN_WORKLOADS = (0.05, 0.1, 0.15, 0.2)
WORKLOADS = (3, 4, 6, 10)
MOST_HOSTS = 5
CHIPS = 4
QUARTER_US = 900_000_000
CASES = [(workloads, spread) for workloads in WORKLOADS for spread in BETWEEN_WORKLOADS]


def draw(workloads: int, spread: float, sets: int) -> pl.DataFrame:
    """Busy windows of so many sets, each of one to five hosts that ran every workload; `set` numbers them."""
    dice = np.random.default_rng([SEED, workloads, round(1000 * spread)])
    hosts = dice.integers(1, MOST_HOSTS + 1, sets)
    shape = (sets, workloads, MOST_HOSTS, CHIPS)
    off_by = (
        (METER, (sets, 1, 1, 1)),
        (spread, (sets, workloads, 1, 1)),
        (HOST, (sets, 1, MOST_HOSTS, 1)),
        (CHIP, (sets, 1, MOST_HOSTS, CHIPS)),
        (WINDOW, shape),
    )
    watts = TRUE_W * np.prod([np.broadcast_to(1 + dice.normal(0, each, of), shape) for each, of in off_by], axis=0)
    numbers = dict(zip(("set", "workload", "host", "chip"), (axis.ravel() for axis in np.indices(shape)), strict=True))
    frame = pl.DataFrame(numbers | {"watts": watts.ravel().clip(1), "hosts": np.repeat(hosts, watts[0].size)})
    return frame.filter(pl.col("host") < pl.col("hosts")).drop("hosts")


def as_windows(frame: pl.DataFrame, accelerator_type: str, month: date) -> pl.DataFrame:
    """The same as rows of int_power_windows: a quarter of an hour each, of one software per set."""
    microwatts = (pl.col("watts") * 1e6).round().cast(pl.Int64)
    start = pl.col("workload").cast(pl.Int64) * 86_400_000_000
    return frame.select(
        usage_month=pl.lit(month),
        accelerator_type=pl.lit(accelerator_type),
        sdk_version=pl.col("set").cast(pl.String),
        source_kind=pl.lit("gpu_monitoring"),
        unmetered_share=pl.lit(0.0),
        host="h" + pl.col("host").cast(pl.String),
        training_run_id="r" + pl.col("workload").cast(pl.String),
        workload="w" + pl.col("workload").cast(pl.String),
        window_from_us=start,
        window_to_us=start + QUARTER_US,
        metered_us=pl.lit(QUARTER_US),
        mean_uw=microwatts,
        window_class=pl.lit("busy"),
    )
