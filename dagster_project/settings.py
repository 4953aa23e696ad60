"""trainledger.yaml as typed settings. The only place that reads it; unknown keys, kinds and names are errors that name them.

Secrets never stand here: they come from the providers' credential chains or the environment.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator, model_validator

from dagster_project.failures import UsageError, meant
from dagster_project.kinds import KINDS, Kind, KindFacts, built_kinds
from dagster_project.modes import readers_mode
from dagster_project.months import MONTHS

_DEEP = 50  # no configuration has so many brackets in each other
Parts = tuple[int | str, ...]  # where in the document: sources, 0, location
SAFE_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
REMOTE = ("s3://", "gs://", "bq://")
MEMORY_LIMIT = "1500MB"


class KeyUsageError(UsageError):
    """A key of the configuration whose value cannot be; `parts` is its place in the document."""

    def __init__(self, parts: Parts, what: str, path: Path) -> None:
        super().__init__(what, where=str(path), remedy="See the commented example that `trainledger init` writes.")
        self.parts = parts


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
    books: dict[str, bool | None]  # by source: `book:` as configured


class Settings(_Strict):
    """The whole of trainledger.yaml with its paths resolved against the file."""

    path: Path
    organisation: Organisation
    home: Path
    landing: str
    run_tag_keys: Annotated[list[str], Field(min_length=1)] = ["training_run_id"]
    carbon_weights: Literal["list_cost", "energy"] = "list_cost"
    engine: Literal["duckdb", "spark"] = "duckdb"  # what runs the models (docs/scale.md); figures are the same
    publish_mode: Annotated[int, BeforeValidator(readers_mode)] = 0o640  # of what readers read: the operating user's group may
    memory_limit: Annotated[str, Field(pattern=r"^[1-9][0-9]*[MGT]i?B$")] = MEMORY_LIMIT  # of an engine; more goes to the disk
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
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(
            "the configuration cannot be read",
            where=f"{path}: {error.strerror}",
            remedy="Give it with --config or TRAINLEDGER_CONFIG, or write one with `trainledger init`.",
        ) from None
    document = _parsed(data, path)
    if not isinstance(document, dict):
        raise UsageError("the configuration is empty", where=f"{path}, line 1", remedy="`trainledger init` writes one.")
    try:
        return settings_of(document, path)
    except KeyUsageError as error:
        where = f"{path}, line {_line_of(data.decode(), error.parts)}"
        raise UsageError(error.what, where=where, remedy=error.remedy) from None


def _parsed(data: bytes, path: Path) -> Any:
    """The document of a file of any bytes; what is wrong with it is named with its line."""
    text = data.decode("utf-8", errors="replace")
    try:
        return yaml.safe_load(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        what, before = f"not UTF-8 (byte {data[error.start]:#04x})", data[: error.start].decode("utf-8")
    except yaml.reader.ReaderError as error:  # NUL and the like
        what, before = f"not YAML: {error.reason}", text[: error.position]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what, before = f"not YAML: {error.problem or error.context}", "\n" * (mark.line if mark else 0)
    except RecursionError:
        depths = accumulate((char in "[{") - (char in "]}") for char in text)
        what, before = "nested too deeply", text[: next((at for at, depth in enumerate(depths) if depth > _DEEP), 0)]
    except (ValueError, TypeError, ArithmeticError) as error:  # 2026-13-45 looks like a date and is none
        what, before = f"not YAML: {error}", ""
    raise UsageError(f"the configuration is {what}", where=f"{path}, line {before.count(chr(10)) + 1}") from None


def _line_of(text: str, parts: Iterable[int | str]) -> int:
    """The line of a key, or of the nearest one around it."""
    node, line = yaml.compose(text, Loader=yaml.SafeLoader), 1
    for part in parts:
        if isinstance(node, yaml.MappingNode):
            found = next(((key, value) for key, value in node.value if key.value == str(part)), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
            found = (node.value[part], node.value[part])
        else:
            found = None
        if found is None:
            break
        line, node = found[0].start_mark.line + 1, found[1]
    return line


def settings_of(document: dict[str, Any], path: Path) -> Settings:
    """Check a configuration already read; `path` is where relative paths start and what errors name."""
    path = path.absolute()
    sources = document.get("sources")
    sources = sources if isinstance(sources, list) else []  # anything else is told below
    _refuse_kinds_not_built(sources, path)
    if document.get("carbon_weights") == "energy":  # an accepted setting that changed nothing would be a quiet lie
        raise _usage(
            ("carbon_weights",), document, "energy weights cannot be chosen yet; emissions are divided by list_cost", path
        )
    if "path" in document:
        raise _usage(("path",), document, "unknown key", path)
    resolved = dict(document, path=path)
    home = Path(_location(path, str(document.get("home") or "./trainledger-home"), ("home",), local=True))
    landing = document.get("landing")
    resolved["home"] = home
    resolved["landing"] = str(home / "landing") if landing is None else _location(path, str(landing), ("landing",))
    if sources:
        resolved["sources"] = [
            {**source, "location": _location(path, str(source["location"]), ("sources", number, "location"))}
            if isinstance(source, dict) and "location" in source
            else source
            for number, source in enumerate(sources)
        ]
    try:
        return Settings.model_validate(resolved)
    except ValidationError as error:
        errors = error.errors(include_url=False)
        # first a misspelt key, of which the right spelling is missing too
        first = next((one for one in errors if one["type"] == "extra_forbidden"), errors[0])
        is_unknown = first["type"] == "extra_forbidden"
        reason = f"unknown key{_nearest(first['loc'])}" if is_unknown else first["msg"].removeprefix("Value error, ")
        raise _usage(first["loc"], document, reason, path) from None


def _nearest(parts: Parts) -> str:
    """The key that a misspelt one probably means."""
    above: dict[str, type[_Strict]] = {"organisation": Organisation, "sources": SourceSettings, "retention": Retention}
    known = next((above[part] for part in reversed(parts[:-1]) if isinstance(part, str) and part in above), Settings)
    return meant(str(parts[-1]), known.model_fields.keys() - {"path"})


def _usage(parts: Parts, document: dict[str, Any], reason: str, path: Path) -> KeyUsageError:
    key = _key_of(parts, document)
    return KeyUsageError(parts, f"'{key}': {reason}" if key else reason, path)


def _key_of(parts: Parts, document: dict[str, Any]) -> str:
    """Spell an error's place as in the file, with a source's name instead of its position."""
    key = ""
    for position, part in enumerate(parts):
        if not isinstance(part, int):
            key += f".{part}" if key else str(part)
            continue
        name = None
        if position == 1 and parts[0] == "sources" and isinstance(document["sources"], list):
            entry = document["sources"][part]
            name = entry.get("name") if isinstance(entry, dict) else None
        key += f"[{name or part}]"
    return key


def _refuse_kinds_not_built(sources: list[Any], path: Path) -> None:
    """A kind of the contract that this version cannot read yet is told apart from a kind that does not exist."""
    for source in sources:
        kind = source.get("kind") if isinstance(source, dict) else None
        if isinstance(kind, str) and kind in set(Kind) and kind not in built_kinds():
            raise UsageError(
                f"source '{source.get('name')}' has kind '{kind}', which this version does not read yet",
                where=str(path),
                remedy=f"It reads {', '.join(built_kinds())}; leave the source out until then.",
            )


def _location(path: Path, text: str, parts: Parts, *, local: bool = False) -> str:
    """A location as written, or a local path resolved against the file."""
    if text.startswith(REMOTE) and not local:
        return text
    try:
        return str(Path(path.parent / Path(text).expanduser()).resolve())
    except (ValueError, RuntimeError, OSError) as error:  # a NUL; the home of a user there is not; a name too long
        raise KeyUsageError(parts, f"'{parts[-1]}': this is no path ({error})", path) from None
