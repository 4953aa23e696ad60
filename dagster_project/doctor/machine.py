"""Whether this machine can hold a home: folders that may be written, a local disk, room. Nothing is written to find out."""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from connectors.errors import ConnectorError
from connectors.stores.opening import open_bucket
from dagster_project.doctor.checks import Check, Outcome

LITTLE_SPACE = 10 << 30
SPACE_NEEDED = "A landing needs about the size of its exports, a build about a tenth of it."
NETWORK_DISKS = re.compile(r"nfs|cifs|smb|sshfs|s3fs|gcsfuse|goofys|9p|afs|ceph|gluster|lustre|beegfs")


def check_machine(home: Path, landing: str) -> Iterator[Check]:
    """Home, landing and disk."""
    place = _nearest(home)
    if not _may_write(place):
        yield _not_writable("home", place)
        return
    disk = _file_system(place)
    if disk and NETWORK_DISKS.search(disk):
        message = f"{home} is on a network disk ({disk}), where locks and renames are not safe"
        yield Check("home", "problem", message, "Use a local disk.", question="home")
    else:
        message = f"{home} is writable{f' and on a local disk ({disk})' if disk else ''}"
        yield Check("home", "ok", message, question="home", facts={"folder": str(home), "disk": disk})
    yield _check_landing(landing)
    free = shutil.disk_usage(place).free
    outcome: Outcome = "warning" if free < LITTLE_SPACE else "ok"
    remedy, facts = SPACE_NEEDED if outcome == "warning" else "", {"free_bytes": free}
    yield Check("disk space", outcome, f"{free / (1 << 30):.1f} GB are free", remedy, question="disk_space", facts=facts)


def _check_landing(landing: str) -> Check:
    facts = {"location": landing}
    if "://" in landing:
        try:
            next(iter(open_bucket(landing).list_objects()), None)
        except ConnectorError as error:
            return Check("landing", "problem", error.message, error.remedy, question="landing", facts=facts)
        message = f"{landing} can be listed; writing is tried by the first refresh only"
        return Check("landing", "ok", message, question="landing", facts=facts)
    place = _nearest(Path(landing))
    if not _may_write(place):
        return _not_writable("landing", place)
    return Check("landing", "ok", f"{landing} is writable", question="landing", facts=facts)


def _nearest(folder: Path) -> Path:
    """The folder itself, or the first above it that is there."""
    return next(place for place in (folder, *folder.parents) if place.exists())


def _may_write(place: Path) -> bool:
    return place.is_dir() and os.access(place, os.W_OK | os.X_OK)


def _not_writable(about: str, place: Path) -> Check:
    message = f"{place} is not a folder this user may write"
    remedy = f"Give another {about} or its permission."
    return Check(about, "problem", message, remedy, question=about, facts={"folder": str(place)})


def _file_system(place: Path) -> str | None:
    """Type of the file system a folder is on, where the system shows."""
    mounts = Path("/proc/self/mounts")
    if not mounts.exists():
        return None
    types = {point: kind for _, point, kind, *_ in map(str.split, mounts.read_text().splitlines())}
    above = [point for point in types if place.resolve().is_relative_to(point)]
    return types[max(above, key=len)] if above else None
