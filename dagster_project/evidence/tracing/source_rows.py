"""`trainledger trace --source-row OBJECT:N`: from a row of a landed object to the rows and figures that it is a part of.

The rules of rules.py, followed the other way: from the parts of a row of a bill, or the cells of a row of carbon, to the rows of
tables and pages that have a sum, a share or a weight of them which is not 0, and to what reports print of these.
"""

from __future__ import annotations

from typing import Any

from dagster_project.base.failures import UsageError
from dagster_project.base.sql import literal
from dagster_project.evidence.tracing import endings
from dagster_project.evidence.tracing.answer import SHOWN
from dagster_project.evidence.tracing.command import Trace
from dagster_project.evidence.tracing.influence import Influence
from dagster_project.evidence.tracing.landed import Landed, facts_of
from dagster_project.evidence.tracing.walk import ATTRIBUTIONS, COMMITTED
from dagster_project.landing.records import Generation
from dagster_project.publishing.digest import plain_text
from dagster_project.warehouse.building import Listener, no_listener
from reports.tracing.figures import read_report

Parts = list[dict[str, Any]]  # the runs and residuals that have a part of a landed row
Starts = dict[str, str]  # tables whose rows are made of it: a query of these rows
INTEGRALS = "fct_energy_integrals"
NO_PART = {  # by the fact of a source: why none has a part of its row
    "bill": "no run and no residual carries it: its payer and month have another book, or it is a SavingsPlanNegation, which only"
    " takes away again what covered usage shows",
    "carbon": "no run and no residual of the book carries it: it was quarantined, or another model version of its payer and month"
    " counts (fct_training_run_emissions_versions has both)",
    "inputs": "It is an input of the organisation's own; figures that rest on it name it as their source",
}


def place_of(text: str) -> tuple[str, int]:
    """The object and the row of OBJECT:N."""
    name, colon, number = text.rpartition(":")
    if not (colon and name and number.isascii() and number.isdigit() and 0 < int(number[:19]) < 2**63 and len(number) < 20):
        remedy = "Write OBJECT:N, as fct_quarantine and --figure do; rows count from 1."
        raise UsageError(f"{text[:200]!r} names no row of an object", remedy=remedy)
    return name, int(number)


def trace_row(trace: Trace, text: str, listener: Listener = no_listener) -> dict[str, Any]:
    """Answer --source-row: what became of one row of a landed object, and which figures rest on it."""
    name, row = place_of(text)
    notes, parts, influence = _in_quarantine(trace, name, row), Parts(), Influence(trace.walk)
    landed = [one for source in trace.home.sources for one in trace.landed.generations(source.name)]
    found = [generation for generation in landed if any(one.key == name for one in generation.objects)]
    if not found and not notes:
        remedy = "Objects are named as `--figure` and fct_quarantine name them, and as keys in `_generation.json`."
        raise UsageError(f"no landed delivery has an object {name[:200]!r}", remedy=remedy)
    elected = "select source_name, content_hash from published.ops.dim_deliveries where is_elected"
    counting = set(trace.connection.execute(elected).fetchall())
    for done, one in enumerate(found):
        listener("landed rows", done, len(found), one.path)
        delivery = f"{one.source}: delivery {one.content_hash[:16]}, published {one.published_at:%Y-%m-%dT%H:%M:%SZ},"
        if (one.source, one.content_hash) not in counting:
            notes.append(f"{delivery} is landed, but is not the delivery that counts of {one.partition}: no figure rests on it")
            continue
        notes.append(f"{delivery} is the delivery that counts of {one.partition}")
        place = name, row
        if any(raw.key == name for raw in one.raw):
            place = trace.landed.place_of_kept(one, name, row)
            notes.append(
                f"it is a row of the provider, kept beside groups as evidence: what counts of it is {place[0]}:{place[1]}"
            )
        given, starts = _follow(trace.landed, one, *place)
        parts += given
        for table, query in starts.items():
            influence.begin(table, query)
        if not given and (why := NO_PART.get(facts_of(one).fact)):
            notes.append(why)
    listener("figures", 0, 1)
    influence.spread()
    files = sorted((trace.home.site.root / "reports").glob("[1-9]*Q[1-4]/report.json"), reverse=True)
    figures = [figure for file in files for figure in influence.figures(read_report(file))]
    listener("figures", 1, 1)
    looked = [file.parent.name for file in files]
    tables = influence.tables(3)
    return {"source_row": text, "told": notes, "parts": parts, "rows": tables, "figures": figures, "reports": looked}


def row_text(document: dict[str, Any]) -> str:
    """The answer for people."""
    lines = [document["source_row"], *(f"  {line}" for line in document["told"])]
    for part in document["parts"]:
        lines.append("  " + ", ".join(f"{name} {plain_text(value)}" for name, value in part.items() if value is not None))
    for one in document["rows"]:
        lines.append(f"  {one['count']} x {one['table']}: {', '.join(one['measures'])}")
        lines += [f"    {', '.join(str(value) for value in key if value is not None)}" for key in one["first"]]
    figures = document["figures"]
    if document["reports"]:
        lines.append(f"figures of reports ({', '.join(document['reports'])}) that it is a part of: {len(figures)}")
    else:
        lines.append("no report is rendered in this home, so no figure was looked at; `trainledger report quarterly` renders one")
    lines += [f"  {figure}" for figure in figures[: 2 * SHOWN]]
    if len(figures) > 2 * SHOWN:
        lines.append(f"  the first {2 * SHOWN} are shown; --json has all")
    return "\n".join(lines)


