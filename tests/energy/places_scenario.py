"""Machines without a bill, whose region their telemetry or their record names, or names twice."""

from __future__ import annotations

from tests.energy.raw_tables import Line
from tests.energy.scenario import CHIP, END, NEURON, START, TPU, hour, points


def write(line: Line) -> None:
    """All of it."""
    for name, regions in (("told", ["us-east-1"]), ("told-two", ["us-east-1", "us-west-2"]), ("told-none", [None])):
        line.run(f"place-{name}", "AWS", (f"i-place-{name}", CHIP, 1, START, END))
        for region in regions:
            line.samples(NEURON, hour(f"i-place-{name}"), region=region)
    # a bill comes before telemetry
    line.samples(NEURON, hour("i-billed"), key="billed", region="us-west-2")
    line.run("place-tpu", "Google Cloud", ("7171", "v6e", 1, START, END))
    line.samples(TPU, points("7171", [(0, 1.0)]), region="us-central1")
    line.run("place-in-name", "Google Cloud", ("us-central1-b/n-1", "v6e", 1, START, END))
