"""Reading trainledger.yaml: unknown keys, kinds and names are errors that name their line, and what was probably meant."""

from itertools import accumulate
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from connectors.stores.opening import API
from dagster_project.base.failures import UsageError, meant
from dagster_project.settings.alerts import Alerts, Mail, Webhook
from dagster_project.settings.lines import Parts, key_twice, line_of, variable, variable_in
from dagster_project.settings.model import (
    AllowedSigner,
    DeliveryLimits,
    Organisation,
    Reporting,
    Retention,
    Schedules,
    Settings,
    SourceSettings,
)
from dagster_project.settings.wording import example_of, reason_of

_DEEP = 50  # no configuration has so many brackets in each other
REMOTE = ("s3://", "gs://", "bq://", "prom://", "prom+http://", "prom+google://", "prom+aws://", "wandb://", "iceberg://")
WRITTEN = ("s3://", "gs://")  # what a landing may be in, beside a folder


class KeyUsageError(UsageError):
    """A key of the configuration whose value cannot be; `places` are where in the document, the most telling first."""

    def __init__(self, parts: Parts, what: str, path: Path, *others: Parts) -> None:
        key = next((str(part) for part in reversed(parts) if isinstance(part, str)), "")
        super().__init__(what, where=str(path), remedy=example_of(key))
        self.places = (parts, *others)


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
    _refuse_what_yaml_takes(data.decode(), path)
    if not isinstance(document, dict):
        raise UsageError("the configuration is empty", where=f"{path}, line 1", remedy="`trainledger init` writes one.")
    try:
        return settings_of(document, path)
    except KeyUsageError as error:
        found = [line_of(data.decode(), parts) for parts in error.places]
        raise UsageError(error.what, where=_at(path, *found), remedy=error.remedy) from None


def error_at(path: Path, parts: Parts, reason: str) -> UsageError:
    """An error of a key of a configuration that was read, where only a room above knows what its value must be."""
    error = KeyUsageError(parts, f"'{'.'.join(map(str, parts))}': {reason}", path)
    return UsageError(error.what, where=_at(path, line_of(path.read_text(encoding="utf-8"), parts)), remedy=error.remedy)


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
        if mark and (name := variable_in(text.splitlines()[mark.line : mark.line + 1])):  # {location: s3://${BUCKET}}
            raise _unfilled(name, mark.line + 1, path) from None
        what, before = f"not YAML: {error.problem or error.context}", "\n" * (mark.line if mark else 0)
    except RecursionError:
        depths = accumulate((char in "[{") - (char in "]}") for char in text)
        what, before = "nested too deeply", text[: next((at for at, depth in enumerate(depths) if depth > _DEEP), 0)]
    except (ValueError, TypeError, ArithmeticError) as error:  # 2026-13-45 looks like a date and is none
        what, before = f"not YAML: {error}", ""
    raise UsageError(f"the configuration is {what}", where=f"{path}, line {before.count(chr(10)) + 1}") from None


def _refuse_what_yaml_takes(text: str, path: Path) -> None:
    """What is YAML and not what its writer meant: a key that is there twice, and a variable that nothing fills in."""
    if twice := key_twice(text):
        key, first, second = twice
        remedy = f"Keep one of them. {example_of(key)}"
        raise UsageError(
            f"'{key}' is there twice, and the second would replace the first", where=_at(path, first, second), remedy=remedy
        )
    if found := variable(text):
        raise _unfilled(*found, path)


def _unfilled(name: str, line: int, path: Path) -> UsageError:
    what = f"'{name}' is a variable, and the configuration is read as it is written"
    remedy = "Write the value itself, such as s3://my-bucket/prefix. Secrets come from the providers' credential chains."
    return UsageError(what, where=_at(path, line), remedy=remedy)


def _at(path: Path, *lines: int) -> str:
    return f"{path}, line{'s' if len(lines) > 1 else ''} {' and '.join(map(str, lines))}"


