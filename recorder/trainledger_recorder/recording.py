"""The recorder's loop: waits for lines, signals, the job's end and finished uploads, and does each little thing when it comes.

It measures nothing and sends nothing itself, so nothing in it takes long. The job goes first: it is started before anything is
asked, its exit code is the recorder's, and no failure of recording ever ends it.
"""

from __future__ import annotations

import select
import selectors
import signal
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from trainledger_recorder import helper_command
from trainledger_recorder.errors import RecordError
from trainledger_recorder.files import write_json
from trainledger_recorder.hosts import Host, host_of
from trainledger_recorder.jobs import Job
from trainledger_recorder.programs import Program
from trainledger_recorder.reducing import ChipReducer, Line, Reducer, wrapped
from trainledger_recorder.run_record import RunFile, fields_of, read_added
from trainledger_recorder.samplers import NEURON_MONITOR, Libtpu, kinds_here, lacking_here, monitor_command, stamped
from trainledger_recorder.signals import Signals
from trainledger_recorder.software import software_here
from trainledger_recorder.spool import Session, trim
from trainledger_recorder.subjects import Ending, Subject
from trainledger_recorder.targets import Options
from trainledger_recorder.times import stamp
from trainledger_recorder.uploads import Uploads
from trainledger_recorder.writing import Writer

_ALIVE = 30.0  # seconds between two signs of life
_UNWATCHED = 1.0  # where the end of the job wakes no wait
_LAST_LINES = 10.0  # for a sampler's last round
# what the ledger reads, and nothing that grows with the processors; a period must be a whole number of seconds
_METRICS = ({"type": "neuroncore_counters"}, {"type": "execution_stats"})
_SYSTEM_METRICS = ({"type": "memory_info"}, {"type": "neuron_hw_counters"})


@dataclass(frozen=True)
class Settings:
    """What a recorder was asked for."""

    target: str
    spool: Path
    options: Options = field(default_factory=Options)
    host: str | None = None
    type_: str | None = None
    chips: int | float | None = None
    only: Sequence[str] | None = None  # None: whatever is here
    period: int = 5
    rotate_seconds: float = 3600.0
    by_day: bool = False
    is_reduced: bool = False  # the documents of neuron-monitor and of libtpu's sampler as minutes
    rotate_bytes: int = 64 << 20
    spool_bytes: int = 1 << 30
    drain_seconds: float = 30.0
    fields: Sequence[str] = ()
    tags: Mapping[str, str] = field(default_factory=dict)
    monitor_config: Path | None = None
    sysfs: Path = Path("/sys")
    added: Path | None = None  # where the job may write fields of the record


