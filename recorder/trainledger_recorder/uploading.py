"""Delivers what waits in a spool, in a process of its own: a slow store, or one that hangs, never keeps a sample waiting.

It takes the sessions of dead recorders as well, finishes what they left open and closes their run record. First the run's
registration, whose time in the store is what it is for; then the record, which is small and has the end of the run; then files,
oldest first. The first that fails ends it, so that order stays; whoever started it tries again.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trainledger_recorder.errors import DeliveryError
from trainledger_recorder.files import write_json
from trainledger_recorder.run_record import closed
from trainledger_recorder.spool import Ready, Session, held
from trainledger_recorder.targets import Options, Target, open_target

TRY_AGAIN = 75  # EX_TEMPFAIL
_LEVEL = 6


def deliver_all(parent: Path, own: str | None, target: Target, say: Callable[[str], None]) -> int:
    """Deliver everything that waits and return how many files were; what the store or the disk raises is the caller's."""
    count = 0
    with held(parent, own) as found:
        for session in found:
            if session.name != own:
                _take_over(session, say)
            count += _deliver(session, target)
            if session.name != own and session.is_empty():
                session.remove()
    return count


def _take_over(session: Session, say: Callable[[str], None]) -> None:
    """Finish what a killed recorder left: its open lines, and the end of its run, which is when it was last seen."""
    seen = session.last_seen()
    session.recover()
    if session.record.exists():
        record = json.loads(session.record.read_bytes())
        if document := closed(record["document"], seen):
            session.write_record(record["key"], document)
            say(f"an earlier recorder was killed; it was last seen at {seen:%Y-%m-%d %H:%M:%S} UTC, where its attempt ends now")


def _deliver(session: Session, target: Target) -> int:
    count = 0
    _deliver_registration(session, target)
    while True:
        _deliver_record(session, target)
        waiting = session.ready()
        if not waiting:
            return count
        # all are packed before the first is sent: without a network they wait, and packed they need a twentieth
        packed = [_packed(one) for one in waiting]
        for one in packed:
            if one.path.exists():  # else it was dropped for the bound
                target.deliver(one.path, one.key + one.path.suffix if one.path.suffix == ".gz" else one.key)
                one.path.unlink(missing_ok=True)
                count += 1


def _deliver_registration(session: Session, target: Target) -> None:
    waiting = session.waiting_registration()
    if waiting is None:
        return
    key, document = waiting
    path = session.folder / "registration.upload"
    write_json(path, document)
    target.deliver(path, key)
    session.registration_was_sent()


def _deliver_record(session: Session, target: Target) -> None:
    waiting = session.waiting_record()
    if waiting is None:
        return
    key, document, digest = waiting
    path = session.folder / "record.upload"
    write_json(path, document)
    target.deliver(path, key, replaces=True)
    session.record_was_sent(digest)


def _packed(one: Ready) -> Ready:
    """The file packed, on disk before the plain one goes. A disk too full for that delivers it as it is."""
    if one.path.suffix == ".gz":
        return one
    path = one.path.with_name(f"{one.path.name}.gz")
    beside = path.with_name(f"{path.name}.tmp")
    try:
        with one.path.open("rb") as plain, beside.open("wb") as raw:
            # no time and no name in it: the same lines are the same bytes
            with gzip.GzipFile("", "wb", _LEVEL, raw, mtime=0) as file:
                shutil.copyfileobj(plain, file, 1 << 20)
            raw.flush()
            os.fsync(raw.fileno())
        beside.replace(path)
    except FileNotFoundError:
        return one
    except OSError:
        beside.unlink(missing_ok=True)
        return one
    one.path.unlink(missing_ok=True)
    return Ready(path, one.key, path.stat().st_size)


def deliver(parent: Path, own: str | None, location: str, options: Options, say: Callable[[str], None]) -> int:
    """Deliver everything, and name in one line what kept it from that. Returns an exit code."""
    try:
        count = deliver_all(parent, own, open_target(location, options), say)
    except DeliveryError as error:
        say(str(error))
        return TRY_AGAIN
    except OSError as error:
        say(f"{error.strerror or error}: {error.filename or location}")
        return TRY_AGAIN
    if own is None:
        say(f"{count} files delivered to {location}")
    return 0


def main(text: str) -> int:
    """As a process of its own, whose last line on standard error is what went wrong. `text`: the settings as JSON."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the job and its recorder
    asked: dict[str, Any] = json.loads(text)
    options = Options(**asked["options"])
    return deliver(Path(asked["parent"]), asked["own"], asked["target"], options, lambda line: print(line, file=sys.stderr))
