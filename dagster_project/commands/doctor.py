"""`trainledger doctor`: whether a refresh could work, found out without changing anything.

Each source is listed, its newest delivery is read as the landing would read it (the smallest object, in a temporary
folder), and the bill is asked for the configured tag keys. Disk and permissions of the home are checked. What a check
finds wrong comes with its remedy.
"""

import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

import duckdb

from connectors.deliveries import Converted, Delivery, Refusal
from connectors.errors import ConnectorError
from connectors.registry import connector_for
from dagster_project.election.run_tags import tag_names
from dagster_project.landing.sources import open_source
from dagster_project.settings import Settings, SourceSettings

SAMPLE_LIMIT = 256 << 20  # a larger object is not fetched to be looked at
LITTLE_SPACE = 10 << 30
SPACE_NEEDED = "A landing needs about the size of its exports, a build about a tenth of it."
NETWORK_DISKS = re.compile(r"nfs|cifs|smb|sshfs|s3fs|gcsfuse|goofys|9p|afs|ceph|gluster|lustre|beegfs")


Outcome = Literal["ok", "warning", "problem"]
Finding = tuple[Outcome, str, str]  # how bad, in words, and what to do


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
    problems = [check for check in found if check.outcome == "problem"]
    exit_code = 0 if not problems else 3 if all(check.is_source for check in problems) else 2
    if as_json:
        checks = [asdict(check) for check in found]
        document = {"exit_code": exit_code, "configuration": str(settings.path), "checks": checks}
        tell(json.dumps(document, indent=2, ensure_ascii=False))
    return exit_code


def examine(settings: Settings) -> Iterator[Check]:
    """Yield every finding about a configuration that was read."""
    yield Check("configuration", "ok", f"{settings.path}: {len(settings.sources)} sources")
    yield from _check_home(settings.home)
    for source in settings.sources:
        try:
            for finding in _check_source(settings, source):
                yield Check(source.name, *finding, is_source=True)
        except ConnectorError as error:
            yield Check(source.name, "problem", error.message, error.remedy, is_source=True)


def _check_home(home: Path) -> Iterator[Check]:
    place = next(folder for folder in (home, *home.parents) if folder.exists())
    if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        message = f"{place} is not a folder this user may write"
        yield Check("home", "problem", message, "Give another home or its permission.")
        return
    disk = _file_system(place)
    if disk and NETWORK_DISKS.search(disk):
        message = f"{home} is on a network disk ({disk}), where locks and renames are not safe"
        yield Check("home", "problem", message, "Use a local disk.")
    else:
        yield Check("home", "ok", f"{home} is writable{f' and on a local disk ({disk})' if disk else ''}")
    free = shutil.disk_usage(place).free
    is_little = free < LITTLE_SPACE
    message = f"{free / (1 << 30):.1f} GB are free"
    yield Check("disk space", "warning" if is_little else "ok", message, SPACE_NEEDED if is_little else "")


def _file_system(place: Path) -> str | None:
    """Type of the file system a folder is on, where the system tells."""
    mounts = Path("/proc/self/mounts")
    if not mounts.exists():
        return None
    types = {point: kind for _, point, kind, *_ in map(str.split, mounts.read_text().splitlines())}
    above = [point for point in types if place.resolve().is_relative_to(point)]
    return types[max(above, key=len)] if above else None


def _check_source(settings: Settings, source: SourceSettings) -> Iterator[Finding]:
    store = open_source(settings.base, source)
    connector = connector_for(source.kind)
    found = list(connector.find_deliveries(store))
    for refusal in [item for item in found if isinstance(item, Refusal)][:3]:
        yield "warning", f"{store.uri_of(refusal.source_object)}: {refusal.message}", refusal.remedy
    deliveries = [item for item in found if isinstance(item, Delivery)]
    if not deliveries:
        message = f"{store.uri} is readable and has no complete delivery of kind {source.kind}"
        yield "problem", message, "Check the location; an export without its manifest is not finished."
        return
    newest = max(deliveries, key=lambda delivery: (delivery.partition, delivery.published_at))
    partitions = len({delivery.partition for delivery in deliveries})
    yield "ok", f"{store.uri}: {partitions} partitions, the newest is {newest.partition}", ""
    sample = min(newest.objects, key=lambda info: info.size, default=None)
    if sample is None or sample.size > SAMPLE_LIMIT:
        return
    with tempfile.TemporaryDirectory(prefix="trainledger-doctor-") as folder:
        landed = Path(folder) / Path(sample.key).name
        store.fetch(sample, landed)
        one = replace(newest, objects=(sample,))
        converted = connector.convert(one, {sample.key: landed}, Path(folder), store.uri)
        columns = f", {len(converted.unknown_columns)} unknown columns" if converted.unknown_columns else ""
        yield "ok", f"{sample.key} is as declared: {converted.rows} rows{columns}", ""
        if source.facts.fact == "bill":
            yield _check_tag_keys(settings.run_tag_keys, source, converted)


def _check_tag_keys(keys: list[str], source: SourceSettings, converted: Converted) -> Finding:
    """Whether a configured run tag is on any row of the sample; without it only records and job ids can attribute cost."""
    column, wanted = tag_names(source.kind, keys)
    found: set[str] = set()
    with duckdb.connect() as connection:
        for part in converted.parts:
            names = f"select distinct unnest(map_keys({column})) from read_parquet(?, hive_partitioning = false)"
            found.update(name for (name,) in connection.execute(names, [str(part.path)]).fetchall())
    if tags := sorted(found.intersection(wanted)):
        return "ok", f"run tag {', '.join(tags)} is on rows of the sample", ""
    message = f"no row of the sample carries a run tag ({', '.join(keys)}); tags on it: {', '.join(sorted(found)[:8]) or 'none'}"
    return "warning", message, "Activate the cost-allocation tag in the payer account or set the label, or correct run_tag_keys."
