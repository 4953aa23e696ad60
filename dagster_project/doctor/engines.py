"""What an engine over the files of an export states to a refresh: its table, the statement, bytes and price. No row is read.

The table is described, which costs nothing; the statement is written and not asked.
"""

from collections.abc import Iterator, Sequence
from decimal import ROUND_UP, Decimal
from typing import Any

from connectors.deliveries import Delivery
from connectors.errors import ConnectorError
from connectors.stores import ENGINES, LEAST_BILLED, ObjectStore
from connectors.stores.grouped import GroupedStore
from dagster_project.doctor.checks import Check, counted, size
from dagster_project.settings import SourceSettings
from dagster_project.settings.model import UNTRIED

# of Athena, by the terabyte read: https://aws.amazon.com/athena/pricing/ (read 2026-11-29). A Trino of one's own bills nothing
USD_PER_TB = Decimal("5")


def check_engine(source: SourceSettings, store: ObjectStore, deliveries: Sequence[Delivery]) -> Iterator[Check]:
    """What is to be known of an engine before it is asked about the newest delivery. Nothing follows a problem."""
    assert isinstance(store, GroupedStore) and source.engine
    name, newest = ENGINES[source.engine], deliveries[0]
    if source.engine in UNTRIED:
        message = f"{name} was tried with fakes of its answers only, never with the service"
        yield _of(source, "engine", "warning", message, "Compare the first month with the rows: leave `engine` out once.")
    try:
        opened = store.opened(newest.objects[0])
        store.groups.statement(opened.relation, opened.types, [], source.location)
    except ConnectorError as error:
        yield _of(source, "engine", "problem", error.message, error.remedy, reason=error.reason)
        return
    if opened.untried:
        remedy = "Compare the first month with the rows: leave `engine` out once."
        yield _of(source, "engine", "warning", opened.untried, remedy)
    columns = counted(len(opened.types), "column")
    reads = f"has {opened.table} with {columns} over these files" if opened.table else f"reads {columns} of these files"
    message = f"{name} {reads}, and makes groups of them."
    message += " A machine of which no accelerator is billed is in no group by itself: no record meets it"
    yield _of(source, "engine", "ok", message, engine=source.engine, table=opened.table)
    number, cap = store.bytes_of(newest.objects[0]), source.maximum_bytes_billed
    facts: dict[str, Any] = {"partition": newest.partition, "bytes": number, "maximum_bytes_billed": cap}
    if number > cap:
        message = f"{newest.partition} would take up to {size(number)}, and maximum_bytes_billed is {size(cap)}: it is not run"
        remedy = f"Write `maximum_bytes_billed: {number}` for this source."
        yield _of(source, "bytes", "problem", message, remedy, reason="above_byte_cap", needed=number, **facts)
        return
    price = f", at most {_price(number)}" if source.engine == "athena" else ""
    yield _of(source, "bytes", "ok", f"{newest.partition}, the newest, takes up to {size(number)}{price}", **facts)
    message = "its groups are known by queries alone, so none is asked for here"
    yield _of(source, "engine", "warning", message, "`trainledger refresh` asks for them.", reason="rows_are_billed")


def _price(number: int) -> str:
    usd = Decimal(max(number, LEAST_BILLED)) * USD_PER_TB / 10**12
    return f"{usd.quantize(Decimal('0.01'), ROUND_UP)} USD"


def _of(source: SourceSettings, question: str, outcome: Any, message: str, remedy: str = "", **facts: Any) -> Check:
    return Check(source.name, outcome, message, remedy, True, question, facts)
