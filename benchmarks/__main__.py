"""Run the measures and write results/latest.json and its page: `python -m benchmarks [--quick] [--only NAME ...]`.

A measure that cannot run here is listed with its reason; a run of some measures keeps the others as they were, each with the
code, time and load it was measured with. `--page` writes the page alone, which greys what is of other code than today's.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.families import FAMILIES
from benchmarks.homes import Bench, Product
from benchmarks.machine import machine, stamp, tree, versions
from benchmarks.measures import CannotMeasure, Family, row
from benchmarks.page import write_page
from benchmarks.process import CommandFailed

RESULTS = Path(__file__).parent / "results"


def read_family(bench: Bench, family: Family, only: set[str]) -> list[dict[str, Any]]:
    """A row for each measure of the family that is asked for, whatever happens."""
    specs = {spec.name: spec for spec in family.specs if not only or {spec.name, family.name} & only}
    if not specs:
        return []
    known: dict[str, Any] = {}
    before = stamp()
    reason = "its family ended without it"
    try:
        for name, reading in family.read(bench):
            known[name] = reading
            if name in specs:
                say(f"{name}: {reading.value:.3f} {specs[name].unit}" + (f" / {reading.floor:.3f}" if reading.floor else ""))
    except (CannotMeasure, CommandFailed) as why:
        reason = str(why)
    except Exception as fault:  # of the hours before it nothing may be lost
        reason = f"{type(fault).__name__}: {fault}"
    if specs.keys() - known.keys():
        say(f"{family.name}: {reason}")
    return [row(spec, known.get(name), reason, is_quick=bench.is_quick) | before for name, spec in specs.items()]


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def measure_all(bench: Bench, only: set[str], before: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The document of latest.json after each family; `before` gives the measures that were not asked for."""
    kept = {one["name"]: one for one in before.get("measures", [])} if only else {}
    order = [spec.name for family in FAMILIES for spec in family.specs]
    described = {"machine": machine(), "versions": versions(), "is_quick": bench.is_quick}
    for family in FAMILIES:
        if read := read_family(bench, family, only):
            kept |= {one["name"]: one for one in read}
            yield {**described, "measures": [kept[name] for name in order if name in kept]}


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    names = [name for family in FAMILIES for name in (family.name, *(spec.name for spec in family.specs))]
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", action="append", default=[], choices=names, metavar="NAME", help="a measure or a family")
    parser.add_argument("--quick", action="store_true", help="1 M rows and 12 months; goals of larger inputs are not judged")
    parser.add_argument("--with-50m", action="store_true", help="also 50 M rows")
    parser.add_argument("--rounds", type=int, help="how often each pair is run; the median counts")
    parser.add_argument(
        "--work", type=Path, default=Path("trainledger-benchmarks"), help="inputs and homes; kept for the next run"
    )
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--page", action="store_true", help="write the page of the last results again; nothing is run")
    parser.add_argument("--list", action="store_true", help="the names and goals, nothing is run")
    return parser.parse_args(arguments)


def main() -> None:
    asked = parse()
    if asked.list:
        for family in FAMILIES:
            for spec in family.specs:
                print(
                    f"{family.name:12} {spec.name:32} {spec.title}" + (f": {spec.direction} {spec.goal:g}" if spec.goal else "")
                )
        return
    bench = Bench(asked.work.resolve(), Product(), asked.quick, asked.rounds or (1 if asked.quick else 2), asked.with_50m)
    target = asked.results / "latest.json"
    before = json.loads(target.read_text()) if target.exists() else {}
    if asked.page:
        write_page(before, asked.results / "index.html", tree())
        return
    asked.results.mkdir(parents=True, exist_ok=True)
    for document in measure_all(bench, set(asked.only), before):
        target.write_text(json.dumps(document, indent=1) + "\n")
        write_page(document, asked.results / "index.html", tree())
        say(f"written: {target}")


if __name__ == "__main__":
    main()
