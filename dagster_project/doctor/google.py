"""What a table of BigQuery would say to a refresh, asked before it: login, table, columns, bytes and price, permissions.

All of it is free: the table is described, queries are tried without being run, a stream is opened and not read. The first fault
that would stop a refresh ends the questions, for those behind it would repeat it. Rows are read elsewhere, if they are free.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_UP, Decimal
from typing import Any

from connectors.deliveries import Delivery
from connectors.errors import ConnectorError
from connectors.gcp.grouped_sql import LINE_COUNT
from connectors.gcp.tables import READINGS, TableReading
from connectors.stores import LEAST_BILLED, ObjectStore
from connectors.stores.bigquery import TableStore
from connectors.stores.bigquery_preview import ROWS, lacking, logged_in_as, neighbours, try_stream
from connectors.stores.google_errors import grant
from connectors.stores.google_locations import table_location
from dagster_project.base.clock import now
from dagster_project.base.failures import meant
from dagster_project.base.months import first_day
from dagster_project.doctor.checks import KEPT, Check, Outcome, counted, size, some
from dagster_project.landing.records import partition_day
from dagster_project.settings import SourceSettings

# on demand, of the multi-regions US and EU; others and editions differ: https://cloud.google.com/bigquery/pricing
USD_PER_TIB = Decimal("6.25")
STOPPED_AFTER = timedelta(days=2)  # Google writes a billing table several times a day
_TYPES = {"TABLE": "a table", "VIEW": "a view", "MATERIALIZED_VIEW": "a materialized view"}
_NO_DATA = (date(2006, 1, 1), date(2006, 1, 2))  # a day before any bill: where days are pruned it reads nothing


def check_table(source: SourceSettings, store: ObjectStore) -> Iterator[Check]:
    """Everything that can be known before a query runs. Nothing follows a problem."""
    reading = READINGS.get(source.kind)
    if not isinstance(store, TableStore) or reading is None:
        return  # the listing refuses it, in words of its own
    try:
        for check in _questions(source, store, reading):
            yield check
            if check.outcome == "problem":
                return
    except ConnectorError as error:
        yield _problem(source, store, error)


def check_newest(source: SourceSettings, store: ObjectStore, delivery: Delivery) -> Check:
    """What it would cost a refresh to read the newest partition."""
    assert isinstance(store, TableStore)
    day = partition_day(delivery.partition) or first_day(delivery.partition[:7])
    name = f"the partition of {day}"
    table, description = table_location(source.location).name, store.describe()
    reading = store.options.table or READINGS[source.kind]
    number = store.dry_run(reading.rows_sql(table, description, [day]))
    if number > source.maximum_bytes_billed:
        return _above_cap(source, f"a read of {name}", number)
    message = f"a read of {name}, the newest, takes {size(number)}, about {_price(number)}; {ROWS:,} rows of it are free"
    cap, facts = source.maximum_bytes_billed, dict[str, Any]()
    if source.engine:
        facts = {
            "engine": source.engine,
            "bytes_of_rows": store.dry_run(READINGS[source.kind].rows_sql(table, description, [day])),
        }
        of_rows = size(facts["bytes_of_rows"])
        rows = f"are read too, {of_rows} more (engine, keep)" if source.keep else f"would take {of_rows} (engine)"
        message += f"; BigQuery makes groups of it, and its rows {rows}."
        message += " A machine of which no accelerator is billed is in no group by itself: no record meets it"
    return _of(source, "bytes", "ok", message, partition=delivery.partition, bytes=number, maximum_bytes_billed=cap, **facts)


def _questions(source: SourceSettings, store: TableStore, reading: TableReading) -> Iterator[Check]:
    yield _login(source, store)
    description = store.describe()
    if description.get("type", "TABLE") not in _TYPES:
        return  # the listing refuses it
    yield from _table(source, reading, description)
    yield _columns(source, reading, description)
    yield from _bytes(source, store, reading, description)
    yield _permissions(source, store, description)
    if not reading.is_divided(description):
        message = "its rows are known by queries alone, which are billed, so none is read here"
        yield _of(source, "table", "warning", message, "`trainledger refresh` reads them.", reason="rows_are_billed")


def _problem(source: SourceSettings, store: TableStore, error: ConnectorError) -> Check:
    """What refused to answer, in plain words where Google's own are not, and by name what a permission is granted on."""
    plain = {
        "no_credentials": "Google takes no login of this machine",
        "role_denied": f"this login may not act as {source.impersonate}",
        "quota_exceeded": "a quota is used up",
    }.get(error.reason)
    message = f"{plain}; {error.message}" if plain else error.message
    if error.reason == "missing_table":
        message = _nearest(source, store) or error.message
    return Check(source.name, "problem", message, _named(source, error.remedy), True, "source", {"reason": error.reason})


