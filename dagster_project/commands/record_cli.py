"""`trainledger record`: its options, and the recorder they make. As in cli.py, whatever is heavy is imported inside."""

import os
import re
import socket
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from dagster_project.commands.endings import guarded, say
from dagster_project.commands.options import Debug
from dagster_project.failures import UsageError

if TYPE_CHECKING:
    from dagster_project.recorder.recording import Settings
    from dagster_project.recorder.spool import Session

KINDS = ("neuron_monitor", "neuron_power", "gpu_monitoring", "tpu_monitoring")
_SIZES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}
_ADDED = "TRAINLEDGER_RECORD_FILE"


@guarded
def record(
    to: Annotated[str, typer.Option("--to", envvar="TRAINLEDGER_TO", help="s3://bucket/prefix, gs://bucket/prefix or a folder.")],
    command: Annotated[list[str] | None, typer.Argument(metavar="[-- COMMAND]", help="What to start and record.")] = None,
    pid: Annotated[int | None, typer.Option("--pid", min=1, help="Record beside this process, until it ends.")] = None,
    run: Annotated[str | None, typer.Option("--run", help="The run's id; default: what the job's scheduler calls it.")] = None,
    attempt: Annotated[str | None, typer.Option("--attempt", help="The attempt's id; default: as the scheduler counts.")] = None,
    host: Annotated[
        str | None, typer.Option("--host", help="The bill's id of this machine; default: its metadata service.")
    ] = None,
    type_: Annotated[str | None, typer.Option("--type", help="Type of its accelerators, as trn1.32xlarge or v6e.")] = None,
    chips: Annotated[int | None, typer.Option("--chips", min=0, help="Chips held here; default: those that are seen.")] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", metavar="KEY=VALUE", help="A tag of the run; repeatable.")] = None,
    fields: Annotated[
        list[str] | None,
        typer.Option("--record", metavar="FIELD=VALUE", help="A field of the run record, as tokens=1e12; repeatable."),
    ] = None,
    only: Annotated[list[str] | None, typer.Option("--only", metavar="KIND", help=f"{', '.join(KINDS)}; repeatable.")] = None,
    record_only: Annotated[bool, typer.Option("--record-only", help="Only the run record: another recorder samples.")] = False,
    period: Annotated[int, typer.Option("--period", min=1, help="Seconds between two samples.")] = 5,
    rotate: Annotated[str, typer.Option("--rotate", help="Deliver lines after this time: 15m, 1h.")] = "1h",
    spool: Annotated[Path | None, typer.Option("--spool", help="Where lines wait; default: below /var/tmp.")] = None,
    spool_limit: Annotated[str, typer.Option("--spool-limit", help="What may wait; above it the oldest is dropped.")] = "1GB",
    drain: Annotated[float, typer.Option("--drain", min=0, help="Seconds for the last upload when the job has ended.")] = 30.0,
    flush: Annotated[bool, typer.Option("--flush", help="Only deliver what earlier recorders left, and end.")] = False,
    monitor_config: Annotated[
        Path | None, typer.Option("--neuron-monitor-config", exists=True, help="Your configuration of neuron-monitor.")
    ] = None,
    sysfs: Annotated[Path, typer.Option("--sysfs", help="The machine's /sys, as /host/sys in a container.")] = Path("/sys"),
    endpoint_url: Annotated[str | None, typer.Option("--endpoint-url", help="Another endpoint of the store.")] = None,
    role_arn: Annotated[str | None, typer.Option("--role-arn", help="S3: a role to deliver as.")] = None,
    external_id: Annotated[str | None, typer.Option("--external-id", help="S3: the external id of its trust policy.")] = None,
    impersonate: Annotated[str | None, typer.Option("--impersonate", help="Cloud Storage: a service account.")] = None,
    debug: Debug = False,
) -> int:
    """Record a training run: what its chips do, on which machine, from when to when. Ends with the command and its exit code.

    Beside a job that runs already: --pid. With neither, until SIGTERM or Ctrl-C: a sidecar, or with no run named a machine's.

    Example: trainledger record --to s3://ml-bucket/recorded --run llama-8b -- torchrun train.py
    """
    from connectors.stores import StoreOptions
    from dagster_project.recorder.recording import Settings
    from dagster_project.recorder.run_record import fields_of, tags_of
    from dagster_project.recorder.spool import default_spool, target_folder
    from dagster_project.recorder.targets import checked_target

    options = StoreOptions(
        source="record", role_arn=role_arn, external_id=external_id, endpoint_url=endpoint_url, impersonate=impersonate
    )
    settings = Settings(
        target=checked_target(to),
        spool=(spool or default_spool()).absolute(),
        options=options,
        host=host,
        type_=type_,
        chips=chips,
        only=() if record_only else _kinds(only) if only else None,
        period=period,
        rotate_seconds=_amount(rotate, _SECONDS, "--rotate"),
        spool_bytes=int(_amount(spool_limit, _SIZES, "--spool-limit")),
        drain_seconds=drain,
        fields=tuple(fields or ()),
        tags=tags_of(tag or []),
        monitor_config=monitor_config,
        sysfs=sysfs,
    )
    fields_of(settings.fields, {})  # a wrong one is said before the job starts
    if pid is not None and command:
        raise UsageError("record was told to start a command and to record beside another process", remedy="Give one of them.")
    if flush:
        from dagster_project.recorder.uploading import deliver

        return deliver(target_folder(settings.spool, settings.target), None, settings.target, options, _tell)
    return _record(settings, command or [], pid, run, attempt)


