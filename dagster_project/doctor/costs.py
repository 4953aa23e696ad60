"""Will runs get their cost? What a bill's newest month states of its accelerators: for whom, on which machine, in which hour."""

from collections.abc import Iterator
from typing import Any

from connectors.formats.schema import TextMap
from connectors.registry import connector_for
from dagster_project.base.failures import meant
from dagster_project.doctor.checks import KEPT, REMEDIES, Check, answered, counted, percent, share, some
from dagster_project.doctor.ledger import Ledger
from dagster_project.doctor.reading import Reading
from dagster_project.election.run_tags import tag_key

_NO_TAGS = {"product", "system_labels", "project_labels", "project_ancestors"}  # of the provider's own, and of whole projects


def ask_bill(ledger: Ledger, bill: Reading, run_tag_keys: list[str]) -> Iterator[Check]:
    """The questions about one bill."""
    lines, accelerators = ledger.row("lines_of_bill", source=bill.source.name)
    if not lines:
        message = "no row of use that counts in what was read"
        yield _answer(bill, "cost", message, "It cannot be answered yet, or another source is the book of its months.")
        return
    answers = list(_cost(ledger, bill))
    if not accelerators:
        month = ledger.month(bill)
        message = f"no accelerator among {counted(lines, 'row')} of use in {month}"
        remedy = "Is this the bill of the account that trains?" + ("" if bill.is_whole(month) else " Only a part of it was read.")
        answers = [_answer(bill, "cost", message, remedy, month=month, rows=0)]
    yield from answers
    yield _tags(ledger, bill, run_tag_keys, is_needed=any(answer.outcome != "ok" for answer in answers))
    yield _resources(ledger, bill)
    yield _granularity(ledger, bill)
    yield _independent_total(ledger, bill)


def ask_prices(ledger: Ledger, prices: Reading) -> Check:
    """Whether what Google lists of accelerators is recognised, before any of it is used."""
    listed, listed_on = ledger.row("listed_skus", source=prices.source.name)
    doubts = ledger.rows("unknown_price_skus", source=prices.source.name)
    message = f"{counted(listed, 'SKU')} of accelerators in the list of {listed_on}"
    message += "" if prices.is_whole() else " (of what was read)"
    unknown = sum(number for *_, number in doubts)
    named = some([f"{words}: {doubt} ({number:,})" for words, doubt, number in doubts])
    message += f"; not recognised are {unknown:,}: {named}" if doubts else ", all recognised"
    facts = [{"sku": words, "doubt": doubt, "skus": number} for words, doubt, number in doubts[:KEPT]]
    remedy = "Before you use one, report its description: use of it would have no type, or would not be an accelerator's."
    return _answer(prices, "price_skus", message, remedy if doubts else "", skus=listed, unknown_skus=unknown, unknown=facts)


def _answer(bill: Reading, question: str, message: str, remedy: str = "", **facts: Any) -> Check:
    about = f"{question.replace('_', ' ')} of {bill.source.name}"
    return answered(about, question, message, remedy, {"source": bill.source.name, **facts})


def _remedy(bill: Reading, question: str) -> str:
    return REMEDIES[question][bill.source.facts.provider_name or ""]


def _independent_total(ledger: Ledger, bill: Reading) -> Check:
    """Whether anything but the bill's own files shows what its months cost; many have nothing, and it is no fault."""
    payers = [payer for (payer,) in ledger.rows("payers_without_total", source=bill.source.name)]
    message = "each payer has a total that the provider states by itself"
    if payers:
        message = f"no total from outside of the bill for {some(payers)}: a source of kind provider_totals brings one"
    return _answer(bill, "independent_total", message, payers_without_total=payers[:KEPT])


