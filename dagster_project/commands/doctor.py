"""`trainledger doctor`: whether a refresh could work, found out without changing anything.

Each source is listed, its newest delivery is read as the landing would read it (the smallest object, in a temporary
folder), and the bill is asked for the configured tag keys. Disk and permissions of the home are checked. What a check
finds wrong comes with its remedy.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path

from connectors.deliveries import Converted, Delivery, Refusal
from connectors.errors import ConnectorError
from dagster_project.settings import Settings, SourceSettings

SAMPLE_LIMIT = 256 << 20  # a larger object is not fetched to be looked at
LITTLE_SPACE = 10 << 30
NETWORK_DISKS = re.compile(r"nfs|cifs|smb|sshfs|s3fs|gcsfuse|goofys|9p|afs|ceph|gluster|lustre|beegfs")


class Outcome(StrEnum):
    """What a check came to."""

    ok = "ok"
    warning = "warning"
    problem = "problem"


@dataclass(frozen=True, slots=True)
class Check:
    """One finding: about what, how bad, in words, and what to do."""

    about: str
    outcome: Outcome
    message: str
    remedy: str = ""
    is_source: bool = False


def diagnose(settings: Settings, tell: Callable[[str], None], *, as_json: bool = False) -> int:
    """Tell every finding. Returns 0, 2 when the home is not fit, 3 when a source is not."""
    found = []
    for check in examine(settings):
        found.append(check)
        if not as_json:
            remedy = f"\n         {check.remedy}" if check.remedy else ""
            tell(f"{check.outcome:8} {check.about}: {check.message}{remedy}")
    problems = [check for check in found if check.outcome is Outcome.problem]
    exit_code = 0 if not problems else 3 if all(check.is_source for check in problems) else 2
    if as_json:
        checks = [asdict(check) for check in found]
        document = {"exit_code": exit_code, "configuration": str(settings.path), "checks": checks}
        tell(json.dumps(document, indent=2, ensure_ascii=False))
    return exit_code


def examine(settings: Settings) -> Iterator[Check]:
    """Yield every finding about a configuration that was read."""
    yield Check("configuration", Outcome.ok, f"{settings.path}: {len(settings.sources)} sources")
    yield from _check_home(settings.home)
    for source in settings.sources:
        try:
            yield from _check_source(settings, source)
        except ConnectorError as error:
            yield Check(source.name, Outcome.problem, error.message, error.remedy, is_source=True)


def _check_home(home: Path) -> Iterator[Check]:
    place = next(folder for folder in (home, *home.parents) if folder.exists())
    if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        yield Check(
            "home", Outcome.problem, f"{place} is not a folder this user may write", "Give another home or its permission."
        )
        return
    disk = _file_system(place)
    if disk and NETWORK_DISKS.search(disk):
        yield Check(
            "home",
            Outcome.problem,
            f"{home} is on a network disk ({disk}), where locks and renames are not safe",
            "Use a local disk.",
        )
    else:
        yield Check("home", Outcome.ok, f"{home} is writable{f' and on a local disk ({disk})' if disk else ''}")
    free = shutil.disk_usage(place).free
    message = f"{free / (1 << 30):.1f} GB are free"
    if free < LITTLE_SPACE:
        yield Check(
            "disk space", Outcome.warning, message, "A landing needs about the size of its exports, a build about a tenth of it."
        )
    else:
        yield Check("disk space", Outcome.ok, message)


def _file_system(place: Path) -> str | None:
    """Type of the file system a folder is on, where the system tells."""
    mounts = Path("/proc/self/mounts")
    if not mounts.exists():
        return None
    best = ("", "")
    for line in mounts.read_text().splitlines():
        _, point, kind, *_ = line.split()
        if place.resolve().is_relative_to(point) and len(point) >= len(best[0]):
            best = (point, kind)
    return best[1] or None


def _check_source(settings: Settings, source: SourceSettings) -> Iterator[Check]:
    from connectors.registry import connector_for
    from dagster_project.landing.sources import open_source

    store = open_source(settings.base, source)
    connector = connector_for(source.kind)
    deliveries: list[Delivery] = []
    refusals: list[Refusal] = []
    for found in connector.find_deliveries(store):
        if isinstance(found, Delivery):
            deliveries.append(found)
        else:
            refusals.append(found)
    for refusal in refusals[:3]:
        yield Check(
            source.name,
            Outcome.warning,
            f"{store.uri_of(refusal.source_object)}: {refusal.message}",
            refusal.remedy,
            is_source=True,
        )
    if not deliveries:
        yield Check(
            source.name,
            Outcome.problem,
            f"{store.uri} is readable and has no complete delivery of kind {source.kind}",
            "Check the location; an export without its manifest is not finished.",
            is_source=True,
        )
        return
    newest = max(deliveries, key=lambda delivery: (delivery.partition, delivery.published_at))
    partitions = len({delivery.partition for delivery in deliveries})
    yield Check(
        source.name, Outcome.ok, f"{store.uri}: {partitions} partitions, the newest is {newest.partition}", is_source=True
    )
    sample = min(newest.objects, key=lambda info: info.size, default=None)
    if sample is None or sample.size > SAMPLE_LIMIT:
        return
    with tempfile.TemporaryDirectory(prefix="trainledger-doctor-") as folder:
        landed = Path(folder) / Path(sample.key).name
        store.fetch(sample, landed)
        one = replace(newest, objects=(sample,))
        converted = connector.convert(one, {sample.key: landed}, Path(folder), store.uri)
        columns = f", {len(converted.unknown_columns)} unknown columns" if converted.unknown_columns else ""
        yield Check(source.name, Outcome.ok, f"{sample.key} is as declared: {converted.rows} rows{columns}", is_source=True)
        if source.facts.fact == "bill":
            yield _check_tag_keys(settings, source, converted)


def _check_tag_keys(settings: Settings, source: SourceSettings, converted: Converted) -> Check:
    """Whether a configured run tag is on any row of the sample; without it only records and job ids can attribute cost."""
    import duckdb

    from dagster_project.election.run_tags import TAG_COLUMNS

    column, spellings = TAG_COLUMNS[source.kind]
    wanted = {name for key in settings.run_tag_keys for name in spellings(key)}
    found: set[str] = set()
    with duckdb.connect() as connection:
        for part in converted.parts:
            names = f"select distinct unnest(map_keys({column})) from read_parquet(?, hive_partitioning = false)"
            found.update(name for (name,) in connection.execute(names, [str(part.path)]).fetchall())
    if wanted & found:
        return Check(
            source.name, Outcome.ok, f"run tag {', '.join(sorted(wanted & found))} is on rows of the sample", is_source=True
        )
    named = ", ".join(sorted(found)[:8]) or "none"
    return Check(
        source.name,
        Outcome.warning,
        f"no row of the sample carries a run tag ({', '.join(settings.run_tag_keys)}); tags on it: {named}",
        "Activate the cost-allocation tag in the payer account or set the label, or correct run_tag_keys.",
        is_source=True,
    )