def _named(source: SourceSettings, remedy: str) -> str:
    """A remedy with the names of the places that it speaks of."""
    table = table_location(source.location)
    names = {
        "the project that pays": f"{source.billing_project or table.project}, the project that pays",
        "on the dataset": f"on the dataset {table.full_dataset}",
        "the service account of `impersonate`": f"the service account {source.impersonate}",
    }
    for words, named in names.items():
        remedy = remedy.replace(words, named)
    return remedy


def _login(source: SourceSettings, store: TableStore) -> Check:
    name = logged_in_as(source.location, store.options)
    if source.endpoint_url:
        message = f"{source.endpoint_url} is asked without a login"
    else:
        message = f"Google knows this login as {name}" if name else "Google takes this login, which names no account"
        message += ", by impersonation" if source.impersonate else ""
    facts: dict[str, Any] = {"is_impersonated": source.impersonate is not None, "endpoint_url": source.endpoint_url}
    return _of(source, "login", "ok", message, login=name or None, **facts)


def _table(source: SourceSettings, reading: TableReading, description: Mapping[str, Any]) -> Iterator[Check]:
    """What the table is; what of it will be lost; whether Google still writes it."""
    kind = description.get("type", "TABLE")
    axis, clustered = reading.axis_of(description), (description.get("clustering") or {}).get("fields", [])
    rows = int(description.get("numRows") or 0)
    place = description.get("location")
    message = f"{source.location} is {_TYPES[kind]} in {place or 'no known location'}"
    message += f", read by the {axis.unit.lower()} of {axis.column}"
    message += f", clustered by {some(clustered)}" if clustered else ""
    message += f", {counted(rows, 'row')}" if kind == "TABLE" else ""
    divided = {"read_by": axis.column, "unit": axis.unit, "clustered_by": clustered}
    yield _of(source, "table", "ok", message, type=kind, location=place, **divided, rows=rows if kind == "TABLE" else None)
    yield from _expiring(source, description)
    written = datetime.fromtimestamp(int(description.get("lastModifiedTime") or 0) / 1000, UTC)
    if kind == "TABLE" and not reading.is_by_month and description.get("lastModifiedTime") and written < now() - STOPPED_AFTER:
        message = f"nothing was written into it since {written:%Y-%m-%d %H:%M} UTC; Google writes several times a day"
        remedy = "See whether the export was switched off, or goes to another table now (Billing, Billing export)."
        yield _of(source, "table", "warning", message, remedy, reason="export_stopped", last_modified=written.isoformat())


def _expiring(source: SourceSettings, description: Mapping[str, Any]) -> Iterator[Check]:
    divided = description.get("timePartitioning") or {}
    days = int(divided.get("expirationMs") or 0) // 86_400_000
    if 0 < days < source.look_back_days:
        message = f"its partitions are deleted after {days} days: what Google corrects in older ones is lost"
        remedy = f"Set the expiration of partitions to never, or at least to {source.look_back_days} days (look_back_days)."
        yield _of(source, "table", "warning", message, remedy, reason="table_expires", partitions_expire_after_days=days)
    if description.get("expirationTime"):
        at = datetime.fromtimestamp(int(description["expirationTime"]) / 1000, UTC)
        message, remedy = f"the whole table is deleted on {at:%Y-%m-%d}", "Set the table's expiration to never."
        yield _of(source, "table", "warning", message, remedy, reason="table_expires", expires_at=at.isoformat())


def _of(
    source: SourceSettings, topic: str, outcome: Outcome, message: str, remedy: str = "", question: str = "", **facts: Any
) -> Check:
    return Check(f"{topic} of {source.name}", outcome, message, remedy, True, question or topic, facts)


def _columns(source: SourceSettings, reading: TableReading, description: Mapping[str, Any]) -> Check:
    names, unknown = reading.columns_of(description, source.location)
    shape = reading.shape
    known = dict.fromkeys(path.partition(".")[0] for path in (*shape.columns, *shape.maps, *shape.records))
    absent = [name for name in known if name not in names and name != LINE_COUNT]  # which BigQuery adds to groups
    message = f"{counted(len(names), 'column')}, with all that must be there"
    message += f"; not there, as in older tables: {some(absent)}" if absent else ""
    message += f"; kept and not read, as they are unknown: {some(unknown)}" if unknown else ""
    return _of(source, "columns", "ok", message, columns=len(names), absent=absent, unknown_columns=list(unknown[:KEPT]))


