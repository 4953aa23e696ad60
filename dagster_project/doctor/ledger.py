"""What the models of the ledger make of the files that were read: built in a folder that goes, by the statements of a build.

Only models that the answers need are built, and no test is asked: what a row costs, whose it is and which samples meet a run is
decided where a refresh decides it. A delivery that was read in part gives shares of that part.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagster_project.base import clock
from dagster_project.base.kinds import KINDS, Fact, Kind, built_kinds
from dagster_project.base.months import first_day
from dagster_project.doctor.reading import Reading
from dagster_project.election.election import elect
from dagster_project.election.months import payer_months
from dagster_project.warehouse import builds, runner, statements
from dagster_project.warehouse.building import opened
from dagster_project.warehouse.modelling import ModelsError
from dagster_project.warehouse.raw import create_raw

if TYPE_CHECKING:
    import duckdb

    from dagster_project.warehouse.home import Home
    from dagster_project.warehouse.statements import Statement

QUESTIONS, LINES = (Path(__file__).with_name(name).read_text("utf-8") for name in ("questions.sql", "lines_and_held.sql"))
NAMED = dict(re.findall(r"^-- name: (\w+)\n(.*?)(?=^--|\Z)", QUESTIONS, re.MULTILINE | re.DOTALL))
# the tables that they read: only these are built
ASKED = set(re.findall(r"\b(?:staging|intermediate|marts|seeds)\.\w+", QUESTIONS + LINES))


def kind_of(fact: Fact, provider: str) -> Kind:
    """The kind of source that has a fact of a provider."""
    return next(kind for kind in built_kinds() if KINDS[kind].fact == fact and KINDS[kind].provider_name == provider)


@contextmanager
def built(elsewhere: Home, every: Iterable[Statement]) -> Iterator[Ledger]:
    """What the answers need of what was landed elsewhere, as tables; `every` statement of a build is given."""
    election = elect(elsewhere.sources, elsewhere.landing, contents_of=elsewhere.landing.contents)  # nothing is judged
    elsewhere.landing.end_engine()
    billed = {one.usage_month for one in payer_months(election) if one.is_bill_landed}
    sampled = {month for one in election.of_fact("telemetry") for month in one.contents.controls.sample_months}
    months = [first_day(month) for month in sorted(billed | sampled)]
    build = builds.Build("doctor", clock.now().isoformat(), "", "", {}, [month.isoformat() for month in months], is_full=True)
    with opened(elsewhere.site) as connection:
        create_raw(connection, elsewhere.rules, elsewhere.landing, election, months)
        for node in runner.run(statements.needed(every, ASKED), build, connection):
            if not node.is_sound:
                raise ModelsError(f"{node.name}: {node.detail}", remedy="The answers need it; report it with this message.")
        connection.execute(LINES)
        yield Ledger(connection)


@dataclass(frozen=True, slots=True)
class Ledger:
    """The tables of the models, with `lines` and `held` of lines_and_held.sql."""

    connection: duckdb.DuckDBPyConnection

    def ask(self, sql: str, **given: Any) -> list[tuple[Any, ...]]:
        """The rows of a query; `$name` in it is a given value."""
        return self.connection.execute(sql, given or None).fetchall()

    def rows(self, question: str, **given: Any) -> list[tuple[Any, ...]]:
        """The rows that answer a question of questions.sql."""
        return self.ask(NAMED[question], **given)

    def row(self, question: str, **given: Any) -> tuple[Any, ...]:
        """The only row that answers a question."""
        (row,) = self.rows(question, **given)
        return row

    def month(self, bill: Reading) -> str:
        """The newest month of a bill in which something was used; that of its partition where nothing was read."""
        (month,) = self.row("month_of_bill", source=bill.source.name)
        return f"{month:%Y-%m}" if month else bill.newest
