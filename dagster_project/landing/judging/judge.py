"""Judging deliveries of bills and of carbon: once their rows are derived and before they can be elected, all in one batch.

A verdict is derived data: it is kept on the shelf with what our code made of the delivery, and made again when that is, or when
the rules change. So every build, earlier view and evidence pack that elects the delivery finds the same one. What follows from a
verdict is decided by those who read it: election passes over what is unlike the delivery that it would replace.
"""

import re
from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import NamedTuple

from msgspec.structs import replace

from connectors.registry import connector_for
from dagster_project.base.months import first_day, month_end
from dagster_project.landing.deriving.contents import Contents, Profile, Verdict
from dagster_project.landing.judging import rules
from dagster_project.landing.judging.rules import FEW, HOLDING, RULES, lacks_verdict
from dagster_project.landing.land import Landing
from dagster_project.landing.records import Generation, Likeness, Tombstone, calendar_month
from dagster_project.landing.store import SourceLanding
from dagster_project.settings import SourceSettings

CURRENCY = re.compile("[A-Z]{3}")
SHOWN = 3
# by measure its number, null where the question does not apply, and the names of what it counts
Measured = dict[str, tuple[float | None, Sequence[str]]]


class Candidate(NamedTuple):
    """A delivery with what is known of its rows."""

    source: SourceSettings
    generation: Generation
    contents: Contents


# the delivery that another one would replace, or what stays of it where retention removed it
Before = Candidate | Tombstone | None


def judge(landing: Landing, deliveries: Collection[Candidate]) -> dict[str, Contents]:
    """What is known of deliveries, by the paths of their generations. Those that lack a verdict are judged in one batch."""
    known = {one.generation.path: one.contents for one in deliveries}
    # of one export each follows those before it in this batch
    wanted = sorted((one for one in deliveries if lacks_verdict(one.source, one.contents)), key=lambda one: one.generation.order)
    if not wanted:
        return known
    from dagster_project.landing.judging.expectations import validate  # loads Great Expectations

    records = {name: landing.read(name) for name in {one.generation.source for one in wanted}}
    found: list[tuple[Candidate, str | None, Measured]] = []
    held: dict[str, bool] = {}
    for one in wanted:
        before = _previous(landing, one, records[one.generation.source], held)
        measures = _measured(landing, one, before)
        held[one.generation.path] = _is_unlike(measures)
        found.append((one, before.generation.content_hash if before else None, measures))
    validations = validate([{name: value for name, (value, _) in measures.items()} for _, _, measures in found])
    for (one, previous, measures), validation in zip(found, validations, strict=True):
        failed = {
            rule.name: _in_words(rule.measure, *measures[rule.measure])
            for rule, result in zip(RULES, validation["results"], strict=True)
            if not result["success"]
        }
        contents = replace(one.contents, verdict=Verdict(version=rules.rules_version(), previous=previous, failed=failed))
        of_delivery = {
            "source": one.generation.source,
            "partition": one.generation.partition,
            "content_hash": one.generation.content_hash,
            "previous_content_hash": previous,
            "connector_version": contents.connector_version,
        }
        landing.shelf.judge(one.generation, contents, of_delivery | validation)
        known[one.generation.path] = contents
    return known


def likeness_of(landing: Landing, generation: Generation, contents: Contents) -> Likeness:
    """What the next delivery of its export is compared with."""
    accounts = landing.shelf.profile(generation, contents).accounts
    return Likeness(rows=contents.rows, payers=contents.controls.payers, accounts=accounts)


def _previous(landing: Landing, one: Candidate, landed: SourceLanding, held: dict[str, bool]) -> Before:
    """The delivery of its export and partition before this one, of other bytes, that counts if this one does not.

    One that the present code refuses is passed over, and one that is held back. `held` has what is known of deliveries without a
    verdict, by their paths: those of this batch, and older ones where the shelf was deleted.
    """
    mine = one.generation
    accepted = {acceptance.content_hash for acceptance in landed.acceptances}
    removed = {tombstone.generation.path: tombstone for tombstone in landed.tombstones}
    every = (*landed.generations, *(tombstone.generation for tombstone in landed.tombstones))
    older = [g for g in every if g.partition == mine.partition and g.order < mine.order and g.export == mine.export]
    unknown: list[Generation] = []
    before: Before = None
    for generation in sorted(older, key=lambda g: g.order, reverse=True):
        if tombstone := removed.get(generation.path):
            if tombstone.likeness:
                before = tombstone
                break
            continue
        # by any version of the code: an upgrade derives again what counts, not all that ever did
        contents = landing.shelf.find_any(generation) or landing.contents(one.source, generation)
        is_held = held.get(generation.path, bool(rules.unlike(contents)) if contents.verdict else None)
        if generation.content_hash == mine.content_hash or not contents.is_taken:
            continue
        if generation.content_hash in accepted or is_held is False:
            before = Candidate(one.source, generation, landing.contents(one.source, generation))
            break
        if is_held is None:
            unknown.append(generation)
    for generation in reversed(unknown):
        candidate = Candidate(one.source, generation, landing.contents(one.source, generation))
        held[generation.path] = _is_unlike(_measured(landing, candidate, before))
        if not held[generation.path]:
            before = candidate
    return before


