"""Options that several commands share, so that each means the same and helps in the same words everywhere."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from dagster_project.settings import Settings

DEFAULT_CONFIG = Path("trainledger.yaml")

Config = Annotated[
    Path,
    typer.Option("--config", envvar="TRAINLEDGER_CONFIG", help="trainledger.yaml; relative paths inside are relative to it."),
]
Wait = Annotated[float, typer.Option("--wait", min=0, help="Seconds to wait for another writer before giving up (exit code 4).")]
Json = Annotated[bool, typer.Option("--json", help="As JSON, for programs.")]


def settings_of(config: Path) -> "Settings":
    """The configuration; what reads it is heavy, and imported once a command needs it."""
    from dagster_project.settings import load_settings

    return load_settings(config)


def settings_if_there(config: Path) -> "Settings | None":
    """The same, for a command that needs none: none where it was not named and there is no file of that name."""
    return settings_of(config) if config != DEFAULT_CONFIG or config.exists() else None


def published_by(config: Path) -> Path:
    """The file that the configuration's home publishes, whether it is there yet or not."""
    return settings_of(config).home / "published" / "trainledger.duckdb"


class Format(StrEnum):
    """How an answer is written."""

    table = "table"
    csv = "csv"
    json = "json"
    parquet = "parquet"
