"""One descriptor per kind of source: which module reads it, and what the rest of the ledger must know of it.

The only list of kinds. It is plain data, so that a refresh without news imports no reader: modules are imported when they are
asked for. What the numbers mean is dbt's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Literal, Protocol, cast

from connectors.deliveries import Converted, Delivery, Refusal
from connectors.formats.schema import Schema
from connectors.stores import ObjectStore

Fact = Literal["bill", "carbon", "runs", "telemetry", "inputs"]


@dataclass(frozen=True, slots=True)
class Descriptor:
    """What everything but its own module knows of a kind."""

    module: str  # below connectors; it has what the protocol Connector lists
    fact: Fact
    provider_name: str | None = None
    book_rank: int = 0  # the smallest rank that covers a payer's month is the book
    payer_column: str | None = None
    account_column: str | None = None  # bills and carbon: whose use it is, below the payer
    line_type_column: str | None = None  # bills: what a row is of, such as use, tax or a fee
    usage_column: str | None = None  # bills whose partitions are no months: the time of use places a row in its month
    tag_column: str | None = None  # bills: the tags or labels of a line, among them the run's
    category_column: str | None = None  # bills: the cost categories of a line, which may name the run as well
    has_credit_rows: bool = False  # bills: a line's credits are rows of their own, and no lines
    version_column: str | None = None  # carbon whose partitions name no model version: its rows do
    meters_chips: bool = False  # watts of chips, by which a month and the twelve after it are calibrated
    meters: tuple[str, ...] = ()  # of power, as its readings name them; dbt's seed `meters` has how far each may be off
    api: str = ""  # the service of AWS that `location: api` asks; without one there is no such location
    registers: str | None = None  # how keys end of files that register pairs of a comparison: their first version counts
    detail_columns: tuple[str, ...] = ()  # an export with none of them is the less detailed one, and ranks one lower

    def is_registration(self, key: str) -> bool:
        """Whether an object registers pairs of a comparison."""
        return self.registers is not None and key.endswith(self.registers)


_AWS_BILL = partial(Descriptor, fact="bill", provider_name="AWS")
_GOOGLE = partial(Descriptor, provider_name="Google Cloud", payer_column="billing_account_id", account_column="project_number")
_GOOGLE_BILL = partial(_GOOGLE, fact="bill", usage_column="usage_start_time", tag_column="labels", has_credit_rows=True)
DESCRIPTORS: dict[str, Descriptor] = {
    "aws_cur": _AWS_BILL(
        "aws.cur",
        payer_column="bill_payer_account_id",
        account_column="line_item_usage_account_id",
        line_type_column="line_item_line_item_type",
        tag_column="resource_tags",
        category_column="cost_category",
    ),
    "aws_focus": _AWS_BILL(
        "aws.focus",
        book_rank=1,
        payer_column="BillingAccountId",
        account_column="SubAccountId",
        line_type_column="ChargeCategory",
        tag_column="Tags",
        category_column="x_CostCategories",
    ),
    "aws_carbon": Descriptor(
        "aws.carbon",
        "carbon",
        "AWS",
        payer_column="payer_account_id",
        account_column="usage_account_id",
        # what no report of the console and no answer of the API has
        detail_columns=("region_code", "usage_period_end", "last_refresh_timestamp"),
        api="sustainability",
    ),
    "aws_water": Descriptor("aws.water", "inputs", "AWS", api="water"),
    "gcp_billing": _GOOGLE_BILL(
        "gcp.billing", line_type_column="cost_type", detail_columns=("resource_name", "resource_global_name")
    ),
    # of the book's ranks, 1 is a standard export, found out when it is read
    "gcp_focus": _GOOGLE_BILL("gcp.focus", book_rank=2, line_type_column="charge_category"),
    "gcp_carbon": _GOOGLE("gcp.carbon", "carbon", version_column="model_version"),
    "neuron_monitor": Descriptor("telemetry.neuron_monitor", "telemetry", "AWS"),
    "tpu_monitoring": Descriptor("telemetry.tpu_monitoring", "telemetry", "Google Cloud"),
    "xprof": Descriptor("power.xprof", "telemetry", "Google Cloud", meters_chips=True, meters=("xprof_firmware", "xprof_spi")),
    "neuron_power": Descriptor(
        "power.neuron_power", "telemetry", "AWS", meters=("neuron_sysfs", "neuron_otel", "neuron_observer")
    ),
    "gpu_monitoring": Descriptor("power.gpu_monitoring", "telemetry", meters_chips=True, meters=("nvml", "dcgm")),
    "power_meters": Descriptor("power.power_meters", "telemetry", meters=("pdu", "bmc", "mlperf", "codecarbon")),
    "prometheus": Descriptor(
        "power.prometheus", "telemetry", meters_chips=True, meters=("dcgm", "neuron_otel", "neuron_observer", "pdu", "bmc")
    ),
    "wandb": Descriptor("power.wandb", "telemetry", meters_chips=True, meters=("nvml",)),
    "training_runs": Descriptor("runs.training_runs", "runs", meters=("slurm",), registers=".registered.json"),
    "gcp_prices": Descriptor("gcp.prices", "inputs", "Google Cloud"),
    "fx_rates": Descriptor("inputs.fx_rates", "inputs"),
    "user_inputs": Descriptor("inputs.user_inputs", "inputs", registers=".plan.csv"),
    "provider_totals": Descriptor("inputs.provider_totals", "inputs", api="ce"),
}
KINDS = tuple(DESCRIPTORS)

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
    if kind not in DESCRIPTORS:
        raise ValueError(f"there is no connector for kind '{kind}'; known kinds: {', '.join(KINDS)}")
    return f"connectors.{DESCRIPTORS[kind].module}"


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
