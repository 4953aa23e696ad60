"""What a refresh costs when little or nothing happened, as most refreshes of a day find it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

from benchmarks.generate_cur import PAYER
from benchmarks.homes import ROOT, Bench, Home, Product, cpu, peak
from benchmarks.inputs import neuron
from benchmarks.inputs.fleet import draw_fleet, write_records
from benchmarks.measures import Family, Reading, Spec
from benchmarks.process import Run, run

DELIVERIES = 20_000
MONTH = datetime(2026, 4, 1, tzinfo=UTC)

SPECS = (
    Spec("one_small_delivery", "refresh with one new run record, tiny home, process start to exit", "CPU s", 5),
    Spec("lay_out", "laying the dbt project out: once for a version, by whoever installs a checkout or makes a wheel", "CPU s"),
    Spec("first_refresh", "first refresh of a tiny home by an installed product", "CPU s", 20),
    Spec("one_changed_model", "refresh by a version with one other mart, laid out anew / its full build", "CPU s"),
    Spec("nothing_new", "refresh that finds nothing new, tiny home; nothing is written", "CPU s", 1),
    Spec(
        "nothing_new_20000",
        "refresh that finds nothing new among 20,000 deliveries, which the first one made five bundles of; nothing is written",
        "CPU s",
        3,
        needs_full_size=True,
    ),
)


def read_refreshes(bench: Bench) -> Iterator[tuple[str, Reading]]:
    home = bench.bill("tiny", 0)
    runs = home.folder / "exports/runs"
    shutil.rmtree(runs / "2026-04", ignore_errors=True)
    records = draw_fleet(1, MONTH, 8, PAYER).records[: 2 * bench.rounds + 1]
    home.refresh()
    news, quiet, before = [], [], set()
    for record in records:  # in turns: something new, nothing new
        write_records(runs, MONTH, [record])
        news.append(home.refresh())
        before = home.written()
        quiet.append(home.refresh())
        stated = _written_reason(before, home)
    yield "one_small_delivery", Reading(cpu(news), None, peak(news), _beside(news))
    yield "nothing_new", Reading(cpu(quiet), None, peak(quiet), _beside(quiet), stated)
    yield from _new_versions(bench)
    yield "nothing_new_20000", _many(bench)


def _new_versions(bench: Bench) -> Iterator[tuple[str, Reading]]:
    """A copy of the product, laid out as its installation does it, and a version with another text of one mart, which is not."""
    product, source = bench.work / "product", bench.product.tree or ROOT
    shutil.rmtree(product, ignore_errors=True)
    for folder in ("connectors", "dagster_project", "dbt", "reports"):
        shutil.copytree(source / folder, product / folder, ignore=shutil.ignore_patterns("target", "logs"))
    shutil.copy(source / "pyproject.toml", product)
    home = replace(bench.bill("first", 0), product=Product(product))
    laid_out = run([sys.executable, "-m", "dagster_project.warehouse.lay_out"], product, home.product.environment)
    yield "lay_out", Reading(laid_out.cpu_s, None, laid_out.peak_mb, _beside([laid_out]))
    first = home.refresh()
    yield "first_refresh", Reading(first.cpu_s, None, first.peak_mb, _beside([first]))
    [mart] = (product / "dbt/models/marts").rglob("fct_training_run_costs.sql")
    mart.write_text(f"{mart.read_text()}\n-- another version\n")
    changed, full = home.refresh(), home.refresh("--full")
    yield "one_changed_model", Reading(changed.cpu_s, full.cpu_s, changed.peak_mb, _beside([changed]))


def _many(bench: Bench) -> Reading:
    """A home whose telemetry came in very many small files, which the first refresh compacts by itself."""
    count = DELIVERIES // 20 if bench.is_quick else DELIVERIES
    home = bench.bill(f"many-{count}", 0)
    location = home.configure("neuron", "neuron_monitor")
    if not any(location.iterdir()):
        neuron.write_files(location, files=count, lines=1, start=MONTH, hosts=140, groups="few")
    home.refresh()
    before = home.written()
    quiet = [home.refresh() for _ in range(bench.rounds + 1)]
    return Reading(cpu(quiet), None, peak(quiet), {"deliveries": count, **_beside(quiet)}, _written_reason(before, home))


def _written_reason(before: set[tuple[str, int, int]], home: Home) -> str | None:
    changed = sorted({name for name, _, _ in before ^ home.written()})
    return f"written although nothing was new: {', '.join(changed)[:200]}" if changed else None


def _beside(runs: list[Run]) -> dict[str, float]:
    return {"wall_s": round(min(one.wall_s for one in runs), 2), "bytes_written": max(one.bytes_written for one in runs)}


FAMILIES = (Family("refreshes", SPECS, read_refreshes),)
