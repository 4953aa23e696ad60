"""What is remembered of causes: whatever begins, ends, changes its name or crashes, each is sent once and its end once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from dagster_project.alerts import sending, state
from dagster_project.alerts.cause import Cause
from dagster_project.alerts.channels import UnsentError
from dagster_project.alerts.state import Message

KEYS, WAYS = "abcd", ("mail", "webhook")
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # processes die here, not the power: no wait for a disk
START = datetime(2026, 10, 10, tzinfo=UTC)


class Crash(BaseException):
    """The process is gone."""


def a_cause(key: str, **more: Any) -> Cause:
    words = dict.fromkeys(("title", "first", "missing", "remedy", "link"), f"words of {key}")
    return Cause(**{"key": key, "scope": f"scope of {key}", "group": "one group", **words, **more})


class Look:
    """One look, of which the process may die at the effect of a number on the disk or the wire: just before it, or just after."""

    def __init__(self, home: Path, number: int, dies: tuple[int, bool] | None = None) -> None:
        self.home, self.at, self.dies, self.numbers = home, START + timedelta(days=number), dies, count()

    def effect(self, do: Callable[[], object]) -> None:
        number = next(self.numbers)
        if self.dies == (number, False):
            raise Crash
        do()
        if self.dies == (number, True):
            raise Crash

    def settle(self, found: list[Cause], judged: set[str], take: dict[str, Callable[[Message], object] | None]) -> None:
        def channel(way: str) -> Callable[[Message, str], None]:
            def send(message: Message, organisation: str) -> None:
                if not (taken := take[way]):
                    raise UnsentError("it is down")
                self.effect(lambda: taken(message))

            return send

        write = state.write
        with mock.patch.object(state, "write", lambda root, now: self.effect(lambda: write(root, now))):
            ways = {way: channel(way) for way in take}
            sending.settle(self.home, found, judged, ways, "Test AG", self.at, lambda _: None)


# at one look: what is wrong, what can be judged, which ways are down, where the process dies
LOOKS = st.lists(
    st.tuples(
        st.sets(st.sampled_from(KEYS)),
        st.sets(st.sampled_from(KEYS)),
        st.sets(st.sampled_from(WAYS)),
        st.none() | st.tuples(st.integers(0, 5), st.booleans()),
    ),
    max_size=8,
)


@given(LOOKS)
def test_every_cause_that_lasts_is_sent_once_and_its_end_once_and_none_is_lost(looks: list[Any]) -> None:
    arrived: dict[str, list[tuple[str, str, str]]] = {way: [] for way in WAYS}
    lasting, expected, crashes = set[str](), list[tuple[str, str]](), 0

    def taken_by(way: str) -> Callable[[Message], object]:
        return lambda message: arrived[way].extend((message.id, message.kind, one.key) for one in message.causes)

    with TemporaryDirectory(dir=MEMORY) as home:
        for number, (found, judged, down, dies) in enumerate(looks):
            take = {way: None if way in down else taken_by(way) for way in WAYS}
            try:
                Look(Path(home), number, dies).settle(
                    list(map(a_cause, sorted(found))), {f"scope of {key}" for key in judged}, take
                )
            except Crash:
                crashes += 1
                if dies == (0, False):  # nothing was recorded: this look never was
                    continue
            began, over = found - lasting, (lasting - found) & judged
            expected += [*(("ended", key) for key in sorted(over)), *(("begun", key) for key in sorted(began))]
            lasting = lasting - over | began
        Look(Path(home), 99).settle(list(map(a_cause, sorted(lasting))), set(), {way: taken_by(way) for way in WAYS})
        assert not state.unsent(Path(home))
    for messages in arrived.values():
        for key in KEYS:  # in order, nothing lost, nothing that never was
            assert [kind for _, kind, of in dict.fromkeys(messages) if of == key] == [kind for kind, of in expected if of == key]
    repeated = {one[0] for messages in arrived.values() for one, times in Counter(messages).items() if times > 1}
    assert len(repeated) <= crashes  # a crash repeats one message at most


def test_a_run_whose_id_becomes_an_alias_begins_nothing_and_ends_under_its_new_name(tmp_path: Path) -> None:
    taken: list[Message] = []

    def look(number: int, *found: Cause) -> list[tuple[str, str]]:
        taken.clear()
        Look(tmp_path, number).settle(list(found), {"ledger"}, {"mail": taken.append})
        return [(message.kind, one.key) for message in taken for one in message.causes]

    job, adopted = a_cause("budget/job-1", scope="ledger"), a_cause("budget/llm", scope="ledger", also=["budget/job-1"])
    assert look(1, job) == [("begun", "budget/job-1")]
    assert look(2, adopted) == []
    assert look(3, a_cause("budget/llm", scope="ledger")) == []  # also without its aliases
    assert look(4, job) == []  # and back
    assert look(5, job, a_cause("budget/other", scope="ledger")) == [("begun", "budget/other")]
    assert look(6) == [("ended", "budget/job-1"), ("ended", "budget/other")]


def test_what_is_no_news_begins_nothing_but_lasts_and_what_has_no_end_goes_silently(tmp_path: Path) -> None:
    taken: list[Message] = []

    def look(number: int, *found: Cause) -> list[str]:
        taken.clear()
        Look(tmp_path, number).settle(list(found), {"ledger"}, {"mail": taken.append})
        return [message.kind for message in taken]

    old, week = a_cause("a", scope="ledger", is_news=False), a_cause("b", scope="ledger", has_end=False)
    assert look(1, old) == []
    assert look(2, a_cause("a", scope="ledger"), week) == ["begun"]
    assert look(3, old) == []
    assert look(4) == ["ended"]


def test_causes_of_one_group_are_one_message_and_a_way_that_is_no_longer_configured_is_owed_nothing(tmp_path: Path) -> None:
    taken: list[Message] = []
    both = [a_cause("a"), a_cause("b")]
    Look(tmp_path, 1).settle(both, set(), {"mail": taken.append, "webhook": None})
    assert [[one.key for one in message.causes] for message in taken] == [["a", "b"]]
    assert [line.partition(" since")[0] for line in state.unsent(tmp_path)] == ["alerts not sent by webhook: 1,"]
    Look(tmp_path, 2).settle(both, set(), {"mail": taken.append})
    assert not state.unsent(tmp_path) and len(taken) == 1
