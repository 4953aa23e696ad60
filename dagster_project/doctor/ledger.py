"""What the models of the ledger make of the files that were read: built in a folder that goes, by the statements of a build.

Only models that the answers need are built, and no test is asked: what a row costs, whose it is and which samples meet a run is
decided where a refresh decides it. A delivery that was read in part gives shares of that part.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
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

ASKED = {
    "intermediate.int_aws_lines",
    "intermediate.int_charges",
    "intermediate.int_line_attributions",
    "intermediate.int_month_holdings",
    "intermediate.int_named_charges",
    "intermediate.int_run_records",
    "intermediate.int_split_charges",
    "intermediate.int_telemetry_matches",
    "intermediate.int_unknown_types",
    "marts.fct_residual_costs",
    "marts.fct_telemetry_matches",
    "marts.run_month_summary",
    "marts.run_summary",
    "seeds.accelerator_types",
    "staging.stg_aws_cur__line_items",
}


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
    texts = [month.isoformat() for month in months]
    build = builds.Build("doctor", clock.now().isoformat(), "", "", {}, texts, is_full=True)
    with opened(elsewhere.site) as connection:
        create_raw(connection, elsewhere.rules, elsewhere.landing, election, months)
        for node in runner.run(statements.needed(every, ASKED), build, connection):
            if not node.is_sound:
                raise ModelsError(f"{node.name}: {node.detail}", remedy="The answers need it; report it with this message.")
        connection.execute(Path(__file__).with_name("lines_and_held.sql").read_text(encoding="utf-8"))
        yield Ledger(connection)


@cache
def _questions() -> dict[str, str]:
    text = Path(__file__).with_name("questions.sql").read_text(encoding="utf-8")
    return dict(re.findall(r"^-- name: (\w+)\n(.*?)(?=^--|\Z)", text, re.MULTILINE | re.DOTALL))


@dataclass(frozen=True, slots=True)
class Ledger:
    """The tables of the models, with `lines` and `held` of lines_and_held.sql."""

    connection: duckdb.DuckDBPyConnection

    def ask(self, sql: str, **given: Any) -> list[tuple[Any, ...]]:
        """The rows of a query; `$name` in it is a given value."""
        return self.connection.execute(sql, given or None).fetchall()

    def rows(self, question: str, **given: Any) -> list[tuple[Any, ...]]:
        """The rows that answer a question of questions.sql."""
        return self.ask(_questions()[question], **given)

    def row(self, question: str, **given: Any) -> tuple[Any, ...]:
        """The only row that answers a question."""
        (row,) = self.rows(question, **given)
        return row

    def month(self, bill: Reading) -> str:
        """The newest month of a bill in which something was used; that of its partition where nothing was read."""
        (month,) = self.row("month_of_bill", source=bill.source.name)
        return f"{month:%Y-%m}" if month else bill.newest
