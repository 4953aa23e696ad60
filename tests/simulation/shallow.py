"""`trainledger refresh` over six small tables: the product's own command, in a tenth of the time, and what readers find after it.

What is left out has proofs of its own and no effect on what is landed, elected or published: Dagster's page of the run, and Great
Expectations, whose rules are asked as the predicates that the product has of them.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import duckdb
import pytest

from dagster_project.commands import refreshing
from dagster_project.landing.judging.rules import RULES, SUITE
from dagster_project.settings import Settings
from dagster_project.warehouse.site import Site
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
        still = dict.fromkeys(("disable", "freeze", "enable"), lambda: None)
        patch.setattr(refreshing, "gc", SimpleNamespace(**still))  # of a command that ends; this process goes on
        yield Path(folder)


def _has_room(folder: Path) -> bool:
    return folder.is_dir() and os.access(folder, os.W_OK) and shutil.disk_usage(folder).free > ROOM


def refresh(settings: Settings, **asked: Any) -> refreshing.Refreshed:
    """The command, without its words."""
    return refreshing.refresh(settings, say=lambda words: None, **asked)


def costs_read(home: Path) -> tuple[Costs, Costs]:
    """What a reader finds: payer, month and cost, of the published file and of the Parquet. None are there before the first."""
    published = Site.of_home(home).published_file
    if not published.exists():
        return [], []
    with duckdb.connect(str(published), read_only=True) as connection:
        of_file = connection.execute(COSTS.format("marts.fct_costs")).fetchall()
        files = f"read_parquet('{home}/published/parquet/fct_costs/*.parquet', hive_partitioning = false)"
        of_parquet = connection.execute(COSTS.format(files)).fetchall() if (home / "published/parquet").exists() else []
    return of_file, of_parquet


def runs_read(home: Path) -> list[tuple[str, int]]:
    """The runs and their tokens, of the published file."""
    with duckdb.connect(str(Site.of_home(home).published_file), read_only=True) as connection:
        return connection.execute(RUNS).fetchall()


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
