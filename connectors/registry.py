"""Which module reads which kind of source, and which files the reading of a kind depends on.

The only list of kinds that can be read. Modules are imported when they are asked for: a listing needs no Parquet reader.
"""

from __future__ import annotations

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
    "gcp_focus": "connectors.gcp.focus",
    "gcp_carbon": "connectors.gcp.carbon",
    "neuron_monitor": "connectors.telemetry.neuron_monitor",
    "tpu_monitoring": "connectors.telemetry.tpu_monitoring",
    "xprof": "connectors.power.xprof",
    "neuron_power": "connectors.power.neuron_power",
    "gpu_monitoring": "connectors.power.gpu_monitoring",
    "power_meters": "connectors.power.power_meters",
    "fx_rates": "connectors.inputs.fx_rates",
    "user_inputs": "connectors.inputs.user_inputs",
}
KINDS = tuple(MODULES)

_IMPORT = re.compile(r"^[ \t]*from (connectors\b[\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)


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
    waiting = {module}
    while waiting:
        name = waiting.pop()
        path = package.joinpath(*name.split(".")[1:])
        if "." in name:
            waiting.add(name.rpartition(".")[0])  # the file of a package is run as well when something in it is imported
        file = next((file for file in (path / "__init__.py", path.with_suffix(".py")) if file.is_file()), None)
        if file and file not in files and package / "stores" not in path.parents:
            files.add(file)
            waiting |= _imports(file)
    return tuple(sorted(files))


@cache
def _imports(path: Path) -> frozenset[str]:
    """The names of this package that a file imports, by a pattern, which is ten times as fast as to parse the whole file."""
    statements = _IMPORT.findall(path.read_text(encoding="utf-8"))
    return frozenset(f"{module}.{name}" for module, names in statements for name in re.findall(r"\w+", names))
