"""The order of doctor's findings, and how they are reported: for people on 80 columns, for programs as JSON.

Nothing is changed: what is read of sources lies in a temporary folder until the questions are answered.
"""

import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from textwrap import fill

from dagster_project.base.clock import now
from dagster_project.doctor.apis import check_exports
from dagster_project.doctor.checks import Check, counted
from dagster_project.doctor.costs import ask_bill, ask_prices
from dagster_project.doctor.ledger import built
from dagster_project.doctor.machine import check_machine
from dagster_project.doctor.reading import PRICES, Reading, read_source, readings_of
from dagster_project.doctor.runs import ask_carbon, ask_records, ask_telemetry, ask_types
from dagster_project.doctor.unknowns import ask_unknowns
from dagster_project.warehouse import modelling, statements
from dagster_project.warehouse.home import Home

WIDTH = 80
HEADING = "Will runs get their cost, energy and carbon? By what was read:"


def diagnose(home: Home, tell: Callable[[str], None], *, as_json: bool = False) -> int:
    """Tell every finding. Returns 0, 2 when the home is not fit, 3 when a source is not."""
    found: list[Check] = []
    with tempfile.TemporaryDirectory(prefix="trainledger-doctor-") as folder:
        elsewhere, readings = home.elsewhere(Path(folder)), readings_of(home.sources)
        elsewhere.landing.ask_for_free()
        first, second = _first(home, elsewhere, readings), _questions(home, elsewhere, readings)
        for part, heading in ((first, ""), (second, HEADING)):
            for check in part:
                if not as_json:
                    if heading:
                        tell(f"\n{fill(heading, WIDTH)}")
                    tell(_text(check))
                heading = ""
                found.append(check)
    problems = [check for check in found if check.outcome == "problem"]
    warnings = [check for check in found if check.outcome == "warning"]
    exit_code = 0 if not problems else 3 if all(check.is_source for check in problems) else 2
    if as_json:
        checks = [asdict(check) for check in found]
        document = {"exit_code": exit_code, "configuration": str(home.settings.path), "checks": checks}
        tell(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        tell(f"\n{counted(len(problems), 'problem')}, {counted(len(warnings), 'warning')}")
    return exit_code


def _first(home: Home, elsewhere: Home, readings: list[Reading]) -> Iterator[Check]:
    """This machine, then each source by itself."""
    message = f"{home.settings.path}: {counted(len(readings), 'source')}"
    yield Check("configuration", "ok", message, question="configuration", facts={"sources": len(readings)})
    yield from check_machine(home.root, home.settings.landing)
    for reading in readings:
        yield from read_source(home, reading, elsewhere.landing)
    yield from check_exports(home.sources)


def _questions(home: Home, elsewhere: Home, readings: list[Reading]) -> Iterator[Check]:
    """What the sources state together of runs."""
    of_fact = {
        fact: [one for one in readings if one.source.facts.fact == fact and one.columns]
        for fact in ("bill", "carbon", "runs", "telemetry")
    }
    bills, records = of_fact["bill"], of_fact["runs"]
    lists = [one for one in readings if one.source.kind == PRICES and one.columns]
    if not any(of_fact.values()) and not lists:
        return
    laid_out = home.root if modelling.laid_out_folder(home.root).exists() else elsewhere.root  # nothing is written into the home
    with built(elsewhere, statements.statements(laid_out)) as ledger:
        for bill in bills:
            yield from ask_bill(ledger, bill, home.settings.run_tag_keys)
        if bills:
            yield from ask_records(ledger, bills, records)
        for prices in lists:
            yield ask_prices(ledger, prices)
        yield from ask_types(ledger)
        yield from ask_telemetry(ledger, of_fact["telemetry"], bills)
        yield from ask_carbon(ledger, bills, of_fact["carbon"], now())
        yield from ask_unknowns(ledger, readings, now())


def _text(check: Check) -> str:
    """A finding on lines of 80 columns, with its remedy below."""
    remedy = [_filled(f"{'':9}-> {check.remedy}", 12)] if check.remedy else []
    return "\n".join([_filled(f"{check.outcome:8} {check.about}: {check.message}", 9), *remedy])


def _filled(text: str, indent: int) -> str:
    """Names and paths are never cut, nor 98 % after its number."""
    kept = text.replace(" %", "\N{NO-BREAK SPACE}%")
    lines = fill(kept, WIDTH, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)
    return lines.replace("\N{NO-BREAK SPACE}%", " %")
