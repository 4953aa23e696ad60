"""Telemetry that fits no run, or another machine than the record has; runs on a type that no catalogue lists."""

from __future__ import annotations

from datetime import timedelta

from tests.energy.raw_tables import Line, series
from tests.energy.scenario import END, MINUTE, NEURON, NODE, START, TPU, hour


def write(line: Line) -> None:
    """All of it."""
    unknown_types(line)
    meetings(line)
    contradictions(line)


def unknown_types(line: Line) -> None:
    """A generation of TPUs with its chips, on two runs; its use is seen."""
    for name in ("next-generation", "next-generation-too"):
        line.run(name, "Google Cloud", (f"node-{name}", "v8t", 4, START, END))
    line.run("next-trainium", "AWS", ("i-next", "trn9.48xlarge", 8, START, END))


def meetings(line: Line) -> None:
    """A machine no run held, a key without a record, samples after a run, a machine that its record does not name."""
    line.samples(NEURON, hour("i-nobody"))
    line.run("odd-key", "AWS", ("i-odd-key", "trn1.2xlarge", 1, START, END))
    line.samples(NEURON, hour("i-odd-key"), key="somebody")
    line.samples(NEURON, hour("i-elsewhere"), key="somebody")
    line.run("half-hour", "AWS", ("i-half-hour", "trn1.2xlarge", 1, START, START + 30 * MINUTE))
    line.samples(NEURON, hour("i-half-hour"), key="half-hour")
    line.samples(NEURON, hour("i-not-recorded"), key="half-hour")


def contradictions(line: Line) -> None:
    """Documents of another type and another number of devices than the record; one whose own type has more; too many chips."""
    for name, chips in (("other-type", 16), ("other-count", None)):
        line.run(name, "AWS", (f"i-{name}", NODE, chips, START, END))
    line.samples(NEURON, series("i-other-type", 0, START, 2, 60, 0.5), states=("trn2.48xlarge", 16))
    line.samples(NEURON, series("i-other-count", 0, START, 2, 60, 0.5), states=(NODE, 8))
    line.run("no-type", "AWS", ("i-no-type", None, None, START, END))
    line.samples(NEURON, series("i-no-type", 0, START, 2, 60, 0.5), states=(NODE, 8))
    line.run("part-of-node", "AWS", ("i-part", NODE, 4, START, END))
    line.samples(NEURON, series("i-part", 0, START, 2, 60, 0.5), states=(NODE, 16))
    # the container of a run sees what the run was given
    line.run("in-a-container", "AWS", ("i-container", NODE, 8, START, END))
    line.samples(NEURON, series("i-container", 0, START, 2, 60, 0.5), key="in-a-container", states=(NODE, 8))
    line.run("small-tpu", "Google Cloud", ("node-small", "v6e", 4, START, END))
    for chip in range(8):
        line.samples(TPU, [("node-small", chip, None, START + timedelta(minutes=n), 0.5) for n in (1, 2)], states=("v6e", None))