def settings_of(document: dict[str, Any], path: Path) -> Settings:
    """Check a configuration already read; `path` is where relative paths start and what errors name."""
    path = path.absolute()
    sources = document.get("sources")
    sources = sources if isinstance(sources, list) else []  # anything else is reported below
    _refuse_names_twice(sources, path)
    _refuse_names_unknown(document.get("expected_missing"), sources, path)
    if document.get("carbon_weights") == "energy":  # an accepted setting that changed nothing would be a quiet lie
        raise _usage(
            ("carbon_weights",), document, "energy weights cannot be chosen yet; emissions are divided by list_cost", path
        )
    if "path" in document:
        raise _usage(("path",), document, "unknown key", path)
    resolved = dict(document, path=path)
    home = Path(_location(path, document.get("home") or "./trainledger-home", ("home",), local=True))
    landing = document.get("landing")
    resolved["home"] = home
    if isinstance(landing, str) and "://" in landing and not landing.startswith(WRITTEN):
        raise _usage(
            ("landing",), document, f"a landing is a folder, s3://bucket/prefix or gs://bucket/prefix, not {landing}", path
        )
    resolved["landing"] = str(home / "landing") if landing is None else _location(path, landing, ("landing",))
    if sources:
        resolved["sources"] = [
            {**source, "location": _location(path, source["location"], ("sources", number, "location"))}
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
        reason = f"unknown key{_nearest(first['loc'])}" if is_unknown else reason_of(first)
        place = first["loc"][: first["loc"].index("book") + 1] if "book" in first["loc"] else first["loc"]
        raise _usage(place, document, reason, path) from None


def _nearest(parts: Parts) -> str:
    """The key that a misspelt one probably means."""
    above: dict[str, type[BaseModel]] = {
        "organisation": Organisation,
        "sources": SourceSettings,
        "retention": Retention,
        "delivery_limits": DeliveryLimits,
        "reporting": Reporting,
        "allowed_signers": AllowedSigner,
        "alerts": Alerts,
        "mail": Mail,
        "webhook": Webhook,
        "schedules": Schedules,
    }
    known = next((above[part] for part in reversed(parts[:-1]) if isinstance(part, str) and part in above), Settings)
    return meant(str(parts[-1]), {field.alias or name for name, field in known.model_fields.items()} - {"path"})


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
        entry = document["sources"][part] if position == 1 and parts[0] == "sources" else None
        name = entry.get("name") if isinstance(entry, dict) else None
        key += f"[{name or part}]"
    return key


def _refuse_names_twice(sources: list[Any], path: Path) -> None:
    """Two sources of one name would share a folder of the landing."""
    seen: dict[str, int] = {}
    for number, source in enumerate(sources):
        name = source.get("name") if isinstance(source, dict) else None
        if isinstance(name, str) and seen.setdefault(name, number) != number:
            what = f"source names must be unique, but {name} is there more than once"
            raise KeyUsageError(("sources", number, "name"), what, path, ("sources", seen[name], "name"))


def _refuse_names_unknown(names: Any, sources: list[Any], path: Path) -> None:
    """A misspelt source in `expected_missing` would go on failing refreshes."""
    known = [source["name"] for source in sources if isinstance(source, dict) and isinstance(source.get("name"), str)]
    for number, name in enumerate(names if isinstance(names, list) else []):
        if name not in known:
            what = f"'expected_missing': there is no source '{name}'{meant(str(name), known)}"
            raise KeyUsageError(("expected_missing", number), what, path)


def _location(path: Path, text: Any, parts: Parts, *, local: bool = False) -> str:
    """A location as written, or a local path resolved against the file."""
    if not isinstance(text, str) or not text.strip():
        raise KeyUsageError(parts, f"'{parts[-1]}': this is no text", path)
    if (text.startswith(REMOTE) or (text == API and parts[0] == "sources")) and not local:
        return text
    try:
        return str(Path(path.parent / Path(text).expanduser()).resolve())
    except (ValueError, RuntimeError, OSError) as error:  # a NUL; the home of a user there is not; a name too long
        raise KeyUsageError(parts, f"'{parts[-1]}': this is no path ({error})", path) from None
