"""The folders of one place where builds happen: the home, or a folder below home/asof. Paths, the last publication, and how
much memory an engine may take there.
"""

import json
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from dagster_project.publishing.publish import COMMIT_RECORD, FILE_NAME
from dagster_project.settings import MEMORY_LIMIT


@dataclass(frozen=True, slots=True)
class Site:
    """Where builds happen: the home, or a folder below home/asof with a build file and a publication of its own."""

    root: Path
    target: Path
    memory_limit: str = field(default=MEMORY_LIMIT, compare=False)
    is_kept: bool = field(default=True, compare=False)  # false: it goes with the question that it is built for

    @classmethod
    def of_home(cls, home: Path, memory_limit: str = MEMORY_LIMIT) -> Self:
        """The line's own site."""
        return cls(home, home / "cache" / "dbt", memory_limit)

    @classmethod
    def of_instant(cls, home: Path, kind: str, instant: datetime, memory_limit: str = MEMORY_LIMIT) -> Self:
        """The site of an as-of build; `kind` is as-of or as-published."""
        root = home / "asof" / f"{kind}-{instant:%Y%m%dT%H%M%S.%fZ}"
        return cls(root, root / "dbt", memory_limit)

    @classmethod
    def all_below(cls, home: Path) -> list[Self]:
        """The line's own site and those of every earlier view."""
        return [cls.of_home(home), *(cls(root, root / "dbt") for root in sorted((home / "asof").glob("*")))]

    @property
    def build_file(self) -> Path:
        """The writer's DuckDB file."""
        return self.root / "build.duckdb"

    @property
    def spill(self) -> Path:
        """Where the engine puts what does not fit into its memory; it goes when the engine ends, but not when that is killed."""
        return self.build_file.with_name(f"{self.build_file.name}.tmp")

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

    def publication(self) -> dict[str, Any] | None:
        """The last commit record, if the file it speaks of is there."""
        record = self.published / COMMIT_RECORD
        return json.loads(record.read_bytes()) if record.exists() and self.published_file.exists() else None
