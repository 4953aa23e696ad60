"""Landing: one delivery in, one immutable generation out, or a named reason why not.

The same bytes as those of the generation before it in its partition add nothing. A delivery that is wrong is recorded as refused
and the generation before it stays. What is in the bytes is found out by landing.deriving and kept on the shelf; where
generations are kept is the store's matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from msgspec import convert, structs

from connectors.deliveries import Delivery, Refusal
from connectors.errors import ConnectorError, TooCostlyError
from connectors.stores import Budget, ObjectInfo, ObjectStore
from dagster_project.base import clock, durable
from dagster_project.landing.deriving.contents import WRONG_FOR_GOOD, Contents, ParquetPart, refused_for
from dagster_project.landing.fetching import Fetched, batches, fetch
from dagster_project.landing.index import Index
from dagster_project.landing.judging.rules import lacks_verdict
from dagster_project.landing.listed import Listed
from dagster_project.landing.records import Generation, RefusalRecord, RowRefusal, Tombstone, content_hash_of
from dagster_project.landing.shelf import Shelf
from dagster_project.landing.sources import open_source
from dagster_project.landing.store import LocalLanding, SourceLanding, folder_in, same_bytes_before
from dagster_project.landing.surprises import surprise_of
from dagster_project.landing.verifying import Difference, difference, require_same
from dagster_project.landing.versions import connector_version
from dagster_project.settings import Settings, SourceSettings

if TYPE_CHECKING:
    from dagster_project.landing.bucket import BucketLanding
    from dagster_project.landing.worker import LimitedDeriver

Step = TypeVar("Step")


class NotDerivedError(Exception):
    """The shelf lacks what the present code makes of a generation, and the caller wanted nothing to be made."""


@dataclass(frozen=True)
class Landed:
    """What became of one delivery."""

    outcome: Literal["landed", "unchanged", "refused", "unreadable"]
    source: str
    partition: str
    generation: Generation | None = None  # the one that was landed, or the one with the same bytes that was there
    contents: Contents | None = None  # of the one that was landed
    refusal: RefusalRecord | None = None
    error: ConnectorError | None = None  # of an unreadable delivery: message and remedy


class Landing:
    """Everything landed of the configured sources, and what our code made of it."""

    def __init__(self, store: LocalLanding | BucketLanding, settings: Settings) -> None:
        """What is kept in the home's cache may be deleted at any time."""
        cache = settings.cache
        self.store = store
        self.shelf = Shelf(cache / "derived")
        self.listed = Listed(cache, store.uri)
        self.known = Index(cache / "landed", store, self.shelf)
        self.cache, self._memory_limit, self._limits = cache, settings.memory_limit, settings.delivery_limits
        self.budget = Budget(settings.maximum_bytes_per_refresh)
        # a client of S3 costs more than a small delivery
        self.run_tag_keys = settings.run_tag_keys
        self._open = lru_cache(partial(open_source, settings.base, budget=self.budget, run_tag_keys=self.run_tag_keys))
        self.is_kept = True  # whether what is derived again stays: else none is judged, and none is forced to the disk
        self._compared: set[str] = set()  # generations whose bytes were compared with their hashes, or hashed as they came

    def read(self, source: str, partition: str | None = None) -> SourceLanding:
        """Every record the landing holds of one source, or of one of its partitions."""
        return self.known.read_partition(source, partition) if partition else self.known.read(source)

    def recover(self) -> None:
        """Remove what killed processes left behind."""
        self.store.recover()
        self.shelf.recover()
        for name in ("", "listed", "landed", "restated"):
            durable.clear_unfinished(self.cache / name)

    @cached_property
    def deriver(self) -> LimitedDeriver:
        """What reads deliveries; made when the first one needs it, for it loads the engine."""
        from dagster_project.landing.worker import LimitedDeriver

        # a folder of this process: what is killed leaves goes
        return LimitedDeriver(self.shelf.again / "spill", self._memory_limit, self._limits)

    def contents(self, source: SourceSettings, generation: Generation) -> Contents:
        """What the present code makes of a generation: from the shelf, else derived again from the bytes that were kept."""
        version = connector_version(generation.kind)
        if known := self.known.contents(generation, version):
            return known
        delivery = _delivery_of(generation)
        try:
            [contents] = self._derive_again(source, [(generation, delivery)])
        except BaseException as error:
            refused = refused_for(delivery, surprise_of(error, source.name, delivery, self.shelf.again))
            # not put on the shelf: it is tried again by the next refresh
            return Contents(content_hash=generation.content_hash, connector_version=version, refusals=refused, is_taken=False)
        return contents

    def derive_missing(self, source: SourceSettings, generations: Iterable[Generation]) -> None:
        """Derive what the shelf lacks of some generations, small ones together: one by one they cost five times as much."""
        version = connector_version(source.kind)
        missing = [one for one in generations if self.known.contents(one, version) is None]
        left = iter(missing)
        for _, deliveries in batches((source, _delivery_of(one)) for one in missing):
            again = list(zip(islice(left, len(deliveries)), deliveries, strict=True))
            try:
                self._derive_again(source, again)
            except BaseException as error:  # of one of them: each is derived by itself when it is asked for
                surprise_of(error, source.name, deliveries[0], self.shelf.again)  # what ends the command is raised

    def contents_on_shelf(self, source: SourceSettings, generation: Generation) -> Contents:
        """What the present code made of a generation; NotDerivedError when it has not yet, or has not judged it.

        Reads no Parquet, writes nothing.
        """
        contents = self.known.contents(generation, connector_version(generation.kind))
        if contents is None or lacks_verdict(source, contents):
            raise NotDerivedError(generation.path)
        return contents

    def contents_to_show(self, source: SourceSettings, generation: Generation) -> Contents:
        """What some version of the code made of a generation, or nothing: for telling people, never for figures."""
        found = self.known.contents(generation, connector_version(generation.kind)) or self.shelf.find_any(generation)
        return found or Contents(content_hash=generation.content_hash, connector_version="")

    def part_path(self, generation: Generation, contents: Contents, part: ParquetPart) -> Path:
        """A local path of one Parquet file that the raw view reads."""
        if not part.is_original:
            return self.shelf.made(generation, contents) / part.file
        landed = next(landed for landed in generation.objects if landed.file == part.file)
        return self.store.object_path(generation, landed)

    def lend(self, source: SourceSettings, deliveries: Iterable[Delivery], to: Landing) -> Iterator[tuple[str, Contents]]:
        """Link another landing to each delivery that this one holds as it is listed, and the present code has read.

        Yields their identities and contents: a question about sources need not read again what was landed before.
        """
        store, other, version = self.store, to.store, connector_version(source.kind)
        if not isinstance(store, LocalLanding) or not isinstance(other, LocalLanding):
            return
        wanted = {delivery.identity for delivery in deliveries}
        for generation in self.read(source.name).generations:
            contents = self.known.contents(generation, version) if generation.identity in wanted else None
            if contents and contents.is_taken:
                made = f"{generation.path}/{version}"
                store.lend(generation, other.root / generation.path)
                (to.shelf.root / made).mkdir(parents=True)
                for path in (self.shelf.root / made).iterdir():
                    (to.shelf.root / made / path.name).symlink_to(path.absolute())
                yield generation.identity, contents

    def differences(self, generations: Iterable[Generation]) -> Iterator[Difference | None]:
        """Read every object in the landing itself: for each how it differs from its record, or None."""
        for generation in generations:
            for landed in generation.objects:
                found = self.store.found_hash(generation, landed)
                is_same = found == landed.sha256
                yield None if is_same else difference(generation, landed, found, self.store.bundle_of(generation))

    def require_same(self, generation: Generation) -> None:
        """Compare what a build will read of a generation with its hashes, once; SourceError names what differs."""
        if generation.path not in self._compared:
            found = [difference(generation, one, self.store.hash_to_read(generation, one)) for one in generation.read]
            require_same(found)
            self._compared.add(generation.path)

    def require_kept(self, generation: Generation) -> None:
        """Compare the rows that are kept beside groups with their hashes; SourceError names what differs."""
        require_same(difference(generation, one, self.store.hash_to_read(generation, one)) for one in generation.raw)

    def land_together(self, source: SourceSettings, deliveries: Sequence[Delivery]) -> Iterator[Landed]:
        """Land deliveries of different partitions of a source, each by itself, or say why not; all are read together.

        An object that changed while it was read is tried again by the next refresh.
        """
        with ExitStack() as folders:
            begun = [self._told(source, one, partial(self._begin, source, one, folders)) for one in deliveries]
            read = self._derive_together(source, [one for one in begun if isinstance(one, Fetched)])
            for delivery, one in zip(deliveries, begun, strict=True):
                if isinstance(one, Fetched):
                    yield self._told(source, delivery, partial(self._finish, source, one, next(read, None)))
                else:
                    yield one

    def _told(self, source: SourceSettings, delivery: Delivery, step: Callable[[], Step]) -> Step | Landed:
        """A step of landing a delivery, or what became of it because of an error."""
        try:
            return step()
        except WRONG_FOR_GOOD as error:
            return self.refuse(source, delivery, refused_for(delivery, error))
        except BaseException as error:
            surprise = surprise_of(error, source.name, delivery, self.store.staging)
            return Landed("unreadable", source.name, delivery.partition, error=surprise)

    def store_of(self, source: SourceSettings) -> ObjectStore:
        """What deliveries of a source are fetched from."""
        return self._open(source)

    def ask_for_free(self) -> None:
        """Ask no store for what it bills: for a question about sources that must cost nothing."""
        self._open = lru_cache(partial(self._open.__wrapped__, is_free=True))

    def end_engine(self) -> None:
        """Give the engine up: its memory is wanted. The next delivery gets a new one."""
        if deriver := self.__dict__.pop("deriver", None):
            deriver.close()

    def _begin(self, source: SourceSettings, delivery: Delivery, folders: ExitStack) -> Fetched | Landed:
        folder, made = (folders.enter_context(folder_in(staging)) for staging in (self.store.staging, self.shelf.staging))
        objects = fetch(self._open(source), delivery, folder, keeps_raw=source.keep is not None)
        hashes = [one.sha256 for one in objects if one.role in ("data", "raw")]
        content_hash = content_hash_of(delivery.kind, delivery.partition, hashes)
        same = same_bytes_before(self.read(source.name, delivery.partition), delivery, content_hash)
        if same:
            self.listed.add_same(source.name, delivery.identity)
            return Landed("unchanged", source.name, delivery.partition, same)
        return Fetched(delivery, folder, objects, made, content_hash, self._open(source).uri, connector_version(source.kind))

    def _derive_together(self, source: SourceSettings, staged: Sequence[Fetched]) -> Iterator[Contents]:
        """What is in some deliveries; nothing where each has to be looked at by itself."""
        try:
            return iter(self.deriver.derive(staged) if len(staged) > 1 else ())
        except BaseException as error:  # of one of them, and not known of which
            surprise_of(error, source.name, staged[0].delivery, self.store.staging)  # what ends the command is raised
            return iter(())

    def _finish(self, source: SourceSettings, staged: Fetched, contents: Contents | None) -> Landed:
        delivery = staged.delivery
        if contents is None:
            [contents] = self.deriver.derive([staged])
        if not contents.is_taken:
            return self.refuse(source, delivery, contents.refusals)
        generation = Generation(
            source=source.name,
            kind=source.kind,
            partition=delivery.partition,
            delivery_id=delivery.delivery_id,
            identity=delivery.identity,
            published_at=delivery.published_at,
            landed_at=clock.now(),
            content_hash=staged.content_hash,
            objects=staged.objects,
        )
        self.store.commit(generation, staged.folder, {part.file for part in contents.parts if part.is_original})
        self.shelf.put(generation, contents, staged.made)
        self._compared.add(generation.path)
        return Landed("landed", source.name, delivery.partition, generation, contents)

    def _derive_again(self, source: SourceSettings, again: Sequence[tuple[Generation, Delivery]]) -> list[Contents]:
        """Read landed originals as if they came from their provider now; nothing is asked of the provider."""
        version, uri = connector_version(source.kind), self._open(source).uri
        # in a place of its own: an as-of report derives too, while a refresh may be clearing what killed landings left behind
        with ExitStack() as folders:
            staged = []
            for generation, delivery in again:
                self.require_same(generation)  # damaged bytes may read as other figures
                folder, made = (folders.enter_context(folder_in(self.shelf.again)) for _ in range(2))
                for landed in generation.read:  # under its landed name: a mirror names files by hash
                    self.store.lay(generation, landed, folder / landed.file)
                objects, content_hash = generation.read, generation.content_hash
                staged.append(Fetched(delivery, folder, objects, made, content_hash, uri, version, self.is_kept))
            found = self.deriver.derive(staged)
            for (generation, _), one, contents in zip(again, staged, found, strict=True):
                self.shelf.put(generation, contents, one.made, is_kept=self.is_kept)
        return found

    def refuse(self, source: SourceSettings, item: Delivery | Refusal, refusals: list[RowRefusal]) -> Landed:
        """Record a delivery that is not taken, so that it is not read again and the quarantine shows it."""
        version = self.version_of_refusal(source.kind, refusals)
        record = RefusalRecord.of(item, source.name, source.kind, version, clock.now(), refusals)
        self.store.put_record(record)
        return Landed("refused", source.name, item.partition, refusal=record)

    def version_of_refusal(self, kind: str, refusals: Sequence[RowRefusal]) -> str:
        """What a refusal is recorded with: other code, or other limits where it was too costly, try the delivery again."""
        is_costly = any(one.reason == TooCostlyError.reason for one in refusals)
        return f"{connector_version(kind)} within {self._limits}" if is_costly else connector_version(kind)

    def withdraw(self, record: RefusalRecord) -> None:
        """Note that a refused delivery is no longer at its source."""
        self.store.put_record(structs.replace(record, withdrawn_at=clock.now()))

    def forget(self, tombstone: Tombstone) -> None:
        """Remove a generation and what was made of it; its tombstone is written first and stays."""
        self.store.put_record(tombstone)
        self.remove(tombstone.generation)

    def remove(self, generation: Generation) -> None:
        """Remove the files of a generation whose tombstone is there, also after a removal that was cut short."""
        self.store.remove(generation)
        self.shelf.remove(generation)


def _delivery_of(generation: Generation) -> Delivery:
    """A generation as its provider delivered it."""
    infos = [(one.role, convert(one, ObjectInfo, from_attributes=True)) for one in generation.objects]
    return Delivery(
        kind=generation.kind,
        partition=generation.partition,
        delivery_id=generation.delivery_id,
        published_at=generation.published_at,
        objects=tuple(info for role, info in infos if role == "data"),
        manifest=next((info for role, info in infos if role == "manifest"), None),
    )
