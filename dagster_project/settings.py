"""trainledger.yaml as typed settings. The only place that reads it; unknown keys, kinds and names are errors that name them.

Secrets never stand here: they come from the providers' credential chains or the environment.
"""

import re
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from dagster_project.failures import UsageError
from dagster_project.kinds import KINDS, Kind, KindFacts, built_kinds
from dagster_project.months import MONTHS

SAFE_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
REMOTE = ("s3://", "gs://", "bq://")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, ignored_types=(cached_property,))


class Organisation(_Strict):
    """Who reports, and in which currency totals are shown."""

    name: str
    reporting_currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")] = "USD"


class Retention(_Strict):
    """How long superseded generations of an open month stay."""

    open_month_days: Annotated[int, Field(ge=0)] = 3


class SourceSettings(_Strict):
    """One source: what it is, where it is, and how to reach it."""

    name: str
    kind: Kind
    location: str
    role_arn: str | None = None
    external_id: str | None = None
    endpoint_url: str | None = None
    requester_pays: bool = False
    maximum_bytes_billed: Annotated[int, Field(gt=0)] | None = None
    months: str | None = None  # '2026-04', '2026-04..' or '2026-04..2026-09': other months are not read, or do not count
    book: bool | None = None  # true: this source is the book where it covers; false: never
    retention: Retention = Retention()

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

    @property
    def facts(self) -> KindFacts:
        """The line's knowledge of this source's kind."""
        return KINDS[self.kind]

    def reads_month(self, month: str) -> bool:
        """Whether `months` lets a partition month 'YYYY-MM' in."""
        if self.months is None:
            return True
        first, dots, last = self.months.partition("..")
        if not dots:
            return month == first
        return month >= first and (not last or month <= last)

    def reads_day(self, day: date) -> bool:
        """Whether a partition of a day can hold use of a month that `months` lets in: use is billed late, not early."""
        return self.months is None or f"{day + timedelta(days=1):%Y-%m}" >= self.months[:7]


@dataclass(frozen=True, slots=True)
class Rules:
    """What of the configuration changes a figure: nothing else of it may."""

    run_tag_keys: tuple[str, ...]
    carbon_weights: str
    reporting_currency: str
    books: dict[str, bool | None]  # by source: `book:` as configured


class Settings(_Strict):
    """The whole of trainledger.yaml with its paths resolved against the file."""

    path: Path
    organisation: Organisation
    home: Path
    landing: str
    run_tag_keys: Annotated[list[str], Field(min_length=1)] = ["training_run_id"]
    carbon_weights: Literal["list_cost", "energy"] = "list_cost"
    sources: Annotated[list[SourceSettings], Field(min_length=1)]

    @model_validator(mode="after")
    def _source_names_are_unique(self) -> Self:
        names = [source.name for source in self.sources]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"source names must be unique, but {', '.join(twice)} is there more than once")
        return self

    @cached_property
    def by_name(self) -> dict[str, SourceSettings]:
        """Sources by name."""
        return {source.name: source for source in self.sources}

    @property
    def rules(self) -> Rules:
        """The part that fingerprints and SQL read."""
        books = {source.name: source.book for source in self.sources}
        return Rules(tuple(self.run_tag_keys), self.carbon_weights, self.organisation.reporting_currency, books)

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


def load_settings(path: Path) -> Settings:
    """Read and check trainledger.yaml."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(
            "the configuration cannot be read",
            where=f"{path}: {error.strerror}",
            remedy="Give it with --config or TRAINLEDGER_CONFIG, or write one with `trainledger init`.",
        ) from None
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UsageError(f"the configuration is not YAML: {error}", where=str(path)) from None
    if not isinstance(document, dict):
        raise UsageError("the configuration is empty", where=str(path), remedy="`trainledger init` writes one to start from.")
    return settings_of(document, path)


def settings_of(document: dict[str, Any], path: Path) -> Settings:
    """Check a configuration already read; `path` is where relative paths start and what errors name."""
    path = path.absolute()
    _refuse_kinds_not_built(document, path)
    if document.get("carbon_weights") == "energy":  # an accepted setting that changed nothing would be a quiet lie
        raise _usage("carbon_weights", "energy weights cannot be chosen yet; emissions are divided by list_cost", path)
    if "path" in document:
        raise _usage("path", "unknown key", path)
    resolved = dict(document, path=path)
    home = _local(path, str(document.get("home") or "./trainledger-home"))
    landing = document.get("landing")
    resolved["home"] = home
    resolved["landing"] = str(home / "landing") if landing is None else _location(path, str(landing))
    sources = document.get("sources")
    if isinstance(sources, list):
        resolved["sources"] = [
            {**source, "location": _location(path, str(source["location"]))}
            if isinstance(source, dict) and "location" in source
            else source
            for source in sources
        ]
    try:
        return Settings.model_validate(resolved)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        reason = "unknown key" if first["type"] == "extra_forbidden" else first["msg"].removeprefix("Value error, ")
        raise _usage(_key_of(first["loc"], document), reason, path) from None


def _usage(key: str, reason: str, path: Path) -> UsageError:
    what = f"'{key}': {reason}" if key else reason
    return UsageError(what, where=str(path), remedy="See the commented example that `trainledger init` writes.")


def _key_of(parts: tuple[int | str, ...], document: dict[str, Any]) -> str:
    """Spell an error's place as in the file, with a source's name instead of its position."""
    key = ""
    for position, part in enumerate(parts):
        if not isinstance(part, int):
            key += f".{part}" if key else str(part)
            continue
        name = None
        if position == 1 and parts[0] == "sources":
            entry = document["sources"][part]
            name = entry.get("name") if isinstance(entry, dict) else None
        key += f"[{name or part}]"
    return key


def _refuse_kinds_not_built(document: dict[str, Any], path: Path) -> None:
    """A kind of the contract that this version cannot read yet is told apart from a kind that does not exist."""
    for source in document.get("sources") or []:
        kind = source.get("kind") if isinstance(source, dict) else None
        if kind in set(Kind) and kind not in built_kinds():
            raise UsageError(
                f"source '{source.get('name')}' has kind '{kind}', which this version does not read yet",
                where=str(path),
                remedy=f"It reads {', '.join(built_kinds())}; leave the source out until then.",
            )


def _local(path: Path, text: str) -> Path:
    return Path(path.parent / Path(text).expanduser()).resolve()


def _location(path: Path, text: str) -> str:
    return text if text.startswith(REMOTE) else str(_local(path, text))