def _record(settings: "Settings", command: list[str], pid: int | None, run: str | None, attempt: str | None) -> int:
    from dataclasses import replace

    from dagster_project.clock import now
    from dagster_project.recorder.jobs import job_of
    from dagster_project.recorder.recording import Recorder
    from dagster_project.recorder.signals import Signals
    from dagster_project.recorder.subjects import Command, Machine, Process, Subject

    # whatever runs on a machine is not one run: without a name its lines are found by host and time
    made = f"{socket.gethostname()}-{now():%Y%m%dT%H%M%SZ}" if command or pid is not None else None
    job = job_of(os.environ, run, attempt, made)
    session = _session(settings, command)
    with Signals() as signals:
        subject: Subject
        if command:
            settings = replace(settings, added=session.folder / "added.json")
            try:
                subject = Command(command, {**os.environ, _ADDED: str(settings.added)}, now())
            except OSError as error:
                session.remove()
                _cannot_start(command, error)
        elif pid is not None:
            try:
                subject = Process(pid, now())
            except ProcessLookupError:
                session.remove()
                raise UsageError(f"there is no process {pid}", remedy="Give --pid the number of a running process.") from None
        else:
            subject = Machine(now())
        ending = Recorder(settings, job, session, os.environ, now, time.monotonic, _tell).run(subject, signals)
    return ending.exit_code


def _session(settings: "Settings", command: list[str]) -> "Session":
    """Where lines wait. Where there can be none, the command still runs, in this process's place."""
    from dagster_project.clock import now
    from dagster_project.recorder.spool import Session, target_folder

    try:
        return Session.begin(target_folder(settings.spool, settings.target), now())
    except (OSError, UsageError) as error:
        if not command:
            raise
        _tell(f"nothing is recorded, as there is no spool: {error}")
        try:
            os.execvp(command[0], command)
        except OSError as failed:
            _cannot_start(command, failed)


def _cannot_start(command: list[str], error: OSError) -> NoReturn:
    from dagster_project.recorder.subjects import NOT_EXECUTABLE, NOT_FOUND

    _tell(f"{command[0]} cannot be started: {error.strerror}")
    raise typer.Exit(NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE)


def _tell(text: str) -> None:
    try:
        say(f"trainledger record: {text}")
    except (OSError, ValueError):  # whoever read standard error is gone; the job is not
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115


def _kinds(names: list[str]) -> tuple[str, ...]:
    if unknown := [name for name in names if name not in KINDS]:
        raise UsageError(f"--only {unknown[0]} is nothing that can be recorded", remedy=f"It knows {', '.join(KINDS)}.")
    return tuple(dict.fromkeys(names))


def _amount(text: str, units: dict[str, int], option: str) -> float:
    """A number with a unit: 15m, 500MB."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]?)b?", text.strip().lower(), re.ASCII)
    amount = float(found[1]) * units[found[2]] if found and found[2] in units else 0.0
    if amount <= 0:
        raise UsageError(f"{option} {text} is no amount", remedy="Write it as 15m or 1h, a size as 500MB or 1GB.")
    return amount
