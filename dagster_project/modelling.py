"""The dbt project as a thing that can be run: where it is, its manifest, its environment, one `dbt build`.

dbt runs as a process of its own: an import of dbt costs seconds, and inside this process it would keep the build file open.
What the models say is SQL and lives in dbt/.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dagster_project.failures import TrainledgerError

PROJECT_DIR = Path(__file__).resolve().parent.parent / "dbt"
STAMP = "project.sha256"
PROJECT_MANIFEST = "project.json"  # of the project as it was last parsed; manifest.json is of the last build
# unit tests check the rules of calculation on invented rows: they belong to `make test`, not to every build
BUILD_ARGUMENTS = ("build", "--exclude-resource-type", "unit_test")


class ModelsError(TrainledgerError):
    """dbt itself did not work (it is not a failed test)."""


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A dbt model that readers get: its place, its unique key and its words."""

    name: str
    schema: str
    key: tuple[str, ...]
    description: str
    columns: dict[str, str]


def project_files() -> Iterator[Path]:
    """The files that make the dbt project, in a fixed order; what dbt writes beside them is left out."""
    for path in sorted(PROJECT_DIR.rglob("*")):
        inside = path.relative_to(PROJECT_DIR).parts
        if path.is_file() and inside[0] not in ("target", "logs", "dbt_packages") and not path.name.startswith("."):
            yield path


def project_hash() -> str:
    """sha256 over names and bytes of the dbt project."""
    digest = hashlib.sha256()
    for path in project_files():
        digest.update(path.relative_to(PROJECT_DIR).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def environment(build_file: Path, target: Path) -> dict[str, str]:
    """What dbt needs to know of this build; everything else comes from the process's own environment."""
    return {
        "TRAINLEDGER_DUCKDB_PATH": str(build_file),
        "DBT_TARGET_PATH": str(target),
        "DBT_LOG_PATH": str(target / "logs"),
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
        "DO_NOT_TRACK": "1",
    }


def dbt_executable(target: Path) -> Path:
    """A file that runs the dbt of this Python (PATH may name another one, or none) and dies with who started it."""
    launcher = target / "dbt"
    command = " ".join(shlex.quote(part) for part in (sys.executable, "-P", str(Path(__file__).with_name("dbt_process.py"))))
    text = f'#!/bin/sh\nexec {command} "$PPID" "$@"\n'
    if not launcher.exists() or launcher.read_text() != text:
        target.mkdir(parents=True, exist_ok=True)
        temporary = target / f".dbt.{os.getpid()}"
        temporary.write_text(text)
        temporary.chmod(0o755)
        temporary.replace(launcher)  # never written in place: another process may be running it
    return launcher


def run_dbt(arguments: list[str], build_file: Path, target: Path) -> subprocess.CompletedProcess[str]:
    """Run one dbt command; its exit code 1 (a model or test failed) is the caller's to judge, 2 (dbt did not work) is raised."""
    command = [
        str(dbt_executable(target)),
        "--quiet",
        *arguments,
        "--project-dir",
        str(PROJECT_DIR),
        "--profiles-dir",
        str(PROJECT_DIR),
    ]
    done = subprocess.run(
        command, env={**os.environ, **environment(build_file, target)}, capture_output=True, text=True, check=False, cwd=target
    )
    if done.returncode not in (0, 1):
        raise ModelsError(f"dbt {arguments[0]} did not work: {_last_lines(done)}", where=str(PROJECT_DIR))
    return done


def _last_lines(done: subprocess.CompletedProcess[str]) -> str:
    return "\n".join((done.stdout + done.stderr).strip().splitlines()[-8:])


def ensure_manifest(home: Path) -> Path:
    """Return the manifest of the project as it is now; parse again only when a file of the project has changed."""
    target = home / "cache" / "dbt"
    manifest, stamp = target / PROJECT_MANIFEST, target / STAMP
    current = project_hash()
    if manifest.exists() and stamp.exists() and stamp.read_text() == current:
        return manifest
    done = run_dbt(["parse"], home / "build.duckdb", target)
    if done.returncode != 0:
        raise ModelsError(f"The dbt project does not parse: {_last_lines(done)}", where=str(PROJECT_DIR))
    # a copy: every dbt build writes its own manifest.json in place, and one killed in the middle leaves half of it
    temporary = target / f".{PROJECT_MANIFEST}.{os.getpid()}"
    shutil.copyfile(target / "manifest.json", temporary)
    temporary.replace(manifest)
    stamp.write_text(current)
    return manifest


@functools.lru_cache(maxsize=2)
def _read(path: str, modified: int) -> dict[str, Any]:
    return json.loads(Path(path).read_bytes())


def read_manifest(manifest: Path) -> dict[str, Any]:
    """The parsed manifest (of some megabytes, so it is kept)."""
    return _read(str(manifest), manifest.stat().st_mtime_ns)


def published_tables(manifest: dict[str, Any]) -> list[PublishedTable]:
    """The models marked `meta: {published: true, key: [...]}`, by name."""
    tables = []
    for node in manifest["nodes"].values():
        meta = node.get("config", {}).get("meta") or {}
        if node["resource_type"] not in ("model", "seed") or not meta.get("published"):
            continue
        words = {name: column.get("description", "") for name, column in node["columns"].items()}
        relation = node.get("alias") or node["name"]
        tables.append(PublishedTable(relation, node["schema"], tuple(meta.get("key", ())), node.get("description", ""), words))
    return sorted(tables, key=lambda table: table.name)