def _cost(ledger: Ledger, bill: Reading) -> Iterator[Check]:
    """Which share of the accelerators' cost a tag or a record gives to a run; by rows where nothing has a price."""
    month = ledger.month(bill)
    for currency, rows, cost, tagged, held, tagged_rows, held_rows in ledger.rows("accelerator_cost", source=bill.source.name):
        whole, by_tag, by_record = (cost, tagged, held) if cost > 0 else (rows, tagged_rows, held_rows)
        met = share(by_tag + by_record, whole)
        of = f"{cost:,.2f} {currency} at list price" if cost > 0 else counted(rows, "row")
        parts = f"{percent(share(by_tag, whole))} by tag, {percent(share(by_record, whole))} by record"
        months = _worst_first(ledger, bill, currency)
        rest = ledger.rows("cost_without_a_run", source=bill.source.name, currency=currency, most=KEPT)
        message = f"{percent(met)} of {of} for accelerators in {month} meets a run ({parts})"
        facts = {
            "month": month,
            "currency": currency,
            "list_cost": str(cost),
            "rows": rows,
            "share": met,
            "share_by_tag": share(by_tag, whole),
            "share_by_record": share(by_record, whole),
            "months": [{"month": name, "share": part} for name, part in months],
            "without_a_run": [{"resource_id": name, "list_cost": str(amount)} for name, amount, _ in rest],
        }
        remedy = ""
        if len(months) > 1:
            notes = {name: "" if bill.is_whole(name) else " (of what was read)" for name, _ in months}
            message += f"; by month: {some([f'{name} {percent(part)}{notes[name]}' for name, part in months])}"
        if by_tag + by_record != whole:
            named = some([f"{name or 'rows without resource'} ({amount:,.2f})" for name, amount, _ in rest], rest[0][2])
            message += f"; without a run: {named}"
            remedy = "Tag these machines with the run's id, or write a run record for them; without one it is no_record or idle."
        yield _answer(bill, "cost", message, remedy, **facts)


def _worst_first(ledger: Ledger, bill: Reading, currency: str) -> list[tuple[str, float | None]]:
    """The share of each month that was read, the least first: the newest alone may be the best."""
    rows = ledger.rows("accelerator_cost_by_month", source=bill.source.name, currency=currency)
    found = [(month, share(met, whole)) for month, whole, met in rows]
    return sorted(found, key=lambda one: (one[1] is None, one[1], one[0]))


def _tags(ledger: Ledger, bill: Reading, keys: list[str], *, is_needed: bool) -> Check:
    """Whether a configured run tag is there; where records find all cost, it is not needed."""
    declared = [column.name for column in connector_for(bill.source.kind).SCHEMA if column.type == TextMap]
    columns = [name for name in declared if name not in _NO_TAGS]
    rows, tagged = ledger.row("tagged_lines", source=bill.source.name)
    names = " UNION ".join(
        f"SELECT unnest(map_keys({name})) AS name FROM raw.{bill.source.kind} WHERE _source_name = $source" for name in columns
    )
    found = [name for (name,) in ledger.ask(f"{names} ORDER BY name", source=bill.source.name)]
    # an export's query may make single tags columns of their own: resource_tags_user_team
    has_column = any(name == column or name.startswith(f"{column}_") for name in bill.columns for column in columns)
    wanted, remedy = ", ".join(keys), _remedy(bill, "run_tag")
    if tagged:
        message, remedy = f"{wanted} on {tagged:,} of {counted(rows, 'row')} of use", ""
    elif not has_column:
        remedy = f"Add the column to the export. {remedy}"
        message = f"the export has no column {bill.source.facts.tag_column}"
    else:
        spelt = {tag_key(name).removeprefix("user_"): name for name in found}
        near = next((text for key in keys if (text := meant(tag_key(key), spelt))), "")
        message = f"no row carries {wanted}{near or '; tags on it: ' + (some(found) or 'none')}"
    facts = {"run_tag_keys": keys, "rows": rows, "tagged_rows": tagged, "has_column": has_column, "tags": found[:KEPT]}
    return _answer(bill, "run_tag", message, remedy if is_needed else "", **facts)


def _resources(ledger: Ledger, bill: Reading) -> Check:
    """Whether rows name the machine: a record meets a bill by nothing else."""
    rows, named = ledger.row("named_machines", source=bill.source.name)
    met = share(named, rows)
    message = f"{percent(met)} of {counted(rows, 'row')} name their machine"
    remedy = "" if named == rows else _remedy(bill, "resource_ids")
    return _answer(bill, "resource_ids", message, remedy, rows=rows, rows_with_resource=named, share=met)


def _granularity(ledger: Ledger, bill: Reading) -> Check:
    """Whether rows are of hours: a row of a day or month is shared by all who held the machine in it."""
    found = dict(ledger.rows("granularity", source=bill.source.name))
    main, rows = next(iter(found)), sum(found.values())
    message = f"{main}, {found[main]:,} of {counted(rows, 'row')}"
    remedy = "" if [*found] == ["hourly"] else _remedy(bill, "granularity")
    return _answer(bill, "granularity", message, remedy, granularity=main, rows=found)
