"""MLPerf's log lines: `:::MLLOG {...}`, with a rank such as `0: ` before it or none. What a key means is not known here.

Other lines of a job stand between them and are passed over. Submitters write metadata and values that are absent as null, as
"null" and as the empty text.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec

from connectors.formats.text_lines import TextFile
from connectors.stores import READ_LIMIT

_MARK = b":::MLLOG"


@dataclass(frozen=True, slots=True)
class Event:
    """One line. Times are milliseconds since 1970."""

    line: int
    time_ms: int
    key: str
    value: Any
    metadata: dict[str, Any]

    @property
    def number(self) -> Fraction | None:
        """The value as the decimal that is written there: 0.94 is 47/50, as it is for whoever reads the log."""
        return number_of(self.value)


class _Line(msgspec.Struct):
    time_ms: int
    key: str
    value: Any = None
    metadata: Any = None


_DECODER = msgspec.json.Decoder(_Line)


@dataclass(frozen=True, slots=True)
class Log:
    """The events of one file in its order, and the lines marked as one that cannot be read."""

    events: tuple[Event, ...]
    broken: tuple[int, ...] = ()

    @classmethod
    def read(cls, file: TextFile) -> Log:
        """Read a file; a cut or hostile one is an ExportContentError."""
        events, broken = list[Event](), list[int]()
        for number, line in file.lines():
            mark = line.find(_MARK)
            if mark < 0:
                continue
            try:
                found = _DECODER.decode(line[mark + len(_MARK) :])
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                broken.append(number)
                continue
            metadata = found.metadata if isinstance(found.metadata, dict) else {}
            value = None if found.value in ("null", "") else found.value
            events.append(Event(number, found.time_ms, found.key, value, metadata))
        return cls(tuple(events), tuple(broken))

    def first(self, key: str) -> Event | None:
        """The first event of a key."""
        return next((event for event in self.events if event.key == key), None)


def number_of(value: Any) -> Fraction | None:
    """A number exactly as it is written; None for what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or abs(value) == float("inf"):
        return None
    return Fraction(str(value))


def read_system(path: Path) -> dict[str, Any]:
    """The description of a system, systems/<name>.json; nothing where it is no JSON object."""
    if path.stat().st_size > READ_LIMIT:
        return {}
    try:
        found = msgspec.json.decode(path.read_bytes())
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def count_of(system: dict[str, Any], name: str) -> int | None:
    """A number of a system's description, which submitters write as text; None where there is none."""
    text = str(system.get(name, "")).strip()
    return int(text) if text.isascii() and text.isdigit() and 0 < len(text) < 7 else None