def _in_quarantine(trace: Trace, name: str, row: int) -> list[str]:
    sql = """select source_name, case when row_number > 0 then 'this row' else 'the whole object, or some rows of it,' end,
            reason || coalesce(' in ' || nullif(column_name, ''), ''), remedy
        from published.marts.fct_quarantine where source_object = ? and (row_number = ? or row_number is null)
        order by source_name, reason, column_name, remedy, row_number"""
    rows = trace.connection.execute(sql, [name, row]).fetchall()
    return [f"{source}: {place} is in quarantine or doubted: {why}. {remedy}" for source, place, why, remedy in rows]


def _follow(landed: Landed, generation: Generation, name: str, row: int) -> tuple[Parts, Starts]:
    """What a row gave, by what its kind states; it is in table `here` as its raw view has it."""
    landed.delivery(generation.source, generation.content_hash)
    kind, known = landed.show([generation]), facts_of(generation)
    is_line = known.provider_name == "Google Cloud" and known.fact in ("bill", "carbon")
    number = "line_number" if is_line else "_row_number"
    own = f"raw.{kind} where _source_object = {literal(name)}"
    landed.connection.execute(f"create or replace temp table here as from {own} and {number} = {row}")
    if not landed.connection.execute("from here").fetchone():
        (last,) = landed.connection.execute(f"select max({number}) from {own}").fetchone() or (0,)
        raise UsageError(f"{name[:200]} has no row {row}; it has {last or 0}")
    match known.fact:
        case "bill":
            return _bill(landed, landed.groups_of(generation, name, row), generation.content_hash)
        case "carbon":
            return _carbon(landed, generation, name, row)
        case "telemetry":
            return _sample(landed)
        case "runs":
            return _record(landed)
        case _:
            return [], {}


def _bill(landed: Landed, groups: list[str], content_hash: str) -> tuple[Parts, Starts]:
    asked = "from attributed where list_contains(?::varchar[], charge_group_id) and delivery_content_hash = ?"
    landed.connection.execute(f"create or replace temp table own_groups as {asked}", [groups, content_hash])
    parts = landed.rows("""select charge_group_id, row_count as rows_in_group, training_run_id, reason, attribution_rule,
            share_numerator || '/' || share_denominator as share, cost_component, billed_cost, effective_cost, billing_currency
        from own_groups order by all""")
    landed.connection.execute("create or replace temp table groups as select *, billed_cost as amount_ from own_groups")
    landed.add_bill_rows("bill", ATTRIBUTIONS, "billed_cost")  # the group's rows are counted and added up
    committed = "from committed semi join own_groups using (source_name, usage_month, charge_group_id, delivery_content_hash)"
    return parts, {ATTRIBUTIONS: "from own_groups", COMMITTED: committed} if parts else {}


def _carbon(landed: Landed, generation: Generation, name: str, row: int) -> tuple[Parts, Starts]:
    key, mass = endings.CELL, f'{endings.MASS} as "{endings.MASS} of its cell"'
    staged = endings.STAGED[facts_of(generation).provider_name or ""]
    landed.show([generation], staged)
    is_google = "gcp" in staged
    account = "coalesce(project_number, '') as sub_account_id" if is_google else "sub_account_id"
    # what is of a quarter or a year and is compared gives nothing
    compared = f"""and (period_end is null or (source_name, sub_account_id, cast(period_end - interval 1 month as date)) not in (
            select (source_name, sub_account_id, usage_month) from published.marts.fct_reconciliation
            where method = 'cross_check' and measure = '{endings.MASS}'
        ))"""
    of_row = f"""staging.{staged} where source_object = {literal(name)} and row_number = {row}
        and (source_object, row_number) not in (
            select (source_object, row_number) from published.marts.fct_quarantine
            where list_contains({endings.IN_NO_CELL}, reason) and row_number is not null
        ) {"" if is_google else compared}"""
    columns = key.replace("sub_account_id", account)
    landed.connection.execute(f"create or replace temp table cells as select {columns} from {of_row}")
    parts = landed.rows(f"""select training_run_id, null as reason, {mass}, weight_numerator || '/' || weight_denominator as share
        from published.marts.fct_run_cell_emissions semi join cells using ({key})
        union all
        select null, reason, {mass}, null from published.marts.fct_residual_emissions semi join cells using ({key})
        order by all""")
    tables = ("fct_run_cell_emissions", "fct_residual_emissions")
    own = {table: f"from published.marts.{table} semi join cells using ({key})" for table in tables}
    return parts, own if parts else {}


def _sample(landed: Landed) -> tuple[Parts, Starts]:
    parts = landed.rows(f"""select distinct matches.usage_month, matches.host, matches.run_key, matches.training_run_id,
            matches.sample_count, matches.reason
        from published.marts.fct_telemetry_matches as matches
        inner join here
            on matches.source_name = here._source_name and {endings.HOST} = matches.host and {endings.RUN_KEY} = matches.run_key
            and matches.usage_month = cast(date_trunc('month', here.sample_end - interval 1 microsecond) as date)
        order by all""")
    runs = [(part["training_run_id"], part["usage_month"]) for part in parts if part["training_run_id"]]
    listed = ", ".join(f"({literal(run)}, date '{month}')" for run, month in runs)
    of_runs = f"where (training_run_id, usage_month) in ({listed})"
    return parts, {INTEGRALS: f"from published.marts.{INTEGRALS} {of_runs}"} if runs else {}


def _record(landed: Landed) -> tuple[Parts, Starts]:
    parts = landed.rows(f"select distinct part, recorded_id, {endings.RECORD_RUN} as training_run_id from here order by all")
    runs = ", ".join(literal(part["training_run_id"]) for part in parts)
    tables = ("dim_training_runs", INTEGRALS)
    return parts, {table: f"from published.marts.{table} where training_run_id in ({runs})" for table in tables}
