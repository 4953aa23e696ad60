"""`trainledger trace --source-row OBJECT:N`: from a row of a landed object to the rows and figures that rest on it.

Which figures: every table of the rendered reports that reads one of those rows is asked again without them; what it then answers
otherwise rests on them.
"""

from __future__ import annotations

from typing import Any

from dagster_project.base.failures import UsageError
from dagster_project.base.sql import CELL, literal
from dagster_project.evidence.tracing import facts
from dagster_project.evidence.tracing.answer import SHOWN
from dagster_project.evidence.tracing.command import Trace
from dagster_project.evidence.tracing.landed import Landed, facts_of
from dagster_project.landing.records import Generation
from dagster_project.publishing.digest import plain_text
from dagster_project.warehouse.building import Listener, no_listener
from reports.tracing.figures import read_report
from reports.tracing.influence import changed_figures, without

Parts = list[dict[str, Any]]  # the runs and residuals that have a part of a landed row
Marts = dict[str, str]  # tables of which rows rest on it: the condition of these rows
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
    notes, parts, marts = _in_quarantine(trace, name, row), Parts(), Marts()
    landed = [one for source in trace.home.sources for one in trace.landed.generations(source.name)]
    found = [generation for generation in landed if any(one.key == name for one in generation.objects)]
    if not found and not notes:
        remedy = "Objects are named as `--figure` and fct_quarantine name them, and as keys in `_generation.json`."
        raise UsageError(f"no landed delivery has an object {name[:200]!r}", remedy=remedy)
    elected = "select source_name, content_hash from published.ops.dim_deliveries where is_elected"
    counting = set(trace.prover.connection.execute(elected).fetchall())
    for done, one in enumerate(found):
        listener("landed rows", done, len(found), one.path)
        delivery = f"{one.source}: delivery {one.content_hash[:16]}, published {one.published_at:%Y-%m-%dT%H:%M:%SZ},"
        if (one.source, one.content_hash) not in counting:
            notes.append(f"{delivery} is landed, but is not the delivery that counts of {one.partition}: no figure rests on it")
            continue
        notes.append(f"{delivery} is the delivery that counts of {one.partition}")
        given, conditions = _follow(trace.landed, one, name, row)
        parts += given
        if given:
            marts |= conditions
        elif why := NO_PART.get(facts_of(one).fact):
            notes.append(why)
    listener("figures", 0, 1)
    counted = [_rows_of(trace, table, condition) for table, condition in marts.items()]
    figures = _figures(trace, marts)
    listener("figures", 1, 1)
    rows = [one for one in counted if one["count"]]
    return {"source_row": text, "told": notes, "parts": parts, "rows": rows, "figures": figures}


def row_text(document: dict[str, Any]) -> str:
    """The answer for people."""
    lines = [document["source_row"], *(f"  {line}" for line in document["told"])]
    for part in document["parts"]:
        lines.append("  " + ", ".join(f"{name} {plain_text(value)}" for name, value in part.items() if value is not None))
    for one in document["rows"]:
        lines.append(f"  {one['count']} x {one['table']}")
        lines += [f"    {', '.join(str(value) for value in key if value is not None)}" for key in one["first"]]
    figures = document["figures"]
    lines.append(f"figures that would be others without it: {len(figures)}")
    lines += [f"  {figure}" for figure in figures[: 2 * SHOWN]]
    if len(figures) > 2 * SHOWN:
        lines.append(f"  the first {2 * SHOWN} are shown; --json has all")
    return "\n".join(lines)


def _rows_of(trace: Trace, table: str, condition: str) -> dict[str, Any]:
    """How many rows of a mart rest on the row, and what names the first of them."""
    connection = trace.prover.connection
    columns = connection.execute(f"describe published.{table}").fetchall()
    names = [name for name, kind, *_ in columns if kind in ("VARCHAR", "DATE")]
    rows = connection.execute(f"select {', '.join(names)} from published.{table} where {condition} order by all").fetchall()
    first = [[None if value is None else plain_text(value) for value in row] for row in rows[:3]]
    return {"table": table, "count": len(rows), "columns": names, "first": first}


def _in_quarantine(trace: Trace, name: str, row: int) -> list[str]:
    sql = """select source_name, case when row_number > 0 then 'this row' else 'the whole object, or some rows of it,' end,
            reason || coalesce(' in ' || nullif(column_name, ''), ''), remedy
        from published.marts.fct_quarantine where source_object = ? and (row_number = ? or row_number is null)
        order by source_name, reason, column_name, remedy, row_number"""
    rows = trace.prover.connection.execute(sql, [name, row]).fetchall()
    return [f"{source}: {place} is in quarantine or doubted: {why}. {remedy}" for source, place, why, remedy in rows]


