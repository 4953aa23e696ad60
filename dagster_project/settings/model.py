"""What trainledger.yaml may say, as types: each key with its limits and its default. `document` reads the file."""

import re
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, field_validator, model_validator

from connectors.stores.opening import API
from dagster_project.base.failures import UsageError, meant
from dagster_project.base.kinds import KINDS, Descriptor, Kind
from dagster_project.base.modes import readers_mode
from dagster_project.base.months import MONTHS
from dagster_project.settings.alerts import Alerts

SAFE_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
MEMORY_LIMIT = "1500MB"
_MEMORY = r"^[1-9][0-9]*[MGT]i?B$"
LEAST_BILLED = 10 << 20  # BigQuery bills 10 MiB for a table at least: below it every query would be refused
GROUPS = ("landing", "raw", "seeds", "staging", "intermediate", "marts", "gates", "publication", "reports")  # of Dagster's graph
OWNER = re.compile(r"\b[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Z|a-z]{2,7}\b|team:.+")  # Dagster's own rule, which a test compares
Cause = Literal["code", "bill", "run_record", "late_log", "provider_model_version", "factor_or_seed"]  # of a restatement
_Name = Annotated[str, Field(min_length=1)]
_AMAZON = frozenset({"role_arn", "external_id", "requester_pays"})
_BIGQUERY = frozenset({"maximum_bytes_billed", "look_back_days", "billing_project", "dataset_location"})
# by scheme the keys that would change nothing, without a word; a folder takes all: a copied export needs a new location only
_ASKED = _BIGQUERY - {"look_back_days"} | {"requester_pays"}  # of what is no table
IDLE_KEYS = {
    "s3": _BIGQUERY | {"impersonate"},
    "gs": _AMAZON | _BIGQUERY,
    "bq": _AMAZON,
    **dict.fromkeys(("prom", "prom+http"), _ASKED | _AMAZON | {"impersonate", "endpoint_url"}),
    "prom+google": _ASKED | _AMAZON,
    "prom+aws": _ASKED | {"impersonate"},
    "wandb": _AMAZON | _BIGQUERY | {"impersonate"},
    "iceberg": _BIGQUERY | {"role_arn", "external_id", "endpoint_url", "requester_pays", "impersonate"},
    API: _BIGQUERY | {"requester_pays", "impersonate"},
}

# engines that read the files of an export where they lie, with the schemes of their tables; and those that no server was tried of
OVER_FILES: dict[str, tuple[str, ...]] = {"trino": ("trino", "trino+http"), "athena": ("athena",), "spark": ()}
_ENGINE_URLS = {"trino": "trino://host[:port]/catalog/schema/table", "athena": "athena://workgroup/catalog/database/table"}
UNTRIED = frozenset({"athena"})


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, ignored_types=(cached_property,))


def owners_by_group(owners: Any) -> dict[str, list[str]]:
    """Who answers for each group of assets; a list answers for all of them."""
    by_group = owners if isinstance(owners, dict) else dict.fromkeys(GROUPS, owners)
    for group, names in by_group.items():
        if group not in GROUPS:
            raise ValueError(f"groups are {', '.join(GROUPS)}, and '{group}' is none{meant(str(group), GROUPS)}")
        if not isinstance(names, list) or not names:
            raise ValueError("this is neither a list nor a list for each group")
        if wrong := next((name for name in names if not OWNER.fullmatch(str(name))), None):
            raise ValueError(f"an owner is an e-mail address or team:NAME, and {str(wrong)[:60]!r} is neither")
    return by_group


class Organisation(Strict):
    """Who reports, in which currency totals are shown, and who answers for what Dagster shows."""

    name: str
    reporting_currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")] = "USD"
    owners: Annotated[dict[str, list[str]], PlainValidator(owners_by_group)] = {}


class Retention(Strict):
    """How long superseded generations of an open month stay."""

    open_month_days: Annotated[int, Field(ge=0)] = 3


class DeliveryLimits(Strict):
    """What reading one delivery may take before it is refused as `too_costly`; times are for each begun MiB of it."""

    cpu_s: Annotated[int, Field(gt=0)] = 60
    wall_s: Annotated[int, Field(gt=0)] = 300
    memory: Annotated[str, Field(pattern=_MEMORY)] = "2GB"  # beside the engine's `memory_limit`


