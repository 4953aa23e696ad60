"""Options that several commands share, so that each means the same and helps in the same words everywhere."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

DEFAULT_CONFIG = Path("trainledger.yaml")

Config = Annotated[
    Path,
    typer.Option("--config", envvar="TRAINLEDGER_CONFIG", help="trainledger.yaml; relative paths inside are relative to it."),
]
Debug = Annotated[bool, typer.Option("--debug", envvar="TRAINLEDGER_DEBUG", help="Show the traceback of an error.")]
Wait = Annotated[float, typer.Option("--wait", min=0, help="Seconds to wait for another writer before giving up (exit code 4).")]
Json = Annotated[bool, typer.Option("--json", help="As JSON, for programs.")]


class Format(StrEnum):
    """How an answer is written."""

    table = "table"
    csv = "csv"
    json = "json"
    parquet = "parquet"
