"""`alerts.json` of a home: which causes were reported and last, and which messages wait to be sent. How one look changes it.

A message is recorded before it is sent and crossed off after, so a crash repeats one at most and loses none. Nothing is sent or
found out here. `trainledger status` reads it too, so it stays light.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from hashlib import sha256
from pathlib import Path
from typing import Literal

import msgspec

from dagster_project.alerts.cause import Cause
from dagster_project.base import durable

NAME = "alerts.json"
Kind = Literal["begun", "ended"]


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """Causes of one group that began, or ended, at one look; `owed` are the channels that have not taken it yet."""

    id: str
    kind: Kind
    at: str
    causes: list[Cause]
    owed: list[str]


class State(msgspec.Struct, frozen=True, kw_only=True):
    """What is remembered between two looks."""

    lasting: dict[str, Cause] = {}
    waiting: list[Message] = []  # the oldest first
    refused: dict[str, str] = {}  # channel -> why it took no message the last time
    count: int = 0  # of messages there ever were


def read(home: Path) -> State:
    """The state of a home; an empty one where nothing was reported yet."""
    path = home / NAME
    return msgspec.json.decode(path.read_bytes(), type=State) if path.exists() else State()


def write(home: Path, state: State) -> None:
    """Keep the state, on disk when this returns."""
    home.mkdir(0o711, parents=True, exist_ok=True)
    durable.write(home / NAME, msgspec.json.format(msgspec.json.encode(state), indent=1), 0o600)


def advance(state: State, found: Iterable[Cause], judged: Collection[str], channels: Collection[str], at: str) -> State:
    """The state after a look that found these causes; one in a scope that was not judged lasts.

    A cause is known by its key and by every other key of it, so a run that is published under an alias is the same.
    """
    known = {name: key for key, one in state.lasting.items() for name in (key, *one.also)}
    lasting, begun, again = dict[str, Cause](), list[Cause](), set[str]()
    for cause in found:
        names = (cause.key, *cause.also)
        old = next((known[name] for name in names if name in known), None)
        if cause.key in lasting or (old is None and not cause.is_news):
            continue
        if old is None:
            begun.append(cause)
        elif old in state.lasting and old not in again:
            again.add(old)
            cause = msgspec.structs.replace(cause, also=sorted({*cause.also, old, *state.lasting[old].also} - {cause.key}))
        lasting[cause.key] = cause
        known |= dict.fromkeys(names, cause.key) if old is None else {}
    gone = {key: cause for key, cause in state.lasting.items() if key not in again}
    lasting |= {key: cause for key, cause in gone.items() if cause.scope not in judged and key not in lasting}
    ended = [cause for key, cause in gone.items() if cause.scope in judged and cause.has_end and key not in lasting]
    news: list[Message] = []
    by_kind: dict[Kind, list[Cause]] = {"ended": ended, "begun": begun}
    for kind, causes in by_kind.items():
        groups: dict[str, list[Cause]] = {}
        for cause in causes:
            groups.setdefault(cause.group, []).append(cause)
        for group in groups.values():
            made_of = f"{state.count + len(news)} {at} {kind} {[one.key for one in group]}"
            number = sha256(made_of.encode()).hexdigest()[:24]
            news.append(Message(id=number, kind=kind, at=at, causes=group, owed=[*channels]))
    waiting = [msgspec.structs.replace(one, owed=[name for name in one.owed if name in channels]) for one in state.waiting]
    return State(
        lasting=lasting,
        waiting=[one for one in (*waiting, *news) if one.owed],
        refused={name: why for name, why in state.refused.items() if name in channels},
        count=state.count + len(news),
    )


def sent(state: State, message: Message, channel: str) -> State:
    """The state once a channel took a message."""
    waiting = [
        msgspec.structs.replace(one, owed=[name for name in one.owed if name != channel]) if one.id == message.id else one
        for one in state.waiting
    ]
    refused = {name: why for name, why in state.refused.items() if name != channel}
    return msgspec.structs.replace(state, waiting=[one for one in waiting if one.owed], refused=refused)


def not_sent(state: State, channel: str, why: str) -> State:
    """The state once a channel took no message."""
    return msgspec.structs.replace(state, refused={**state.refused, channel: why})


def unsent(home: Path) -> list[str]:
    """A sentence for each channel with messages that wait."""
    state = read(home)
    found: dict[str, list[Message]] = {}
    for message in state.waiting:
        for channel in message.owed:
            found.setdefault(channel, []).append(message)
    return [
        f"alerts not sent by {channel}: {len(waiting)}, since {waiting[0].at}: {state.refused.get(channel, 'not tried yet')}."
        " The next refresh tries again."
        for channel, waiting in found.items()
    ]
