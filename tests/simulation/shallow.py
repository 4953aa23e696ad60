"""`trainledger refresh` over six small tables: the product's own command, in a tenth of the time, and what readers find after it.

What is left out has proofs of its own and no effect on what is landed, elected or published: Dagster's page of the run, Great
Expectations, whose rules are asked as the predicates that the product has of them, and raw views of kinds that no source has.
DuckDB has one thread and small blocks without compression, and what derives deliveries shares one instance of it in memory.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from functools import cache, lru_cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import duckdb
import pytest

from dagster_project.base.durable import sha256_of
from dagster_project.base.kinds import Kind
from dagster_project.commands import refreshing
from dagster_project.landing import worker
from dagster_project.landing.deriving.derive import Deriver
from dagster_project.landing.judging.rules import RULES, SUITE
from dagster_project.settings import Settings
from dagster_project.warehouse import raw, states
from dagster_project.warehouse.site import Site
from tests.line.kit import published_bytes
from tests.simulation.models import build_small_tables

MEMORY = Path("/dev/shm")  # where it has room: a home of some hundred files is written out for each power cut
ROOM = 1 << 30
DEAD = 4_194_304  # processes from this number on are none
KINDS = {"cur": "aws_cur", "runs": "training_runs"}
SOURCES = [{"name": name, "kind": kind} for name, kind in KINDS.items()]
# a reader asks the file and the Parquet beside it; both have the same money
COSTS = "select payer_account_id, strftime(usage_month, '%Y-%m'), sum(cost) from {} group by all order by all"
RUNS = "select training_run_id, tokens from marts.dim_training_runs order by all"
Costs = list[tuple[str, str, Decimal]]
OF_FEW_ROWS = {"threads": 1, "default_block_size": 16_384, "force_compression": "uncompressed"}
connect = duckdb.connect  # as it is, before a history patches it


class Found(NamedTuple):
    """What readers find: the Parquet by its bytes, the money of the file and that of the Parquet, the runs and their tokens."""

    parquet: dict[str, str]
    of_file: Costs
    of_parquet: Costs
    runs: list[tuple[str, int]]


NOTHING = Found({}, [], [], [])  # before the first publication


class Numbered:
    """The module os as another process has it: under its own number."""

    def __init__(self, number: int) -> None:
        self.getpid = lambda: number

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)


@contextmanager
def small_home(patch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder in memory, in a process in which a refresh builds the small tables."""
    with tempfile.TemporaryDirectory(dir=MEMORY if _has_room(MEMORY) else None, prefix="history-") as folder:
        build_small_tables(Path(folder) / "models", patch)
        _leave_out(patch, "dagster_project.assets.command_line", refresh_run=_no_page)
        _leave_out(patch, "dagster_project.landing.judging.expectations", validate=_validate)
        patch.setattr(duckdb, "connect", _connect)
        patch.setattr(worker, "is_read_here", lambda *_: True)  # what deriving does on the disk is seen in this process alone
        patch.setattr(Deriver, "_started", lambda deriver: _deriving().cursor())
        for module in (raw, states):
            patch.setattr(module, "built_kinds", lambda: [Kind(kind) for kind in KINDS.values()])
        still = dict.fromkeys(("disable", "freeze", "enable"), lambda: None)
        patch.setattr(refreshing, "gc", SimpleNamespace(**still))  # of a command that ends; this process goes on
        yield Path(folder)


def _connect(
    database: str = ":memory:", read_only: bool = False, config: dict[str, Any] | None = None
) -> duckdb.DuckDBPyConnection:
    return connect(database, read_only=read_only, config={**(config or {}), **OF_FEW_ROWS})


@cache
def _deriving() -> duckdb.DuckDBPyConnection:
    engine = connect(config=OF_FEW_ROWS)
    engine.execute("set global TimeZone = 'UTC'")
    return engine


def _has_room(folder: Path) -> bool:
    return folder.is_dir() and os.access(folder, os.W_OK) and shutil.disk_usage(folder).free > ROOM


def refresh(settings: Settings, **asked: Any) -> refreshing.Refreshed:
    """The command, without its words."""
    return refreshing.refresh(settings, say=lambda words: None, **asked)


def found_by_readers(home: Path) -> Found:
    """What readers find now. Equal bytes are read once."""
    file, parquet = Site.of_home(home).published_file, home / "published/parquet"
    published = published_bytes(home) if parquet.exists() else {}
    if not file.exists():
        return NOTHING._replace(parquet=published)
    return _read(file, sha256_of(file), parquet, tuple(published.items()))


@lru_cache(maxsize=16)  # of the steps of one history
def _read(file: Path, sha256: str, parquet: Path, published: tuple[tuple[str, str], ...]) -> Found:
    with duckdb.connect(str(file), read_only=True) as connection:
        of_file = connection.execute(COSTS.format("marts.fct_costs")).fetchall()
        files = f"read_parquet('{parquet}/fct_costs/*.parquet', hive_partitioning = false)"
        of_parquet = connection.execute(COSTS.format(files)).fetchall() if published else []
        return Found(dict(published), of_file, of_parquet, connection.execute(RUNS).fetchall())


def landed_bytes(home: Path) -> dict[str, bytes]:
    """Every file of the landing, without what is staged."""
    root = home / "landing"
    files = (path for path in root.rglob("*") if path.is_file() and ".staging" not in path.parts)
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in files}


def leftovers(home: Path) -> list[str]:
    """What no home has in which a refresh has done its work: staged and temporary names, earlier publications, a marker."""
    published = (home / "published").glob(".parquet-*")
    places = [*home.rglob(".*.tmp"), *home.glob("landing/.staging/*"), *home.glob("cache/derived/.staging/*")]
    places += [*home.glob("published/.*.duckdb*"), *home.glob("building.json"), *home.glob(".writer.json")]
    places += [path for path in published if path.name != (home / "published/parquet").readlink().name]
    return sorted(path.relative_to(home).as_posix() for path in places)


def _leave_out(patch: pytest.MonkeyPatch, module: str, **instead: Any) -> None:
    made = ModuleType(module)
    vars(made).update(instead)
    patch.setitem(sys.modules, module, made)


@contextmanager
def _no_page(*of_run: Any) -> Iterator[Any]:
    yield SimpleNamespace(show=lambda step: None)


def _validate(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "suite_name": SUITE,
            "results": [
                {"rule": rule.name, "success": rule.is_met(row[rule.measure]), "observed_value": row[rule.measure]}
                for rule in RULES
            ],
        }
        for row in rows
    ]
