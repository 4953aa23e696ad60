"""What earlier looks at a source found. A cache: without it the next look reads everything once more.

A first load of a table that dies half-way must not lose the days that the look-back leaves out from then on. So the look-back
holds only after one load of all days that left nothing behind.
"""

import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path

import msgspec

from connectors.layouts.accounting import Counts
from dagster_project.base import clock, durable
from dagster_project.settings import SourceSettings

_IDENTITY = re.compile(r"[0-9a-f]{64}")
WHOLE_AGAIN = timedelta(days=7)  # after which a table is asked for all its days, where nothing shows which of them changed


class Asked(msgspec.Struct, frozen=True):
    """When a table was last asked for its partitions."""

    at: datetime
    first_day: date | None  # of the days that were asked for
    complete_at: datetime  # when all were last asked for that had changed, of whatever day


@dataclass(frozen=True, slots=True)
class Listed:
    """The results of looks at the sources, kept below the folder `cache`."""

    cache: Path
    landing: str  # where it is

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

    def is_loaded(self, source: SourceSettings) -> bool:
        """Whether all that the source has of its `months` was landed once, in this landing and from this location."""
        try:
            return self._path(source.name, "whole").read_bytes() == self._load(source)
        except FileNotFoundError:
            return False

    def mark_loaded(self, source: SourceSettings) -> None:
        """Keep that a load of all days left nothing behind."""
        durable.put(self._path(source.name, "whole"), self._load(source))

    def asked(self, source: str) -> Asked | None:
        """The last look at a table that left nothing behind; None when there was none."""
        try:
            return msgspec.json.decode(self._path(source, "asked").read_bytes(), type=Asked)
        except (FileNotFoundError, msgspec.MsgspecError):
            return None

    def keep_asked(self, source: str, first: date | None, *, is_complete: bool) -> None:
        """Keep that a table was asked for the days from `first` on and, if `is_complete`, for all that changed."""
        now, known = clock.now(), self.asked(source)
        asked = Asked(now, first, now if is_complete or not known else known.complete_at)
        durable.put(self._path(source, "asked"), msgspec.json.encode(asked))

    def is_due_whole(self, source: SourceSettings) -> bool:
        """Whether a table is to be asked for all its days: it was not loaded whole yet, or not asked so for a week."""
        known = self.asked(source.name)
        return not self.is_loaded(source) or (known is not None and clock.now() - known.complete_at >= WHOLE_AGAIN)

    def _load(self, source: SourceSettings) -> bytes:
        """What the mark is of: other months, another table and another landing were not loaded by it."""
        return f"{source.location}\n{source.months or 'all months'}\n{self.landing}\n".encode()

    def counts(self, source: str) -> Counts | None:
        """What the last look made of the objects of a source; None when it has to be counted again."""
        try:
            return msgspec.json.decode(self._path(source, "json").read_bytes(), type=Counts)
        except (FileNotFoundError, msgspec.MsgspecError):
            return None

    def keep_counts(self, source: str, counts: Counts) -> None:
        """Keep what a look made of the objects of a source."""
        durable.put(self._path(source, "json"), msgspec.json.encode(counts))

    def _path(self, source: str, name: str) -> Path:
        return self.cache / "listed" / f"{source}.{name}"

    def _same_path(self, source: str) -> Path:
        return self.cache / "seen" / f"{source}.txt"
