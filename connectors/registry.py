"""Which module reads which kind of source. Modules are imported when they are asked for: a listing needs no Parquet reader."""

from __future__ import annotations

from collections.abc import Iterator
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
    if kind not in MODULES:
        raise ValueError(f"there is no connector for kind '{kind}'; known kinds: {', '.join(KINDS)}")
    return cast(Connector, import_module(MODULES[kind]))
