"""The command `trainledger-recorder`, which `trainledger record` is as well: its options, and the recorder they make."""

from __future__ import annotations

import argparse
import os
import re
import socket
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path

from trainledger_recorder import NAME, line_for_people
from trainledger_recorder.errors import UsageError
from trainledger_recorder.jobs import job_of
from trainledger_recorder.recording import Recorder, Settings
from trainledger_recorder.run_record import MOST_CHIPS, chips_of, faults_of, tags_of
from trainledger_recorder.signals import Signals
from trainledger_recorder.spool import Session, default_spool, target_folder
from trainledger_recorder.subjects import NOT_EXECUTABLE, NOT_FOUND, Command, Process, Subject
from trainledger_recorder.targets import Options, checked_target
from trainledger_recorder.times import now
from trainledger_recorder.uploading import deliver

KINDS = ("neuron_monitor", "neuron_power", "gpu_monitoring", "tpu_monitoring")
USAGE, BUG = 2, 70
_SIZES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
_HOUR, _DAY = 3600.0, 86_400.0
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}
_ADDED = "TRAINLEDGER_RECORD_FILE"
_ABOUT = """Record a training run: what its chips do, on which machine, from when to when. Ends with the command and its exit
code. Beside a job that runs already: --pid. With neither, until SIGTERM or Ctrl-C: a sidecar, or without a run a machine's."""


def main(arguments: Sequence[str] | None = None, program: str = NAME) -> int:
    """Run the command and return its exit code."""
    asked = _parser(program).parse_args(arguments)
    # whatever comes after the first word of the job's command belongs to the job
    command = asked.command[1:] if asked.command[:1] == ["--"] else asked.command
    try:
        return _run(asked, command)
    except UsageError as error:
        _tell(str(error))
        return USAGE
    except Exception as error:
        if asked.debug:
            raise
        if isinstance(error, OSError):  # a spool that cannot be, where there is no command to run without it
            _tell(f"this machine cannot go on: {error}. Give the rights or the room that are missing, or another --spool.")
            return USAGE
        _tell(f"this is a bug: {type(error).__name__}: {error}. Run the command again with --debug and report the traceback.")
        return BUG


def _parser(program: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=program,
        usage=f"{program} --to LOCATION [OPTIONS] [-- COMMAND ...]",
        description=_ABOUT,
        epilog=f"Example: {program} --to s3://ml-bucket/recorded --run llama-8b -- torchrun train.py",
        allow_abbrev=False,
    )
    add, to = parser.add_argument, os.environ.get("TRAINLEDGER_TO") or None
    add("--to", default=to, required=to is None, help="s3://bucket/prefix, gs://bucket/prefix or a folder ($TRAINLEDGER_TO)")
    add("command", nargs=argparse.REMAINDER, help="what to start and record")
    add("--pid", type=_at_least(1, int), help="record beside this process, until it ends")
    add("--run", help="the run's id; default: what the job's scheduler calls it")
    add("--attempt", help="the attempt's id; default: as the scheduler counts")
    add("--host", help="the bill's id of this machine; default: its metadata service")
    add("--type", dest="type_", metavar="TYPE", help="type of its accelerators, as trn1.32xlarge or v6e")
    add("--chips", metavar="N", help="chips held here, 0.5 of one that is shared; default: those that are seen")
    add("--tag", dest="tags", action="append", default=[], metavar="KEY=VALUE", help="a tag of the run; repeatable")
    record = "a field of the run record, as tokens=1e12; repeatable"
    add("--record", dest="fields", action="append", default=[], metavar="FIELD=VALUE", help=record)
    add("--only", action="append", choices=KINDS, metavar="KIND", help=f"{', '.join(KINDS)}; repeatable")
    add("--record-only", action="store_true", help="only the run record: another recorder samples")
    add("--period", type=_at_least(1, int), default=5, help="seconds between two samples")
    add("--rotate", type=_amount(_SECONDS), help="deliver lines after this time: 15m; default: 1h, with --by-day 24h")
    add("--reduce", choices=["60s"], help="use of Neuron devices and TPU chips as a line per device and minute; default: all")
    add("--by-day", action="store_true", help="lines of one day (UTC) in one object, below day=YYYY-MM-DD/")
    add("--spool", type=Path, help="where lines wait; default: below /var/tmp")
    add("--spool-limit", type=_amount(_SIZES), default="1GB", help="what may wait; above it the oldest is dropped")
    add("--drain", type=_at_least(0, float), default=30.0, help="seconds for the last upload when the job has ended")
    add("--flush", action="store_true", help="only deliver what earlier recorders left, and end")
    add("--neuron-monitor-config", type=_existing, metavar="FILE", help="your configuration of neuron-monitor")
    add("--sysfs", type=Path, default=Path("/sys"), help="the machine's /sys, as /host/sys in a container")
    add("--endpoint-url", help="another endpoint of the store")
    add("--role-arn", help="S3: a role to deliver as")
    add("--external-id", help="S3: the external id of its trust policy")
    add("--impersonate", help="Cloud Storage: a service account")
    add("--debug", action="store_true", default=bool(os.environ.get("TRAINLEDGER_DEBUG")), help="show an error's traceback")
    add("--version", action="version", version=f"{program} {_version()}")
    return parser


