"""Homes to measure in: a folder with inputs, a trainledger.yaml and the product as a command."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import median

from benchmarks import generate_cur
from benchmarks.process import Run, run

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Product:
    """An installed product. `tree` is a checkout whose code is run instead, with this environment's libraries."""

    tree: Path | None = None

    @property
    def command(self) -> list[str]:
        if self.tree is None:
            return [str(Path(sys.executable).parent / "trainledger")]
        # an older release may start elsewhere
        scripts = tomllib.loads((self.tree / "pyproject.toml").read_text())["project"]["scripts"]
        module, _, function = scripts["trainledger"].partition(":")
        return [sys.executable, "-c", f"from {module} import {function}; {function}()"]

    @property
    def environment(self) -> dict[str, str]:
        return {} if self.tree is None else {"PYTHONPATH": str(self.tree)}


@dataclass(slots=True)
class Home:
    """One trainledger.yaml and its clock."""

    folder: Path
    now: str
    product: Product
    environment: dict[str, str] = field(default_factory=dict)

    def run(self, *arguments: str | Path, ok: Sequence[int] = (0,)) -> Run:
        environment = {**self.product.environment, "TRAINLEDGER_NOW": self.now, **self.environment}
        return run([*self.product.command, *arguments], self.folder, environment, ok=ok)

    def refresh(self, *more: str) -> Run:
        return self.run("refresh", *more)

    def land(self) -> Run:
        """Landing alone: the Dagster asset that looks at every source and lands what is new."""
        instance = self.folder / "home/.dagster"
        instance.mkdir(parents=True, exist_ok=True)
        environment = {
            **self.product.environment,
            "TRAINLEDGER_NOW": self.now,
            "TRAINLEDGER_CONFIG": str(self.folder / "trainledger.yaml"),
            "DAGSTER_HOME": str(instance),
            **self.environment,
        }
        what = ["asset", "materialize", "-m", "dagster_project.definitions", "--select", "new_deliveries"]
        return run([sys.executable, "-m", "dagster", *what], self.folder, environment)

    def landed_parquet(self, source: str) -> list[str]:
        return [str(path) for path in sorted((self.folder / "home/landing" / source).rglob("*.parquet"))]

    def configure(self, name: str, kind: str) -> Path:
        """Add a source in the folder exports/<name>; returns the folder."""
        configuration, location = self.folder / "trainledger.yaml", self.folder / "exports" / name
        location.mkdir(parents=True, exist_ok=True)
        line = f"  - {{name: {name}, kind: {kind}, location: {location}}}\n"
        if line not in configuration.read_text():
            configuration.write_text(configuration.read_text() + line)
        return location

    def forget(self) -> None:
        """The home as it was before its first refresh; inputs stay."""
        shutil.rmtree(self.folder / "home", ignore_errors=True)

    def written(self) -> set[tuple[str, int, int]]:
        """Every file of the home with its time and size: equal sets mean that nothing was written."""
        files = (path for path in (self.folder / "home").rglob("*") if path.is_file())
        return {(str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in files}


@dataclass(slots=True)
class Bench:
    """One run of the benchmarks: where it works, of which product, how large."""

    work: Path
    product: Product
    is_quick: bool = False
    rounds: int = 2
    has_50m: bool = False

    @property
    def bill_rows(self) -> int:
        return 1_000_000 if self.is_quick else 10_000_000

    def bill(self, name: str, rows: int, months: int = 1, start: str = "2026-04") -> Home:
        """A home with generated months (none: a month of one row), written once per name and size, and not refreshed yet."""
        folder = self.work / f"{name}-{rows}x{months}-{generator()}"
        if not (folder / "trainledger.yaml").exists():
            shutil.rmtree(folder, ignore_errors=True)
            generate_cur.write_months(folder, rows, start, months)
        home = Home(folder, clock_of(folder), self.product)
        home.forget()
        return home


@cache
def generator() -> str:
    """The generator's code as eight digits: inputs of another one are not used again."""
    files = [Path(generate_cur.__file__), *sorted((ROOT / "benchmarks/inputs").iterdir())]
    return hashlib.sha256(b"".join(path.read_bytes() for path in files if path.is_file())).hexdigest()[:8]


def clock_of(folder: Path) -> str:
    """The time that the configuration's first line names."""
    first = (folder / "trainledger.yaml").read_text().splitlines()[0]
    return first.rpartition("TRAINLEDGER_NOW=")[2].rstrip(".")


def in_turns(rounds: int, *actions: Callable[[], Run]) -> list[list[Run]]:
    """Run the actions one after another, `rounds` times; return the runs of each. Neighbours in time share the machine's mood."""
    turns = [[action() for action in actions] for _ in range(rounds)]
    return [list(runs) for runs in zip(*turns, strict=True)]


def cpu(runs: Sequence[Run]) -> float:
    return median(one.cpu_s for one in runs)


def peak(runs: Sequence[Run]) -> float | None:
    known = [one.peak_mb for one in runs if one.peak_mb is not None]
    return max(known) if known else None


def python(script: Path, *arguments: str | Path, folder: Path) -> Run:
    """A peer or floor: a script of this folder in a process of its own, from start to exit."""
    return run([sys.executable, script, *arguments], folder, {"POLARS_MAX_THREADS": "2", "OMP_NUM_THREADS": "2", **_path()})


def _path() -> dict[str, str]:
    return {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)}
