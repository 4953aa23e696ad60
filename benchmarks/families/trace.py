"""A trace to the rows of a large bill: the whole delivery is read and grouped again, whatever part of it is asked for."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.homes import Bench, cpu, peak
from benchmarks.measures import Family, Reading, Spec

FIGURE = "rpt_coverage/2026-04-01,AWS,AmazonEC2,USD/effective_cost"

SPECS = (Spec("trace_whole_bill", "trace of what a service cost in a month to the rows of the bill", "CPU s", 180),)


def read_trace(bench: Bench) -> Iterator[tuple[str, Reading]]:
    home = bench.bill("trace", bench.bill_rows)
    home.refresh()
    done = [home.run("trace", "--figure", FIGURE) for _ in range(bench.rounds)]
    yield "trace_whole_bill", Reading(cpu(done), None, peak(done), {"wall_s": round(done[-1].wall_s, 2), "rows": bench.bill_rows})


FAMILIES = (Family("trace", SPECS, read_trace),)
