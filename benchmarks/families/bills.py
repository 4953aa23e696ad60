"""A month of AWS bills: build and whole refresh beside the floor, beside pandas and Polars, and beside what SPRUCE publishes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.homes import Bench, Home, cpu, in_turns, peak, python
from benchmarks.measures import CannotMeasure, Family, Reading, Spec
from benchmarks.process import CommandFailed, Run

HERE = Path(__file__).resolve().parents[1]
SPRUCE_US_PER_ROW = 38  # CPU microseconds, as its authors publish; it was not run here

BILLS = (
    Spec(
        "build_marts", "build of all marts from landed Parquet, net of an empty month / floor", "CPU s", 3, needs_full_size=True
    ),
    Spec("whole_refresh", "whole refresh from a local folder, net of an empty month / floor", "CPU s", 5, needs_full_size=True),
    Spec("peak_memory_10m", "peak memory of a whole refresh, 10 M rows", "MB", 2048, needs_full_size=True),
    Spec("build_marts_against_pandas", "the build, net / a pandas rollup of the same file, net", "CPU s", 1),
    Spec("build_marts_against_polars", "the build, net / a Polars rollup of the same file, net", "CPU s"),
    Spec("whole_refresh_against_spruce", "whole refresh, net, per row / SPRUCE's published figure", "CPU us per row", 0.2),
)


def read_bills(bench: Bench) -> Iterator[tuple[str, Reading]]:
    full, empty = bench.bill("bill", bench.bill_rows), bench.bill("bill", 0)
    landing, floors, builds, pandas, polars = _paired(bench, full, empty)
    rows = rows_of(full)
    floor, build, whole = net_of(floors), net_of(builds), net_of(landing)
    per_million = 1e6 / rows
    shown = {"rows": rows, "floor_cpu_s_per_million": round(floor * per_million, 3)}
    for name, net, runs in (("build_marts", build, builds), ("whole_refresh", whole, landing)):
        more = {
            **shown,
            "cpu_s_per_million": round(net * per_million, 3),
            "empty_month_cpu_s": round(cpu(runs[1]), 2),
            **_beside(runs[0]),
        }
        yield name, Reading(net, floor, peak(runs[0]), more)
    yield "peak_memory_10m", _memory(landing[0], rows)
    yield "build_marts_against_pandas", Reading(build, net_of(pandas), peak(pandas[0]), {"rows": rows})
    yield "build_marts_against_polars", Reading(build, net_of(polars), peak(polars[0]), {"rows": rows})
    yield "whole_refresh_against_spruce", Reading(whole / rows * 1e6, SPRUCE_US_PER_ROW, None, {"rows": rows})


Pair = tuple[list[Run], list[Run]]  # of the month, and of the month of one row


def _paired(bench: Bench, full: Home, empty: Home) -> list[Pair]:
    """Each command on the month and on the month of one row, all of a round before the next round."""

    def whole(home: Home) -> Run:
        home.forget()
        return home.refresh()

    def rollup(script: str, home: Home) -> Run:
        arguments = ["floor.sql"] if script == "floor.py" else []
        return python(HERE / script, *arguments, *home.landed_parquet("bench-cur"), folder=home.folder)

    actions: list[Callable[[], Run]] = [
        lambda: whole(full),
        lambda: whole(empty),
        *(
            lambda script=script, home=home: rollup(script, home)
            for script in ("floor.py", "peers/pandas_rollup.py", "peers/polars_rollup.py")
            for home in (full, empty)
        ),
        lambda: full.refresh("--full"),
        lambda: empty.refresh("--full"),
        lambda: rollup("floor.py", full),
        lambda: rollup("floor.py", empty),
    ]
    runs = in_turns(bench.rounds, *actions)
    landing, floors, pandas, polars, builds, again = ((runs[i], runs[i + 1]) for i in range(0, 12, 2))
    return [landing, (floors[0] + again[0], floors[1] + again[1]), builds, pandas, polars]


def net_of(pair: Pair) -> float:
    return cpu(pair[0]) - cpu(pair[1])


def _beside(runs: list[Run]) -> dict[str, float]:
    return {"wall_s": round(min(one.wall_s for one in runs), 2), "bytes_written": max(one.bytes_written for one in runs)}


def rows_of(home: Home) -> int:
    import duckdb

    files = home.landed_parquet("bench-cur")
    counted = duckdb.execute("select sum(num_rows) from parquet_file_metadata($files)", {"files": files}).fetchone()
    return int(counted[0]) if counted else 0


def _memory(runs: list[Run], rows: int) -> Reading:
    most = peak(runs)
    if most is None:
        raise CannotMeasure("this system does not tell the memory of a process tree")
    return Reading(most, None, most, {"rows": rows, **_beside(runs)})


LIMITED = (
    Spec("memory_limit_1gb", "a refresh of 10 M rows with `memory_limit: 1GB` completes: its peak", "MB", needs_full_size=True),
)
LARGE = (Spec("peak_memory_50m", "peak memory of a whole refresh, 50 M rows", "MB", 4096),)


def read_limited(bench: Bench) -> Iterator[tuple[str, Reading]]:
    home = bench.bill("bill", bench.bill_rows)
    configuration = home.folder / "trainledger.yaml"
    before = configuration.read_text()
    configuration.write_text(before.replace("sources:\n", "memory_limit: 1GB\nsources:\n"))
    try:
        reading = _memory([home.refresh()], rows_of(home))
        reading.is_kept = True
    except CommandFailed as failure:
        if "memory_limit" in str(failure):
            raise CannotMeasure("this version has no setting `memory_limit`") from failure
        reading = Reading(0, is_broken=str(failure)[:400])
    finally:
        configuration.write_text(before)
    yield "memory_limit_1gb", reading


def read_large(bench: Bench) -> Iterator[tuple[str, Reading]]:
    if not bench.has_50m:
        raise CannotMeasure("run on request, as it takes an hour and 20 GB of disk: --with-50m")
    large = bench.bill("bill", 50_000_000)
    yield "peak_memory_50m", _memory([large.refresh()], rows_of(large))


FAMILIES = (
    Family("bills", BILLS, read_bills),
    Family("memory_limit", LIMITED, read_limited),
    Family("memory_50m", LARGE, read_large),
)
