"""Which module reads which kind of source, and which files the reading of a kind depends on.

The only list of kinds that can be read. Modules are imported when they are asked for: a listing needs no Parquet reader.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from connectors.deliveries import Converted, Delivery, Refusal
from connectors.formats.schema import Schema
from connectors.stores import ObjectStore

MODULES = {
    "aws_cur": "connectors.aws.cur",
    "aws_carbon": "connectors.aws.carbon",
    "training_runs": "connectors.runs.training_runs",
    "gcp_billing": "connectors.gcp.billing",
    "gcp_carbon": "connectors.gcp.carbon",
    "neuron_monitor": "connectors.telemetry.neuron_monitor",
    "tpu_monitoring": "connectors.telemetry.tpu_monitoring",
    "fx_rates": "connectors.inputs.fx_rates",
    "user_inputs": "connectors.inputs.user_inputs",
}
KINDS = tuple(MODULES)

_IMPORT = re.compile(r"^[ \t]*((?:from|import)[ \t]+connectors\b(?:[^\n(]|\([^)]*\))*)", re.MULTILINE)


class Connector(Protocol):
    """What every connector module offers."""

    KIND: str
    SCHEMA: Schema

    def find_deliveries(self, store: ObjectStore) -> Iterator[Delivery | Refusal]:
        """Yield each complete delivery by partition, oldest first; only manifests are read."""
        ...

    def convert(self, delivery: Delivery, files: dict[str, Path], folder: Path, store_uri: str) -> Converted:
        """Check landed originals and return the Parquet to read; typed copies are written into `folder`."""
        ...


def connector_for(kind: str) -> Connector:
    """Return the module of a kind; ValueError when there is none."""
    return cast(Connector, import_module(_module_of(kind)))


def modules_of(kind: str) -> tuple[Path, ...]:
    """Return the files of this package that decide what a kind's originals become, in the order of their names.

    These are the kind's module and all it imports, imports inside functions included; hashed, they are the version of its
    connector. Left out are the clients in `stores/`: they only fetch bytes, and landed bytes have a hash of their own, so a
    new retry in the client of S3 derives nothing anew. Imports are read from the files, nothing is imported.
    """
    return _closure(_module_of(kind), Path(__file__).resolve().parent)


def _module_of(kind: str) -> str:
    if kind not in MODULES:
        raise ValueError(f"there is no connector for kind '{kind}'; known kinds: {', '.join(KINDS)}")
    return MODULES[kind]


@cache
def _closure(module: str, package: Path) -> tuple[Path, ...]:
    files: set[Path] = set()
    waiting = _with_packages(module)
    while waiting:
        path = _file_of(waiting.pop(), package)
        if path is not None and path not in files:
            files.add(path)
            waiting |= _imports(path)
    return tuple(sorted(files))


def _with_packages(name: str) -> set[str]:
    """A dotted name and the packages around it: the file of a package is run as well when something in it is imported."""
    parts = name.split(".")
    return {".".join(parts[:end]) for end in range(1, len(parts) + 1)}


def _file_of(name: str, package: Path) -> Path | None:
    """The file of a module; None for a client of a store, and for a name that is no module."""
    path = package.joinpath(*name.split(".")[1:])
    if package / "stores" in path.parents:
        return None
    return next((file for file in (path / "__init__.py", path.with_suffix(".py")) if file.is_file()), None)


@cache
def _imports(path: Path) -> frozenset[str]:
    """The names of this package that a file imports. Only its import statements are parsed, which is ten times as fast."""
    names: set[str] = set()
    for statement in _IMPORT.findall(path.read_text(encoding="utf-8")):
        node = ast.parse(statement).body[0]
        names |= {alias.name if isinstance(node, ast.Import) else f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset().union(*(_with_packages(name) for name in names))
