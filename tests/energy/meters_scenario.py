"""Runs whose nodes are metered by a scheduler, by MLPerf's rule, by outlets and counters, and by CodeCarbon.

The node of sixteen chips, held from one to two; each run has machines of its own.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from tests.energy.raw_tables import Line, insert
from tests.energy.scenario import END, MINUTE, NODE, START

BERT = START, START + timedelta(milliseconds=220_176)  # the length of the B200's run in samples/telemetry
WATTS = 9085.252432432433  # and its 9,665.16 W of AC power x 0.94


def write(line: Line) -> None:
    slurm(line, "slurm-job", joules=12_345_678, start=START, end=END)
    line.run("slurm-known", "AWS", *((f"i-known-{number}", NODE, None, START, END) for number in (1, 2)))
    insert(
        line.connection,
        "training_runs",
        part="alias",
        alias_system="slurm",
        alias_id="48213",
        **record("slurm-known", "run_json", line),
    )
    slurm(line, "48213", joules=23_040_000, start=START, end=END)
    slurm(line, "slurm-none", joules=None, start=START, end=END)
    line.run("mlperf", "AWS", ("i-mlperf", NODE, None, *BERT))
    line.power("power_meters", [("i-mlperf", None, *BERT, WATTS)], "mlperf")
    line.power("power_meters", [(None, None, *BERT, 5000)], "mlperf", component="switch", run_key="mlperf")  # type: ignore[list-item]
    outlets(line)
    carbon(line)


def record(run_id: str, system: str, line: Line) -> dict[str, object]:
    return {"record_system": system, "recorded_id": run_id} | line.meta("runs")


def slurm(line: Line, job: str, joules: float | None, start: datetime, end: datetime) -> None:
    """What connectors.runs.slurm lands of a job on two machines, by Slurm's names for them, with its joules together."""
    row = record(job, "slurm", line)
    stated = {"attempt_id": "1", "started_at": start, "ended_at": end} | row
    insert(line.connection, "training_runs", part="run", **row)
    insert(line.connection, "training_runs", part="alias", alias_system="slurm", alias_id=job, **row)
    insert(line.connection, "training_runs", part="attempt", state="succeeded", **stated)
    for number in (1, 2):
        machine = {"resource_id": f"{job}-{number}", "accelerator_type": NODE, "chips": 16, "node_count": 1}
        insert(line.connection, "training_runs", part="node", **machine, **stated)
    if joules:
        insert(line.connection, "training_runs", part="reading", energy_j=joules, meter="slurm", **stated)


def outlets(line: Line) -> None:
    """3,200 W: of two outlets that are read five seconds apart, and of a counter of joules."""
    line.run("outlets", "AWS", ("i-outlets", NODE, None, START, END))
    line.run("counter", "AWS", ("i-counter", NODE, None, START, END))
    for at in range(-2, 62):
        first, second = START + at * MINUTE, START + at * MINUTE + timedelta(seconds=5)
        parts = [("i-outlets", None, None, first, 1500, {"series": "1", "component": "1"})]
        parts += [("i-outlets", None, None, second, 1700, {"series": "2", "component": "2"})]
        line.power("power_meters", parts, "pdu")
    for at in (60, 7, 30, 0, 59, 7, 60):  # as often as somebody looked, in any order, some of it delivered twice
        counted = {"series": "", "counter_j": 1e6 + at * 60 * 3200}
        line.power("power_meters", [("i-counter", None, None, START + at * MINUTE, None, counted)], "bmc")


def carbon(line: Line) -> None:
    """One run told three times since its start, at 2,000 W and then at 3,000 W; and one whose accelerators were not seen."""
    for name, component in (("carbon", None), ("carbon-host", "processor and memory")):
        line.run(name, "AWS", (f"i-{name}", NODE, None, START, END))
        for at, joules in ((40, 6e6), (20, 2.4e6), (60, 9.6e6), (40, 6e6)):
            blurred = START + timedelta(milliseconds=(at - 20) * 10)
            stated = {"series": "r", "counter_j": joules, "component": component, "run_key": name}
            line.power("power_meters", [(None, None, blurred, START + at * MINUTE, joules / at / 60, stated)], "codecarbon")  # type: ignore[list-item]
