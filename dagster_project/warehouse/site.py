"""The folders of one place where builds happen: the home, or a folder below home/asof. Paths only, and the last publication."""

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from dagster_project.publishing.publish import COMMIT_RECORD, FILE_NAME


@dataclass(frozen=True, slots=True)
class Site:
    """Where builds happen: the home, or a folder below home/asof with a build file and a publication of its own."""

    root: Path
    target: Path

    @classmethod
    def of_home(cls, home: Path) -> Self:
        """The line's own site."""
        return cls(home, home / "cache" / "dbt")

    @classmethod
    def of_instant(cls, home: Path, kind: str, instant: datetime) -> Self:
        """The site of an as-of build; `kind` is as-of or as-published."""
        root = home / "asof" / f"{kind}-{instant:%Y%m%dT%H%M%S.%fZ}"
        return cls(root, root / "dbt")

    @classmethod
    def all_below(cls, home: Path) -> list[Self]:
        """The line's own site and those of every earlier view."""
        return [cls.of_home(home), *(cls(root, root / "dbt") for root in sorted((home / "asof").glob("*")))]

    @property
    def build_file(self) -> Path:
        """The writer's DuckDB file."""
        return self.root / "build.duckdb"

    @property
    def marker(self) -> Path:
        """Present while a build is under way."""
        return self.root / "building.json"

    @property
    def published(self) -> Path:
        """The readers' folder."""
        return self.root / "published"

    @property
    def published_file(self) -> Path:
        """The readers' DuckDB file."""
        return self.published / FILE_NAME

    def evidence(self, build_id: str) -> Path:
        """Where validations of a build are kept."""
        return self.root / "evidence" / build_id

    def publication(self) -> dict[str, Any] | None:
        """The last commit record, if the file it speaks of is there."""
        record = self.published / COMMIT_RECORD
        return json.loads(record.read_bytes()) if record.exists() and self.published_file.exists() else None