def _is_unlike(measures: Measured) -> bool:
    return any(rule.name in HOLDING and not rule.is_met(measures[rule.measure][0]) for rule in RULES)


def _measured(landing: Landing, one: Candidate, before: Before) -> Measured:
    """The measures of a delivery that the rules look at."""
    contents, rows, profile = one.contents, one.contents.rows, landing.shelf.profile(one.generation, one.contents)
    schema, controls, facts = connector_for(one.source.kind).SCHEMA, contents.controls, one.source.facts
    filled = _filled(contents, profile)
    known = {value.lower() for column in schema if column.name == facts.line_type_column for value in column.known}
    found: Measured = {"timely_lines_ratio": (_timely(one), [])}
    counted: dict[str, list[str]] = {
        "unknown_line_types": [name for name in profile.line_types if name and name.lower() not in known] if known else [],
        "empty_columns": [c.name for c in schema if c.required and contents.rows and not filled.get(c.name)],
        "odd_currencies": sorted({month.currency for month in controls.months if not CURRENCY.fullmatch(month.currency)}),
    }
    # groups that another engine made are not like the rows that they were made of
    is_other_form = before is not None and (before.generation.query is None) != (one.generation.query is None)
    was = before.likeness if isinstance(before, Tombstone) and not is_other_form else None
    if isinstance(before, Candidate):
        was = likeness_of(landing, before.generation, before.contents)
        filled_before = _filled(before.contents, landing.shelf.profile(before.generation, before.contents))
        currencies = {month.currency for month in before.contents.controls.months}
        counted["lost_currencies"] = sorted(currencies - {month.currency for month in controls.months})
        if is_other_form:
            rows, was = _lines(contents), Likeness(rows=_lines(before.contents), payers=was.payers, accounts=was.accounts)
        else:
            counted["changed_columns"] = _changed(contents, before.contents, filled, filled_before)
            counted["emptied_columns"] = _emptied(filled, contents.rows, filled_before, before.contents.rows)
    if was:
        lost = sorted({*was.accounts} - {*profile.accounts})
        found["rows_ratio_to_previous"] = round(rows / was.rows, 3) if was.rows >= FEW else None, []
        found["accounts_ratio_to_previous"] = round(1 - len(lost) / len(was.accounts), 3) if was.accounts else None, lost
        counted["lost_payers"] = sorted({*was.payers} - {*controls.payers})
    found |= {name: (float(len(names)), names) for name, names in counted.items()}
    return {rule.measure: found.get(rule.measure, (None, [])) for rule in RULES}


def _timely(one: Candidate) -> float | None:
    """The share of the lines of a bill that are of the month of its partition, or of the one before or after."""
    month = calendar_month(one.generation.partition)
    lines = _lines(one.contents)
    if month is None or not lines:
        return None
    months = {month, f"{first_day(month) - timedelta(days=1):%Y-%m}", f"{month_end(month):%Y-%m}"}
    return round(sum(total.line_count for total in one.contents.controls.months if total.usage_month in months) / lines, 3)


def _lines(contents: Contents) -> int:
    """The lines of a bill, also of those that are in groups."""
    return sum(total.line_count for total in contents.controls.months)


def _filled(contents: Contents, profile: Profile) -> dict[str, int]:
    """Rows with a value by column: the numbers' from the control totals, which have no row where there is none."""
    return profile.filled | {total.name: total.value_count for total in contents.measures}


def _changed(contents: Contents, before: Contents, filled: dict[str, int], filled_before: dict[str, int]) -> list[str]:
    """Columns with values in the delivery before that this one has not, or has values in of another type.

    A column without a value has whatever type its writer gives to nothing.
    """
    types, types_before = _types(contents), _types(before)
    used = (name for name, count in filled_before.items() if count)
    is_other = (name for name in used if name not in types or (filled.get(name) and types[name] != types_before.get(name)))
    return sorted(is_other) if types else []


def _types(contents: Contents) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for part in contents.parts:
        for name, kind in part.columns.items():
            found.setdefault(name, set()).add(kind)
    return found


def _emptied(filled: dict[str, int], rows: int, filled_before: dict[str, int], rows_before: int) -> list[str]:
    """Columns of which less than half of the share of rows is left that had a value in the delivery before."""
    if rows < FEW or rows_before < FEW:
        return []
    shares = ((name, filled.get(name, 0) / rows, count / rows_before) for name, count in filled_before.items())
    return sorted(name for name, share, before in shares if before >= 0.1 and share < before / 2)


def _in_words(measure: str, value: float | None, found: Sequence[str]) -> str:
    """What was found: the number, and the first of what it counts."""
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return f"{measure} {value:g}" + (f": {', '.join(found[:SHOWN])}{more}" if found else "")
