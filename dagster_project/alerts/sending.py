"""The end of every run: what is wrong is compared with what was reported, and the difference is sent.

Nothing that goes wrong here fails a run: it is one line, and what was not sent waits in the home for the next run. Two processes
never send at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path

from filelock import FileLock

from dagster_project.alerts import causes, ledger, state
from dagster_project.alerts.cause import Cause
from dagster_project.alerts.channels import Channel, UnsentError, channels_of
from dagster_project.alerts.state import State
from dagster_project.alerts.watched_run import Say, Watched
from dagster_project.base import clock, modes
from dagster_project.settings.alerts import Alerts
from dagster_project.warehouse.home import Home

REFRESH = "refresh"  # the job of the line
LOCK = ".alerts.lock"
LOCK_WAIT = 60.0  # seconds; another process is sending


def send_alerts(home: Home, alerts: Alerts, run: Watched, say: Say) -> None:
    """Send what begins and ends with a run, and what earlier ones could not send."""
    try:
        home.root.mkdir(0o711, parents=True, exist_ok=True)
        with FileLock(home.root / LOCK, timeout=LOCK_WAIT, mode=modes.OWNER):
            at = clock.now()
            found, judged = find(home, alerts, run, at, say)
            settle(home.root, found, judged, channels_of(alerts, home.settings.base), home.settings.organisation.name, at, say)
    except Exception as error:
        say(f"Alerts were not sent ({type(error).__name__}: {error}). The run and what it published are not affected.")


def find(home: Home, alerts: Alerts, run: Watched, at: datetime, say: Say) -> tuple[list[Cause], set[str]]:
    """What is wrong at the end of a run, and the scopes that were judged whole; a part that cannot be asked is not."""
    settings, broken = home.settings, {problem.source for problem in run.problems}
    found = [*causes.of_sources(settings, run), *causes.of_run(settings, run)]
    judged = {f"source/{source}" for source in run.looked}
    if run.is_done or run.failed:
        judged.add(f"run/{run.job}")
    if run.job == REFRESH and (run.is_done or (run.failed and run.failed.gates)):
        judged.add(causes.GATES)
        found += causes.of_reports(settings, (home.site.publication() or {}).get("absent", {}))
    parts: dict[str, Callable[[], Iterable[Cause]]] = {
        causes.LATE: lambda: causes.of_lateness(home, at, broken),
        causes.HOME: lambda: causes.of_disk(home, alerts),
        ledger.LEDGER: lambda: ledger.of_ledger(home, alerts, at),
    }
    for scope, ask in parts.items():
        try:
            found += ask()
            judged.add(scope)
        except Exception as error:
            say(f"Alerts of the {scope} could not be decided ({type(error).__name__}: {error}). The next run tries again.")
    return found, judged


def settle(
    root: Path, found: list[Cause], judged: set[str], channels: Mapping[str, Channel], organisation: str, at: datetime, say: Say
) -> None:
    """Record what began and what is over, then send what waits, the oldest first. A server that is down is asked once."""

    def keep(now: State) -> State:
        if now != kept[-1]:
            kept.append(now)
            try:
                state.write(root, now)
            except OSError as error:  # a full disk is worth a message, even one that may come again
                say(f"What was sent cannot be recorded ({error.strerror}), so it may be sent again.")
        return now

    kept, down = [state.read(root)], set[str]()
    now = keep(state.advance(kept[0], found, judged, channels, f"{at:%Y-%m-%dT%H:%M:%SZ}"))
    for message in now.waiting:
        for name in message.owed:
            if name in down:
                continue
            try:
                channels[name](message, organisation)
            except UnsentError as error:
                if error.is_down:
                    down.add(name)
                if name not in now.refused:
                    say(f"An alert could not be sent by {name}: {error}. It waits; `trainledger status` names it.")
                now = keep(state.not_sent(now, name, str(error)))
            else:
                now = keep(state.sent(now, message, name))
