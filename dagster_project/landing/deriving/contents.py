"""What our code knows of a generation after reading its bytes: which Parquet to read, and totals and keys of its rows.

Election and fingerprints are decided from these, so that a refresh without news opens no Parquet. Nothing here reads anything.
"""

import re
from collections.abc import Iterable

import msgspec

from connectors.deliveries import Delivery, Refusal, refusal_of
from connectors.errors import ConnectorError, ExportContentError, ExportSchemaError
from dagster_project.landing.records import RowRefusal

PROFILE = "profile.json"
JUDGED = ("bill", "carbon")  # the kinds of facts that have a profile and a verdict
WRONG_FOR_GOOD = (ExportSchemaError, ExportContentError)  # the bytes are wrong; any other error may pass and is no judgement


class ParquetPart(msgspec.Struct, frozen=True, kw_only=True):
    """One Parquet file the raw view reads: a provider's original in the landing, or a typed copy on the shelf."""

    file: str  # name in the generation's folder, or in its folder of the shelf
    is_original: bool
    source_object: str
    rows: int
    size: int
    columns: dict[str, str]  # physical DuckDB type by column


class BillMonth(msgspec.Struct, frozen=True, kw_only=True):
    """Control total of a bill: one payer, usage month and currency."""

    payer_account_id: str
    usage_month: str
    currency: str
    line_count: int
    billed_cost: str
    invoice_month: str | None = None  # the latest that a row names, where a provider invoices use later than its month
    uninvoiced_lines: int = 0  # lines without the invoice number that every line of a settled month has


PLANS = "training-plan"  # as their ARNs have it: the one name under which rows go that a plan of SageMaker may have paid for
CLUSTERS = ":cluster/"  # in ARNs of clusters of HyperPod, as which answers that name them are recorded


class Commitment(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of a bill that belong to one capacity block; they touch every month from the first on."""

    commitment_id: str
    first_month: str
    digest: str


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of the organisation's own figures that count from one month on, or in that month alone."""

    first_month: str  # '': without a beginning
    is_of_one_month: bool
    digest: str


class Controls(msgspec.Struct, frozen=True, kw_only=True):
    """Totals and keys of a generation's rows."""

    payers: list[str] = []
    months: list[BillMonth] = []
    commitments: list[Commitment] = []
    managed_jobs: dict[str, list[str]] = {}  # usage month -> names of managed jobs, pipelines and workloads that its bill charges
    model_version: str | None = None
    payer_versions: dict[str, str] = {}  # the highest model version of a payer's rows, where rows name it
    run_ids: list[str] = []
    run_aliases: list[str] = []
    run_clusters: dict[str, str] = {}  # cluster that counts its jobs -> first month in which one of them began
    run_months: list[str] = []
    open_run_month: str | None = None  # a node without an end on record: samples of any later month may show it
    last_run_month: str | None = None  # in which the latest end of the records lies
    sample_months: list[str] = []  # months that samples lie in
    reached_months: list[str] = []  # and those they can change: a point's length is found from the points around it
    reached_days: list[str] = []  # the same by day, of kinds that are built by day
    sample_runs: list[str] = []  # run ids in keys and labels, as recorded
    sample_hosts: list[str] = []
    rate_months: dict[str, str] = {}  # usage month -> digest of the exchange rates that may convert it
    total_months: dict[str, str] = {}  # month -> digest of what a provider states that it costs
    figures: list[Figures] = []
    figure_runs: list[str] = []  # runs that they name, as written


class MeasureTotal(msgspec.Struct, frozen=True):
    """Control total of one measure over all rows of a generation."""

    name: str
    column_type: str  # as declared: a Number may be text or a double, a BigInt is whole
    decimals: int
    value_count: int
    total: str | None  # null: no value is small enough for an exact figure


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """What the rows of a bill or of carbon are like, for judging the delivery: too long for what every look reads."""

    accounts: list[str]
    line_types: dict[str, int]  # rows of each, '' where a row names none
    filled: dict[str, int]  # declared column -> rows that have a value in it; numbers are in the control totals


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """How a delivery of a bill or of carbon was judged by landing.judging: the rules it does not meet, with what was found."""

    version: str  # of the rules
    previous: str | None = None  # content hash of the delivery that it was held against
    failed: dict[str, str] = {}


class Contents(msgspec.Struct, frozen=True, kw_only=True):
    """What one version of a connector made of one generation.

    `is_taken` is false when this version refuses the bytes that another version had landed: the generation then counts for
    nothing, and `refusals` say why. Else `refusals` are single records left out, or kept with a remark.
    """

    content_hash: str
    connector_version: str
    row_digest: str = ""
    rows: int = 0
    parts: list[ParquetPart] = []
    unknown_columns: list[str] = []
    refusals: list[RowRefusal] = []
    controls: Controls = Controls()
    measures: list[MeasureTotal] = []
    is_taken: bool = True
    verdict: Verdict | None = None  # null: not judged yet, or of a kind that is not judged


def row_refusal(refusal: Refusal) -> RowRefusal:
    """A connector's refusal as the landing records it."""
    return msgspec.convert(refusal, RowRefusal, from_attributes=True)


def refused_for(delivery: Delivery, error: ConnectorError) -> list[RowRefusal]:
    """The error that stopped a delivery, or a remark about one that is taken, as the landing records it."""
    return [row_refusal(refusal_of(delivery, error))]


def version_order(version: str) -> tuple[tuple[int, ...], str]:
    """Order of model versions: by their numbers, then as text. 'v3.0.10' is after 'v3.0.9', '15' after '9'."""
    return tuple(int(number) for number in re.findall(r"\d+", version)), version


def highest_version(versions: Iterable[str]) -> str:
    """The highest of some versions; '' when there is none."""
    return max(versions, key=version_order, default="")