class Reporting(Strict):
    """The restatement policy, and the two people who answer for a report."""

    restatement_threshold: Annotated[Decimal, Field(ge=0, le=1)] = Decimal("0.05")  # of the published value, cumulative
    base_year: Annotated[int, Field(ge=1990, le=2100)] | None = None
    prepared_by: Annotated[str, Field(min_length=1, pattern=r"^[^\x00-\x1f]+$")] | None = None
    approved_by: list[Annotated[str, Field(min_length=1, pattern=r"^[^\x00-\x1f]+$")]] = []

    @model_validator(mode="after")
    def _they_are_two(self) -> Self:
        if self.prepared_by and self.prepared_by.strip().casefold() in [name.strip().casefold() for name in self.approved_by]:
            raise ValueError(f"{self.prepared_by} prepares reports and cannot approve them: it takes two people")
        return self


class AllowedSigner(Strict):
    """A person who may sign issued reports as their preparer or approver, and the public key that proves it."""

    name: Annotated[str, Field(min_length=1)]
    role: Annotated[Literal["preparer", "approver"], Field(alias="as")]
    key: Annotated[str, Field(min_length=1)]  # a file (PEM or OpenSSH), or the line that OpenSSH writes


def _times(value: Any) -> Any:
    """Cron texts as a tuple; true (at the usual times) and false (not at all) as they are."""
    if value is None or isinstance(value, bool):
        return bool(value)
    texts = [value] if isinstance(value, str) else value
    if isinstance(texts, list) and texts and all(isinstance(text, str) and len(text.split()) == 5 for text in texts):
        return tuple(texts)
    raise ValueError("write a cron text of five fields, in UTC, a list of such texts, true (at the usual times) or false")


Times = Annotated[tuple[str, ...] | bool, BeforeValidator(_times)]


class Schedules(Strict):
    """What Dagster starts by itself; assets/schedules.py has the usual times, and checks a cron text as Dagster does."""

    new_deliveries: bool | None = False  # a look every 15 minutes, and a refresh where it finds something
    refresh: Times = False  # a refresh at these times, whether there is something or not
    quarterly: Times = False
    comparison: Times = False
    prune: Times = False

    @model_validator(mode="after")
    def _one_requests_a_refresh(self) -> Self:
        if self.new_deliveries and self.refresh:
            raise ValueError("'new_deliveries' and 'refresh' both request a refresh: keep one of them")
        return self


class Scope3Electricity(Strict):
    """Which of the two answers of a provider is in the Scope 3 that is filed, and why."""

    method: Literal["location", "market"] = "location"
    reason: Annotated[str, Field(min_length=1, max_length=300, pattern=r"^[^\x00-\x1f]+$")] = (
        "the location-based figure rests on no contractual instrument of a supplier"
    )

    @model_validator(mode="before")
    @classmethod
    def _a_choice_has_its_reason(cls, given: Any) -> Any:
        given = {"method": given} if isinstance(given, str) else given
        if isinstance(given, dict) and given.get("method") == "market" and not given.get("reason"):
            raise ValueError("market-based electricity is filed for a reason: write {method: market, reason: why}")
        return given