class Recorder:
    """One recording, from its start to its last upload. `session` is where its lines wait."""

    def __init__(
        self,
        settings: Settings,
        job: Job,
        session: Session,
        environment: Mapping[str, str],
        now: Callable[[], datetime],
        monotonic: Callable[[], float],
        say: Callable[[str], None],
    ) -> None:
        self._asked, self._job, self._session, self._environment = settings, job, session, environment
        self._now, self._monotonic, self._say = now, monotonic, say
        self._selector = selectors.DefaultSelector()
        self._programs: list[Program] = []
        self._reducers: dict[str, Reducer | ChipReducer] = {}
        if settings.is_reduced:
            self._reducers = {NEURON_MONITOR: Reducer(), Libtpu.kind: ChipReducer(settings.period)}
        self._alive = 0.0
        self._parent = session.folder.parent
        self._uploads = Uploads(self._parent, session.name, settings.target, settings.options, monotonic, say)

    def run(self, subject: Subject, signals: Signals) -> Ending:
        """Record until the subject ends, deliver, and return how it ended."""
        self._selector.register(signals.descriptor, selectors.EVENT_READ)
        if subject.descriptor is not None:
            self._selector.register(subject.descriptor, selectors.EVENT_READ)
        try:
            return self._record(subject, signals)
        except Exception as error:  # whatever it is, the job is worth more than its record
            self._say(f"recording ended, the job goes on: {type(error).__name__}: {error}")
            return _ending_of(subject, signals)
        finally:
            for program in self._programs:
                program.drop()
            self._uploads.drop()
            self._session.release()
            self._selector.close()

    def _record(self, subject: Subject, signals: Signals) -> Ending:
        self._begin(subject)
        while (ending := subject.ended()) is None:
            self._turn(self._pause(_ALIVE if subject.descriptor is not None else _UNWATCHED))
            for number in signals.came():
                subject.take(number)
                self._flush()  # whoever sends a signal may soon send one that cannot be taken
        if subject.descriptor is not None:
            self._selector.unregister(subject.descriptor)
        self._end(ending, signals)
        return ending

    def _begin(self, subject: Subject) -> None:
        asked = self._asked
        self._host = host = host_of(self._environment, asked.host, asked.type_, asked.chips)
        fields, tags = fields_of(asked.fields, software_here(asked.sysfs))
        token = subject.token or self._session.name
        self._file = RunFile(self._job, host, subject.started_at, token, fields, tags | dict(asked.tags))
        most = asked.spool_bytes // 4  # of a day one file, unless it is a quarter of what may wait
        if not asked.by_day:
            most = min(asked.rotate_bytes, most)
        names = self._job.run_id, host.resource_id
        self._writer = Writer(self._session, *names, most, asked.rotate_seconds, self._monotonic, self._say, asked.by_day)
        self._register()
        self._write_record("running")
        kinds = kinds_here(self._environment, asked.sysfs) if asked.only is None else list(asked.only)
        self._programs = list(self._programs_for(kinds, host))
        self._greet(kinds, host)
        self._turn(0.0)  # a job that has ended by now has its samples too

    def _greet(self, kinds: Sequence[str], host: Host) -> None:
        what = ", ".join(kinds) or ("the run record alone" if self._job.run_id else "nothing, as no accelerator is seen here")
        run = f"run {self._job.run_id} on " if self._job.run_id else ""
        self._say(f"{run}{host.resource_id}: {what}; to {self._asked.target}")
        for lacking in lacking_here(kinds) if self._asked.only is None else ():
            self._say(lacking)
        if self._job.run_id and not self._job.is_named:
            self._say("this run has no name, so one was made here; --run gives it the one that its bill has as a tag")
        if not host.is_billed_name and host.provider_name is None:
            self._say("no metadata service names this machine, so bills know it by another name; --host gives it")

    def _programs_for(self, kinds: Sequence[str], host: Host) -> list[Program]:
        found = []
        asked = self._asked
        if NEURON_MONITOR in kinds:
            command = monitor_command(self._environment) or "neuron-monitor"
            arguments = [command, "-c", str(asked.monitor_config or self._monitor_config())]
            found.append(Program("neuron-monitor", arguments, partial(self._wrap, host), self._monotonic, self._say))
        if polled := [kind for kind in kinds if kind != NEURON_MONITOR]:
            labels = {"location": host.region, "accelerator_type": host.accelerator_type}
            settings = {
                "kinds": polled,
                "period": asked.period,
                "host": host.document(),
                "run": self._job.run_id,
                "sysfs": str(asked.sysfs),
                "labels": {name: value for name, value in labels.items() if value},
            }
            arguments = helper_command("sampling", settings)
            options: dict[str, Any] = {"shows_errors": True, "waits_for": (signal.SIGTERM,)}
            found.append(Program("the sampler", arguments, partial(self._take, host), self._monotonic, self._say, **options))
        return found

    def _monitor_config(self) -> Path:
        path = self._session.folder / "neuron-monitor.json"
        runtimes = [{"tag_filter": ".*", "metrics": _METRICS}]
        config = {"period": f"{self._asked.period}s", "neuron_runtimes": runtimes, "system_metrics": _SYSTEM_METRICS}
        self._guarded(lambda: write_json(path, config))
        return path

    def _wrap(self, host: Host, document: bytes) -> None:
        """Write one document of neuron-monitor with its arrival, host and run, or the minutes that are complete by it."""
        if not document.startswith(b"{"):
            return
        moment = self._now()
        head = self._stamped(moment, host)
        reducer = self._reducers.get(NEURON_MONITOR)
        self._write(NEURON_MONITOR, reducer.add(document, head) if reducer else [(moment, wrapped(document, head))])

    def _take(self, host: Host, line: bytes) -> None:
        """Write one line of the sampler, or the minutes that are complete by it."""
        name, _, document = line.partition(b" ")
        kind, moment = name.decode(), self._now()
        reducer = self._reducers.get(kind)
        self._write(kind, reducer.add(document, self._stamped(moment, host)) if reducer else [(moment, document + b"\n")])

    def _write_open_minutes(self) -> None:
        for kind, reducer in self._reducers.items():
            self._write(kind, reducer.rest(self._stamped(self._now(), self._host)))

    def _stamped(self, moment: datetime, host: Host) -> dict[str, Any]:
        return stamped(stamp(moment), host.document(), self._job.run_id)

    def _write(self, kind: str, lines: Iterable[Line]) -> None:
        for moment, line in lines:
            self._writer.write(kind, line, moment)

    def _turn(self, timeout: float) -> None:
        """Wait for what comes next, and do what is due."""
        self._read(timeout)
        for program in self._programs:
            if program.start() and program.descriptor is not None:
                self._selector.register(program.descriptor, selectors.EVENT_READ, program)
        self._writer.finish_old()
        if self._writer.came():
            self._bound()
            self._uploads.ask()
        self._uploads.turn()
        if self._monotonic() - self._alive >= _ALIVE:
            self._alive = self._monotonic()
            self._guarded(self._session.touch)

    def _read(self, timeout: float) -> None:
        """Wait, and take what programs printed; one that has ended is watched no more."""
        for key, _ in self._selector.select(timeout):
            if isinstance(key.data, Program) and not key.data.read():
                self._selector.unregister(key.fileobj)

    def _watched(self) -> list[selectors.SelectorKey]:
        return [key for key in self._selector.get_map().values() if isinstance(key.data, Program)]

    def _pause(self, longest: float) -> float:
        due = (self._uploads.due(), self._writer.due(), *(program.due for program in self._programs))
        return max(0.0, min([longest, *(one - self._monotonic() for one in due if one is not None)]))

    def _bound(self) -> None:
        for one in trim(self._parent, self._asked.spool_bytes):
            self._say(f"dropped {one.key} ({one.size} bytes): the spool is above its {self._asked.spool_bytes} bytes")

    def _flush(self) -> None:
        self._write_open_minutes()
        self._writer.finish_all()
        self._bound()
        self._uploads.ask(now=True)

    def _end(self, ending: Ending, signals: Signals) -> None:
        """Take the last lines, close the record, and deliver as long as that may take."""
        ended_at = self._now()
        for program in self._programs:
            program.stop()
        until = self._monotonic() + _LAST_LINES
        while self._watched() and self._monotonic() < until:
            self._read(until - self._monotonic())
            signals.came()
        for key in self._watched():
            self._selector.unregister(key.fileobj)
        for program in self._programs:
            program.drop()
        self._programs = []
        self._add_fields()
        self._write_record(ending.state, ended_at)
        self._flush()
        self._drain(signals)

    def _register(self) -> None:
        if self._job.run_id and (document := self._file.registration()):
            self._guarded(lambda: self._session.write_registration(self._file.registration_key, document))

    def _write_record(self, state: str, ended_at: datetime | None = None) -> None:
        if self._job.run_id:  # of a machine there is none
            self._guarded(lambda: self._session.write_record(self._file.key, self._file.document(state, ended_at)))

    def _add_fields(self) -> None:
        if self._asked.added and (text := read_added(self._asked.added)):
            try:
                for fault in self._file.add(text):
                    self._say(f"{self._asked.added}: {fault}; the record is written without this field")
            except RecordError as error:
                self._say(f"{self._asked.added}: {error}; the record is written without it")

    def _drain(self, signals: Signals) -> None:
        until = self._monotonic() + self._asked.drain_seconds
        while True:
            self._uploads.turn()
            if self._uploads.is_done or self._monotonic() >= until:
                break
            due = self._uploads.due()
            self._selector.select(max(0.0, min(until, until if due is None else due) - self._monotonic()))
            if signals.came():
                break
        self._uploads.drop()
        if self._session.is_empty():
            self._session.remove()
        else:
            self._say(f"{len(self._session.ready())} files wait in {self._session.folder}; the next recorder delivers them")

    def _guarded(self, write: Callable[[], Any]) -> None:
        """A spool that cannot be written costs the record, never the job."""
        try:
            write()
        except OSError as error:
            self._say(f"the spool cannot be written: {error.strerror}: {error.filename}")


def _ending_of(subject: Subject, signals: Signals) -> Ending:
    """Wait for the subject's end alone."""
    while (ending := subject.ended()) is None:
        select.select([signals.descriptor], [], [], _UNWATCHED)
        for number in signals.came():
            subject.take(number)
    return ending
