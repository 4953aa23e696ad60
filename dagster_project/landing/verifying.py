"""Landed bytes against the sha256 that was taken when they were fetched: a disk that lost a bit, a file changed by hand.

Whatever differs is named with both hashes; nothing is mended here. A backup has the bytes, or the provider.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from dagster_project.base.durable import sha256_of
from dagster_project.base.failures import SourceError
from dagster_project.landing.records import Generation, LandedObject


@dataclass(frozen=True, slots=True)
class Difference:
    """One landed object that has other bytes than were landed."""

    source: str
    partition: str
    generation: str  # its folder below the landing
    object: str  # the provider's key
    expected: str
    found: str | None  # None: it is gone
    bundle: str = ""  # the file that the generation lies in with others; '': it has a folder of its own

    def __str__(self) -> str:
        found = f"sha256 {self.found} found" if self.found else "gone"
        place = f"{self.generation} of {self.bundle}" if self.bundle else self.generation
        return f"{self.source} {self.partition}: {self.object} in {place}: sha256 {self.expected} expected, {found}"


def hash_of(path: Path) -> str | None:
    """The sha256 of a file's bytes; None when it is not there."""
    try:
        return sha256_of(path)
    except FileNotFoundError:
        return None


def difference(generation: Generation, landed: LandedObject, found: str | None, bundle: str = "") -> Difference | None:
    """How an object differs from its record, if it does."""
    if found == landed.sha256:
        return None
    return Difference(generation.source, generation.partition, generation.path, landed.key, landed.sha256, found, bundle)


def require_same(differences: Iterable[Difference | None]) -> None:
    """Raise SourceError, naming the first, if any object differs."""
    differing = [one for one in differences if one]
    if differing:
        what = "has other bytes than were landed" if differing[0].found else "is gone"
        more = f", and {len(differing) - 1} more differ" if len(differing) > 1 else ""
        raise SourceError(
            f"a landed object {what}{more}",
            where=str(differing[0]),
            remedy="Restore it from a backup, or remove its generation's folder to land it again;"
            " `trainledger verify --landing` names every one.",
        )