class SourceSettings(Strict):
    """One source: what it is, where it is, and how to reach it."""

    name: str
    kind: Kind
    location: str
    role_arn: str | None = None
    external_id: str | None = None
    endpoint_url: str | None = None
    requester_pays: bool = False
    impersonate: str | None = None  # a service account that the credentials of the default chain act as
    maximum_bytes_billed: Annotated[int, Field(ge=LEAST_BILLED)] = 100_000_000_000  # of each query; at list price about 0.6 USD
    look_back_days: Annotated[int, Field(ge=1, le=3650)] = (
        95  # a look asks for these days of a bill; of carbon for all, unless set
    )
    billing_project: str | None = None  # pays for the queries; the table's own project unless set
    dataset_location: str | None = None  # asked of BigQuery unless set
    # where the lines of a bill are made into groups, if not here (docs/scale.md), and the table that has them there
    engine: Literal["bigquery", "trino", "athena", "spark"] | None = None
    engine_url: str | None = None
    keep: Literal["raw"] | None = None  # beside groups that another engine made also the rows that they were made of
    months: str | None = None  # '2026-04', '2026-04..' or '2026-04..2026-09': other months are not read, or do not count
    # true: this source is the book where it covers; false: never; a name: and of two exports of one payer in it this one counts
    book: bool | Annotated[str, Field(min_length=1)] | None = None
    is_pro_forma: bool = False  # a bill that is never paid, as of AWS Billing Conductor: never the book
    retention: Retention = Retention()

    @model_validator(mode="before")
    @classmethod
    def _what_nobody_pays_is_no_book(cls, given: Any) -> Any:
        if isinstance(given, dict) and given.get("is_pro_forma") is True:
            if given.get("book"):
                raise ValueError("'is_pro_forma' is of a bill that is never paid, 'book' of one that counts: keep one of them")
            return {**given, "book": False}
        return given

    @field_validator("name")
    @classmethod
    def _name_is_safe(cls, name: str) -> str:
        if not SAFE_NAME.fullmatch(name):  # it becomes a folder of the landing
            raise ValueError(
                "a source name has lower-case letters, digits, '-' and '_', starts with a letter or digit, at most 63"
            )
        return name

    @field_validator("months", mode="before")
    @classmethod
    def _months_are_a_range(cls, months: Any) -> Any:
        if months is not None and not (isinstance(months, str) and MONTHS.fullmatch(months)):
            raise ValueError("write months as '2026-04', '2026-04..' or '2026-04..2026-09'")
        return months

    @model_validator(mode="after")
    def _keys_are_of_the_location(self) -> Self:
        scheme = self.location.partition("://")[0]
        if self.location == API and not self.facts.api:
            having = ", ".join(kind for kind, facts in KINDS.items() if facts.api)
            raise ValueError(f"no API is asked for {self.kind}; kinds with `location: api` are {having}")
        idle_keys = IDLE_KEYS.get(scheme, frozenset()) - ({"maximum_bytes_billed"} if self.engine in OVER_FILES else set())
        if idle := sorted(self.model_fields_set & idle_keys):
            where = scheme if scheme == API else f"{scheme}://"
            raise ValueError(f"{', '.join(idle)} changes nothing for {where}; leave it out")
        self._check_engine(scheme)
        return self

    def _check_engine(self, scheme: str) -> None:
        """An engine groups one kind of bill, where that lies."""
        written = OVER_FILES.get(self.engine or "")
        if self.engine_url is not None and not written:
            having = " or ".join(name for name, schemes in OVER_FILES.items() if schemes)
            raise ValueError(f"engine_url names the table of `engine: {having}`; leave it out")
        if scheme == "iceberg" and (self.kind != "aws_cur" or self.engine != "spark"):
            raise ValueError("iceberg:// is read of an aws_cur bill with `engine: spark`")
        if self.engine in OVER_FILES and (self.kind != "aws_cur" or scheme not in ("s3", "iceberg")):
            raise ValueError(
                f"'engine: {self.engine}' groups an aws_cur export in Parquet that lies in s3://bucket/prefix,"
                f" and this is {self.kind} at {self.location}; leave the key out"
            )
        if written and not (self.engine_url or "").startswith(tuple(f"{one}://" for one in written)):
            raise ValueError(
                f"'engine: {self.engine}' needs the table over these files: engine_url: {_ENGINE_URLS[self.engine or '']}"
            )
        if self.engine == "bigquery" and (self.kind != "gcp_billing" or scheme != "bq"):
            raise ValueError(
                f"'engine: {self.engine}' groups a gcp_billing export that is read from bq://project.dataset.table,"
                f" and this is {self.kind} at {self.location}; leave the key out"
            )
        if self.keep and not self.engine:
            raise ValueError(
                "'keep: raw' keeps the provider's rows beside the groups that an `engine` makes of them; without `engine` these"
                " rows are what is landed: leave the key out, or set `engine`"
            )
        if self.keep and scheme == "iceberg":
            raise ValueError(
                "'keep: raw' copies the files of an export, and the files of a table of Iceberg are not its rows where some were"
                " deleted: leave the key out"
            )

    @property
    def facts(self) -> Descriptor:
        """The line's knowledge of this source's kind."""
        return KINDS[self.kind]

    def reads_month(self, month: str) -> bool:
        """Whether `months` lets a partition month 'YYYY-MM' in."""
        if self.months is None:
            return True
        first, dots, last = self.months.partition("..")
        return first <= month <= (last or "9999") if dots else month == first

    def reads_day(self, day: date) -> bool:
        """Whether a partition of a day can hold use of a month that `months` lets in: use is billed late, not early."""
        return self.months is None or f"{day + timedelta(days=1):%Y-%m}" >= self.months[:7]


@dataclass(frozen=True, slots=True)
class Rules:
    """What of the configuration changes a figure: nothing else of it may."""

    run_tag_keys: tuple[str, ...]
    carbon_weights: str
    reporting_currency: str
    least_difference: str
    books: dict[str, bool | str | None]  # by source: `book:` as configured
    hosts: dict[str, str]  # by what telemetry calls a machine: the resource that it is
    meters: dict[str, tuple[str, ...]]  # by a meter that several machines share: the machines
    scope3_electricity: tuple[str, str] = (Scope3Electricity().method, Scope3Electricity().reason)
    fiscal_year_start: int = 1


