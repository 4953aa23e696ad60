"""What earlier looks at a source found. A cache: without it the next look reads everything once more."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import msgspec

from connectors.layouts.accounting import Counts
from dagster_project.base import durable

_IDENTITY = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Listed:
    """The results of looks at the sources, kept below the folder `cache`."""

    cache: Path

    def same(self, source: str) -> set[str]:
        """Identities of deliveries whose bytes were already landed."""
        path = self._same_path(source)
        if not path.exists():
            return set()
        return {line for line in path.read_text().splitlines() if _IDENTITY.fullmatch(line)}  # a cut line is not one

    def add_same(self, source: str, identity: str) -> None:
        """Keep that the bytes of a delivery were already landed."""
        path = self._same_path(source)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(f"\n{identity}\n")  # the first line end closes a line that a killed process cut

    def counts(self, source: str) -> Counts | None:
        """What the last look made of the objects of a source; None when it has to be counted again."""
        try:
            return msgspec.json.decode(self._counts_path(source).read_bytes(), type=Counts)
        except (FileNotFoundError, msgspec.MsgspecError):
            return None

    def keep_counts(self, source: str, counts: Counts) -> None:
        """Keep what a look made of the objects of a source."""
        self._counts_path(source).parent.mkdir(parents=True, exist_ok=True)
        durable.write(self._counts_path(source), msgspec.json.encode(counts))

    def recover(self) -> None:
        """Remove what killed processes were writing."""
        durable.clear_unfinished(self.cache / "listed")

    def _counts_path(self, source: str) -> Path:
        return self.cache / "listed" / f"{source}.json"

    def _same_path(self, source: str) -> Path:
        return self.cache / "seen" / f"{source}.txt"