def _follow(landed: Landed, generation: Generation, name: str, row: int) -> tuple[Parts, Marts]:
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


def _bill(landed: Landed, groups: list[str], content_hash: str) -> tuple[Parts, Marts]:
    asked = "from attributions where list_contains(?::varchar[], charge_group_id) and delivery_content_hash = ?"
    landed.connection.execute(f"create or replace temp table groups as {asked}", [groups, content_hash])
    parts = landed.rows("""select charge_group_id, row_count as rows_in_group, training_run_id, reason, attribution_rule,
            share_numerator || '/' || share_denominator as share, cost_component, billed_cost, effective_cost, billing_currency
        from groups order by all""")
    landed.add_bill_rows("")  # the group's rows are counted and added up
    cost = "usage_month, billing_currency, cost_component"
    run = f"training_run_id, {cost}, attribution_rule"
    marts = Marts()
    for table, key in (("fct_run_cell_costs", run), ("fct_residual_costs", f"{cost}, reason")):
        rows = f"select substr(charge_group_id, 1, 12), source_name, {key} from groups"
        marts[f"marts.{table}"] = f"({CELL}, source_name, {key}) in ({rows})"
    marts["marts.fct_training_run_costs"] = f"({run}) in (select {run} from groups where training_run_id is not null)"
    return parts, marts


def _carbon(landed: Landed, generation: Generation, name: str, row: int) -> tuple[Parts, Marts]:
    key, mass = facts.CELL, f'{facts.MASS} as "{facts.MASS} of its cell"'
    staged = facts.STAGED[facts_of(generation).provider_name or ""]
    landed.show([generation], staged)
    account = "coalesce(project_number, '') as sub_account_id" if "gcp" in staged else "sub_account_id"
    of_row = f"staging.{staged} where source_object = {literal(name)} and row_number = {row}"
    columns = key.replace("sub_account_id", account)
    landed.connection.execute(f"create or replace temp table cells as select {columns} from {of_row}")
    parts = landed.rows(f"""select training_run_id, null as reason, {mass}
        from published.marts.fct_run_cell_emissions semi join cells using ({key})
        union all
        select null, reason, {mass} from published.marts.fct_residual_emissions semi join cells using ({key})
        order by all""")
    cells = f"({key}) in (select {key} from cells)"
    marts = dict.fromkeys(("marts.fct_run_cell_emissions", "marts.fct_residual_emissions"), cells)
    marts["marts.fct_training_run_emissions"] = (
        "(training_run_id, usage_month) in (select training_run_id, usage_month from"
        f" published.marts.fct_run_cell_emissions semi join cells using ({key}))"
    )
    return parts, marts


def _sample(landed: Landed) -> tuple[Parts, Marts]:
    parts = landed.rows(f"""select distinct matches.usage_month, matches.host, matches.run_key, matches.training_run_id,
            matches.sample_count, matches.reason
        from published.marts.fct_telemetry_matches as matches
        inner join here
            on matches.source_name = here._source_name and {facts.HOST} = matches.host and {facts.RUN_KEY} = matches.run_key
            and matches.usage_month = cast(date_trunc('month', here.sample_end - interval 1 microsecond) as date)
        order by all""")
    runs = [(part["training_run_id"], part["usage_month"]) for part in parts if part["training_run_id"]]
    listed = ", ".join(f"({literal(run)}, date '{month}')" for run, month in runs)
    tables = ("marts.fct_training_run_energy", "marts.fct_training_run_emissions_modelled") if runs else ()
    return parts, dict.fromkeys(tables, f"(training_run_id, usage_month) in ({listed})")


def _record(landed: Landed) -> tuple[Parts, Marts]:
    parts = landed.rows(f"select distinct part, recorded_id, {facts.RECORD_RUN} as training_run_id from here order by all")
    runs = ", ".join(literal(part["training_run_id"]) for part in parts)
    return parts, dict.fromkeys(("marts.dim_training_runs", "marts.fct_training_run_energy"), f"training_run_id in ({runs})")


def _figures(trace: Trace, marts: Marts) -> list[str]:
    """The figures of every report in the home that rest on the rows."""
    found: list[str] = []
    if marts:
        trace.prover.lock()  # every landed row has been read
        with without(trace.prover, marts, trace.report_statements) as left:
            for file in sorted((trace.home.site.root / "reports").glob("[1-9]*Q[1-4]/report.json"), reverse=True):
                found += changed_figures(trace.prover, read_report(file), left)
    return found
