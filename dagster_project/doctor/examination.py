"""The order of doctor's findings, and how they are reported: for people on 100 columns, for programs as JSON.

Nothing is changed: what is read of sources lies in a temporary folder until the questions are answered.
"""

import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from textwrap import fill

from dagster_project.base.clock import now
from dagster_project.doctor.carbon import ask_carbon
from dagster_project.doctor.checks import Check, counted
from dagster_project.doctor.costs import ask_bill
from dagster_project.doctor.evidence import Evidence
from dagster_project.doctor.machine import check_machine
from dagster_project.doctor.reading import Reading, read_source
from dagster_project.doctor.runs import ask_records, ask_telemetry, ask_types
from dagster_project.settings import Settings

WIDTH = 100
HEADING = "Will runs get their cost, energy and carbon? By what was read of the newest month:"


def diagnose(settings: Settings, tell: Callable[[str], None], *, as_json: bool = False) -> int:
    """Tell every finding. Returns 0, 2 when the home is not fit, 3 when a source is not."""
    found: list[Check] = []
    with tempfile.TemporaryDirectory(prefix="trainledger-doctor-") as folder:
        readings = [Reading(source) for source in settings.sources]
        first, second = _first(settings, Path(folder), readings), _questions(settings, readings, Path(folder, "spill"))
        for part, heading in ((first, ""), (second, HEADING)):
            for check in part:
                if not as_json:
                    if heading:
                        tell(f"\n{heading}")
                    tell(_text(check))
                heading = ""
                found.append(check)
    problems = [check for check in found if check.outcome == "problem"]
    exit_code = 0 if not problems else 3 if all(check.is_source for check in problems) else 2
    if as_json:
        checks = [asdict(check) for check in found]
        document = {"exit_code": exit_code, "configuration": str(settings.path), "checks": checks}
        tell(json.dumps(document, indent=2, ensure_ascii=False))
    return exit_code


def _first(settings: Settings, folder: Path, readings: list[Reading]) -> Iterator[Check]:
    """This machine, then each source by itself."""
    message = f"{settings.path}: {counted(len(settings.sources), 'source')}"
    yield Check("configuration", "ok", message, question="configuration", facts={"sources": len(settings.sources)})
    yield from check_machine(settings)
    for number, reading in enumerate(readings):
        yield from read_source(settings, reading.source, folder / str(number), reading)


def _questions(settings: Settings, readings: list[Reading], spill: Path) -> Iterator[Check]:
    """What the sources say together of runs."""
    of_fact = {
        fact: [one for one in readings if one.source.facts.fact == fact and one.files]
        for fact in ("bill", "carbon", "runs", "telemetry")
    }
    bills, records = of_fact["bill"], of_fact["runs"]
    with Evidence(settings.rules, readings, spill) as evidence:
        for bill in bills:
            yield from ask_bill(evidence, bill, settings.run_tag_keys)
        if bills:
            yield from ask_records(evidence, bills, records)
        yield from ask_types(evidence)
        yield from ask_telemetry(evidence, of_fact["telemetry"], bills)
        yield from ask_carbon(evidence, bills, of_fact["carbon"], now())


def _text(check: Check) -> str:
    """A finding on lines of 100 columns; names and paths are never cut, nor 98 % after its number."""
    remedy = [(f"{'':9}-> {check.remedy}", 12)] if check.remedy else []
    given = [(f"{check.outcome:8} {check.about}: {check.message}", 9), *remedy]
    return "\n".join(_filled(text.replace(" %", "\N{NO-BREAK SPACE}%"), by) for text, by in given).replace(
        "\N{NO-BREAK SPACE}%", " %"
    )


def _filled(text: str, indent: int) -> str:
    return fill(text, WIDTH, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)