def _run(asked: argparse.Namespace, command: list[str]) -> int:
    settings = Settings(
        target=checked_target(asked.to),
        spool=(asked.spool or default_spool()).absolute(),
        options=Options(asked.role_arn, asked.external_id, asked.endpoint_url, asked.impersonate),
        host=asked.host,
        type_=asked.type_,
        chips=chips_of(asked.chips),
        only=() if asked.record_only else tuple(dict.fromkeys(asked.only)) if asked.only else None,
        period=asked.period,
        rotate_seconds=asked.rotate or (_DAY if asked.by_day else _HOUR),
        by_day=asked.by_day,
        is_reduced=asked.reduce is not None,
        spool_bytes=int(asked.spool_limit),
        drain_seconds=asked.drain,
        fields=tuple(asked.fields),
        tags=tags_of(asked.tags),
        monitor_config=asked.neuron_monitor_config,
        sysfs=asked.sysfs,
    )
    faults = faults_of(asked.fields, asked.tags)
    if asked.chips is not None and settings.chips is None:
        faults.append(f"--chips {asked.chips[:80]} is no number of chips, which is 0 to {MOST_CHIPS} and may be a part, as 0.5")
    for fault in faults:  # a job is worth more than a field of its record
        _tell(f"{fault}; the record is written without it")
    if asked.pid is not None and command:
        raise UsageError("a command is to be started and another process is to be watched", "Give a command or --pid.")
    if asked.flush:
        return deliver(target_folder(settings.spool, settings.target), None, settings.target, settings.options, _tell)
    return _record(settings, command, asked)


def _record(settings: Settings, command: list[str], asked: argparse.Namespace) -> int:
    # whatever runs on a machine is not one run: without a name its lines are found by host and time
    made = f"{socket.gethostname()}-{now():%Y%m%dT%H%M%SZ}" if command or asked.pid is not None else None
    try:
        job = job_of(os.environ, asked.run, asked.attempt, made)
        session = Session.begin(target_folder(settings.spool, settings.target), now())
    except Exception as error:  # a name from the environment that is none, no spool, or a bug: the job runs all the same
        if not command:
            raise
        _tell(f"nothing is recorded: {error}")
        return _run_alone(command)
    with Signals() as signals:
        subject: Subject
        if command:
            settings = replace(settings, added=session.folder / "added.json")
            try:
                subject = Command(command, {**os.environ, _ADDED: str(settings.added)}, now())
            except OSError as error:
                session.remove()
                return _not_started(command, error)
        elif asked.pid is not None:
            try:
                subject = Process(asked.pid, now())
            except ProcessLookupError:
                session.remove()
                raise UsageError(f"there is no process {asked.pid}", "Give --pid the number of a running process.") from None
        else:
            subject = Subject(now())
        ending = Recorder(settings, job, session, os.environ, now, time.monotonic, _tell).run(subject, signals)
    return ending.exit_code


def _run_alone(command: list[str]) -> int:
    """Run the command in this process's place: what cannot be recorded runs all the same."""
    try:
        os.execvp(command[0], command)
    except OSError as error:
        return _not_started(command, error)


def _not_started(command: list[str], error: OSError) -> int:
    _tell(f"{command[0]} cannot be started: {error.strerror}")
    return NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE


def _tell(text: str) -> None:
    try:
        sys.stderr.write(f"{line_for_people(text)}\n")  # in one piece, so that a signal ends no half line
        sys.stderr.flush()
    except (OSError, ValueError):  # the reader of standard error is gone; the job is not
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115


def _version() -> str:
    """Of the package that brought this module: its own, or trainledger's."""
    for name in (NAME, "trainledger"):
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return "of a checkout"


def _at_least(least: int, number: type[int] | type[float]) -> Callable[[str], float]:
    def read(text: str) -> float:
        value = number(text)
        if not value >= least:
            raise argparse.ArgumentTypeError(f"{text} is below {least}")
        return value

    read.__name__ = "number"  # as argparse names it for what is none
    return read


def _amount(units: dict[str, int]) -> Callable[[str], float]:
    """A number with a unit: 15m, 500MB."""

    def read(text: str) -> float:
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]?)b?", text.strip().lower(), re.ASCII)
        amount = float(found[1]) * units[found[2]] if found and found[2] in units else 0.0
        if amount <= 0:
            raise argparse.ArgumentTypeError(f"{text} is no amount. Write it as 15m or 1h, a size as 500MB or 1GB.")
        return amount

    return read


def _existing(text: str) -> Path:
    if not Path(text).is_file():
        raise argparse.ArgumentTypeError(f"there is no file {text}")
    return Path(text)
