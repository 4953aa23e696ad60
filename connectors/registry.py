"""Which module reads which kind of source. Modules are imported when they are asked for: a listing needs no Parquet reader."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from connectors.deliveries import Converted, Delivery, Refusal
from connectors.schema import Schema
from connectors.store import ObjectStore

KINDS = (
    "aws_cur",
    "aws_carbon",
    "training_runs",
    "gcp_billing",
    "gcp_carbon",
    "neuron_monitor",
    "tpu_monitoring",
    "fx_rates",
    "user_inputs",
)


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
    if kind not in KINDS:
        raise ValueError(f"there is no connector for kind '{kind}'; known kinds: {', '.join(KINDS)}")
    return cast(Connector, import_module(f"connectors.{kind}"))