def _bytes(source: SourceSettings, store: TableStore, reading: TableReading, description: Mapping[str, Any]) -> Iterator[Check]:
    """What the next look reads, and whether it reads the days that it names alone."""
    table, options, cap = table_location(source.location).name, store.options, source.maximum_bytes_billed
    try:
        number = store.dry_run(reading.look_sql(table, description, options.first_day, options.end_day))
        is_pruned = reading.is_divided(description) or not store.dry_run(reading.look_sql(table, description, *_NO_DATA))
    except ConnectorError as error:
        if error.reason == "permission_denied" and (check := _lacks(source, store)):
            yield check
            return
        raise
    if number > cap:
        yield _above_cap(source, "the next look", number, ", or give it fewer `months`")
        return
    since = f"at the days since {options.first_day}" if options.first_day else "at all days, as they were not all landed yet"
    message = f"the next look, {since}, reads {size(number)}, about {_price(number)} on demand; no query may read more than"
    message, first = f"{message} {size(cap)} (maximum_bytes_billed)", str(options.first_day or "") or None
    yield _of(source, "bytes", "ok", message, look_bytes=number, first_day=first, maximum_bytes_billed=cap)
    if not is_pruned:
        remedy = "Name a table that is divided by day, as Google's own is, or divide the table behind the view."
        message = "each look and each read goes through the whole table or view, whatever days are asked for"
        yield _of(source, "bytes", "warning", message, remedy, question="table", reason="no_pruning", look_bytes=number)


def _above_cap(source: SourceSettings, what: str, number: int, otherwise: str = "") -> Check:
    cap = source.maximum_bytes_billed
    needed = (int(number * 1.01) // 10**9 + 1) * 10**9  # BigQuery rounds up what it bills
    remedy = f"Write `maximum_bytes_billed: {needed}` for this source (about {_price(number)} each time){otherwise}."
    facts: dict[str, Any] = {"bytes": number, "maximum_bytes_billed": cap, "needed": needed}
    message = f"{what} would take {size(number)}, and maximum_bytes_billed is {size(cap)}: it is not run"
    return _of(source, "bytes", "problem", message, remedy, reason="above_byte_cap", **facts)


def _price(number: int) -> str:
    usd = Decimal(max(number, LEAST_BILLED)) * USD_PER_TIB / (1 << 40)
    return f"{usd.quantize(Decimal('0.01'), ROUND_UP)} USD"


def _permissions(source: SourceSettings, store: TableStore, description: Mapping[str, Any]) -> Check:
    """What a refresh needs and did not need yet: the rows of the table, and a stream of the Storage API for large partitions."""
    if check := _lacks(source, store):
        return check
    column = description["schema"]["fields"][0]["name"]
    is_table = description.get("type", "TABLE") == "TABLE"
    is_known = is_table and try_stream(store, column)
    message = "it may describe the table and run queries"
    message += ", and stream rows" if is_known else "; whether it may stream rows is shown by the first large partition"
    return _of(source, "permissions", "ok", message, may_stream=is_known or None)


def _lacks(source: SourceSettings, store: TableStore) -> Check | None:
    """The permissions that this login has not, if there are such."""
    missing = lacking(store)
    if not missing:
        return None
    message, remedy = f"this login lacks {some(missing)} on {source.location}", _named(source, grant("describe"))
    return _of(source, "permissions", "problem", message, remedy, reason="permission_denied", missing=missing)


def _nearest(source: SourceSettings, store: TableStore) -> str:
    """What of a table's name is not there, with the name that may be meant; '' where it is listed after all."""
    table = table_location(source.location)
    what, names = neighbours(store)
    if table.table in names or (what == "dataset" and table.dataset in names):  # it is there, and may not be looked into
        return ""
    known = {"table": f"no table {table.table} in {table.full_dataset}", "dataset": f"no dataset {table.full_dataset}"}
    if what not in known:
        return f"{source.location}: there is no such project, or it shows this login nothing"
    there = f", which has {some(names)}" if what == "table" and names else ""
    return f"{source.location}: there is {known[what]}{there}{meant(table.table if what == 'table' else table.dataset, names)}"