class Settings(Strict):
    """The whole of trainledger.yaml with its paths resolved against the file."""

    path: Path
    organisation: Organisation
    home: Path
    landing: str
    run_tag_keys: Annotated[list[str], Field(min_length=1)] = ["training_run_id"]
    carbon_weights: Literal["list_cost", "energy"] = "list_cost"
    least_difference: Annotated[Decimal, Field(gt=0, lt=1)] = Decimal("0.05")  # below it two sides of a comparison are equivalent
    scope3_electricity: Scope3Electricity = Scope3Electricity()
    fiscal_year_start: Annotated[int, Field(ge=1, le=12)] = 1  # the month; a year is named by the calendar year in which it ends
    # what telemetry calls a machine, and the resource by which bill and run records name it: {"10.0.0.7:9400": i-0123}
    hosts: dict[Annotated[str, Field(min_length=1)], Annotated[str, Field(min_length=1)]] = {}
    meters: dict[
        _Name, Annotated[list[_Name], Field(min_length=1)]
    ] = {}  # what a meter of several machines, such as a rack's, feeds
    engine: Literal["duckdb", "spark"] = "duckdb"  # what runs the models (docs/scale.md); figures are the same
    untried_engines: bool = False  # whether `engine` of a source may be one that was tried with fakes of its answers only
    publish_to: Annotated[str, Field(pattern=r"^(s3|gs)://[^/\s]+(/[^\s]*)?$")] | None = None  # its Parquet, for BI tools
    publish_mode: Annotated[int, BeforeValidator(readers_mode)] = 0o640  # of what readers read: the operating user's group may
    memory_limit: Annotated[str, Field(pattern=_MEMORY)] = MEMORY_LIMIT  # of an engine; more goes to the disk
    delivery_limits: DeliveryLimits = DeliveryLimits()
    maximum_bytes_per_refresh: Annotated[int, Field(ge=LEAST_BILLED)] = 1_000_000_000_000  # of BigQuery: 6 USD
    repository_url: Annotated[str, Field(pattern=r"^https?://[^/\s]+/\S+$")] | None = None  # below it Dagster shows the code
    expected_missing: list[str] = []  # sources that are known to be missing for a while: no refresh fails for them
    reporting: Reporting = Reporting()
    allowed_signers: list[AllowedSigner] = []
    restates: dict[
        Cause, Literal["restatement", "method"]
    ] = {}  # what a cause that moves an issued figure is, where not the usual
    alerts: Alerts | None = None
    schedules: Schedules = Schedules()
    history_megabytes: Annotated[int, Field(ge=10)] = 500  # of Dagster's runs; the oldest go first
    sources: Annotated[list[SourceSettings], Field(min_length=1)]

    @field_validator("meters")
    @classmethod
    def _a_machine_has_one_meter(cls, meters: dict[str, list[str]]) -> dict[str, list[str]]:
        feeds = [machine for machines in meters.values() for machine in machines]
        if twice := next((machine for machine in feeds if feeds.count(machine) > 1 or machine in meters), None):
            raise ValueError(
                f"{twice} is there twice: a machine has one shared meter, and two feeds of a rack are outlets of one"
            )
        return meters

    @model_validator(mode="after")
    def _what_was_not_tried_is_wanted(self) -> Self:
        untried = [source for source in self.sources if source.engine in UNTRIED]
        if untried and not self.untried_engines:
            name, engine = untried[0].name, untried[0].engine
            raise ValueError(
                f"'engine: {engine}' of {name} was tried with fakes of its answers only; write 'untried_engines: true' to use it"
            )
        return self

    @cached_property
    def by_name(self) -> dict[str, SourceSettings]:
        """Sources by name."""
        return {source.name: source for source in self.sources}

    @property
    def rules(self) -> Rules:
        """The part that fingerprints and SQL read."""
        books = {source.name: source.book for source in self.sources}
        meters = {meter: tuple(machines) for meter, machines in self.meters.items()}
        currency = self.organisation.reporting_currency
        least = f"{self.least_difference.normalize():f}"
        filed = self.scope3_electricity.method, self.scope3_electricity.reason
        keys = tuple(self.run_tag_keys)
        return Rules(keys, self.carbon_weights, currency, least, books, self.hosts, meters, filed, self.fiscal_year_start)

    @property
    def base(self) -> Path:
        """The folder that relative locations are relative to."""
        return self.path.parent

    @property
    def cache(self) -> Path:
        """What may be deleted at any time and is built again."""
        return self.home / "cache"

    def source(self, name: str) -> SourceSettings:
        """The source of that name, or a UsageError that lists the names there are."""
        if name not in self.by_name:
            raise UsageError(f"there is no source '{name}'", where=str(self.path), remedy=f"Sources: {', '.join(self.by_name)}.")
        return self.by_name[name]
