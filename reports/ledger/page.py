"""The files of the page: which there are, which of them are to be written, and what is in them.

A data file is named by what it was made of: the digests of its months in the published tables, and the rows of its runs. One
that is there already is right, so a publication writes those of what is new. The page itself names the files that belong
together; whoever replaces it after the others are on the disk shows one publication or the next.

*Example.* A delivery changes August's costs: `month-2026-08-...js` is written, and the file of every month in which a run ended
that had used machines in August.

A month without runs has its bill, what was idle, and coverage. A publication may go without a report table: what of runs cannot
be shown then is left out, and the page names the table.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any

from reports import pages
from reports.ledger.months import IN_CELLS, OF_MONTHS, month_documents
from reports.page.names import shown
from reports.publication import Publication
from reports.runs.account import PAGES, SUMMARY, accounts, jsonable
from reports.runs.advice import WORDS

MOST_MONTHS = 36  # newest; older ones are for `trainledger sql`
MOST_RUNS = 200  # of those that ended in a month, by cost; `trainledger run` has every one
NO_BUILD = {"build_id": "unknown", "finished_at": None}  # of a file without pages
UNDATED = "undated"  # runs that have no month
HERE = Path(__file__).parent
CODE = ("page.py", "months.py", "../runs/account.py", "../runs/advice.py", "../runs/words.yml")  # and their pages
ASSETS = {"style": ("../page/templates/report.css", "page.css"), "script": ("data.js", "draw.js", "view.js", "run.js")}
MONTH_TABLES = (
    "fct_training_run_costs",
    "fct_training_run_energy",
    "fct_training_run_emissions",
    "fct_training_run_emissions_modelled",
    "fct_run_cell_costs",
    "fct_telemetry_matches",
    "fct_lost_work",
    "fct_reconciliation",
    "fct_residual_costs",
    "rpt_coverage",
)
WHOLE_TABLES = ("dim_emission_factors",)
NEEDED_OF_RUNS = "marts.dim_training_runs, marts.fct_training_run_costs, marts.run_summary, marts.run_month_summary"


@dataclass(frozen=True)
class Page:
    """The page of one publication: its data files by name, those to be written with their text, and the page itself."""

    names: frozenset[str]
    new: dict[str, str]
    index: str


@dataclass
class _Month:
    """What is known of a month, or of the runs without one, before its rows are read."""

    run_count: int = 0  # of runs that ended in it
    states: list[tuple[str, str]] = field(default_factory=list)  # of the runs at work in it
    last: list[tuple[str, str]] = field(default_factory=list)  # months and states of the runs that ended in it


def page_of(publication: Publication, versions: Mapping[str, Mapping[str, Any]], there: Collection[str]) -> Page:
    """The page of a publication. `versions`: a digest of each part of each table; `there`: data files that need not be made."""
    missing = publication.missing(NEEDED_OF_RUNS)
    months, code = _months(publication, has_runs=not missing), _code(publication)
    dated = sorted((name for name in months if name != UNDATED), reverse=True)[:MOST_MONTHS]
    listed, new_months, new_runs = list[dict[str, Any]](), dict[str, str](), dict[str, str]()
    for name in (*dated, *([UNDATED] if UNDATED in months else [])):
        month = months[name]
        made_of = [code, _parts(versions, {name}), month.states, missing]
        files = {"month": _name("month", name, made_of) if name != UNDATED else None}
        if month.run_count:
            files["runs"] = _name("runs", name, [code, _parts(versions, {of for of, _ in month.last}), month.last])
        listed.append({"name": name, "run_count": month.run_count, **files})
        for kind, new in (("month", new_months), ("runs", new_runs)):
            if (file := files.get(kind)) and file not in there:
                new[name] = file
    texts = dict(_texts(publication, new_months, new_runs))
    names = frozenset(file for one in listed for kind in ("month", "runs") if (file := one.get(kind)))
    return Page(names, texts, _index(publication, listed, missing))


def _months(publication: Publication, *, has_runs: bool) -> dict[str, _Month]:
    found = {f"{row['usage_month']:%Y-%m}": _Month() for row in pages.rows(publication, "ledger_months", {})}
    for row in pages.rows(publication, "ledger_states", {}) if has_runs else ():
        used, last = (f"{row[name]:%Y-%m}" if row[name] else UNDATED for name in ("usage_month", "last_month"))
        found.setdefault(used, _Month()).states.append((last, row["state"]))
        found.setdefault(last, _Month()).last.append((used, row["state"]))
        if used == last:
            found[last].run_count = row["run_count"]
    return found


def _parts(versions: Mapping[str, Mapping[str, Any]], months: Collection[str]) -> list[Any]:
    """The digests of these months in the tables that have months, and of the others."""
    dated = [(table, month, versions.get(table, {}).get(month)) for table in MONTH_TABLES for month in sorted(months)]
    return [*dated, *((table, dict(versions.get(table, {}))) for table in WHOLE_TABLES)]


def _code(publication: Publication) -> str:
    """sha256 of what makes the data files."""
    parts = (*(f"ledger_{part}" for part in (*IN_CELLS, *OF_MONTHS, "runs")), SUMMARY, *PAGES.values())
    asked = [publication.pages.get(page) for page in parts]
    return sha256(b"".join((HERE / name).read_bytes() for name in CODE) + json.dumps(asked).encode()).hexdigest()


def _name(kind: str, month: str, made_of: list[Any]) -> str:
    text = json.dumps([MOST_RUNS, made_of], default=str)
    return f"{kind}-{month}-{sha256(text.encode()).hexdigest()[:12]}.js"


def _texts(publication: Publication, months: Mapping[str, str], runs: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Each new file with its text; all months are asked at once, and all runs."""
    dates = [date.fromisoformat(f"{name}-01") for name in sorted(months)]
    documents = month_documents(publication, dates, has_runs=not publication.missing(NEEDED_OF_RUNS))
    for month, document in documents.items():
        yield months[f"{month:%Y-%m}"], f"takeMonth({_json(document)})\n"
    if runs:
        ended = pages.rows(publication, "ledger_runs", {"months": sorted(runs)})
        chosen = {row["training_run_id"]: row["last_month"] for row in ended if row["position"] <= MOST_RUNS}
        of_month: dict[str, list[Any]] = {name: [] for name in runs}
        for account in accounts(publication, [*chosen]):
            of_month[chosen[account["training_run_id"]]].append(_filled(account))
        for name, found in of_month.items():
            yield runs[name], f"takeRuns({_json(name)}, {_json(found)})\n"


def _filled(value: Any) -> Any:
    """The same without what is null or empty, and without ids of figures, which are for `trainledger trace`: a third less."""
    if isinstance(value, list):
        return [_filled(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {name: _filled(one) for name, one in value.items() if one not in (None, []) and name != "id"}


def _index(publication: Publication, listed: list[dict[str, Any]], missing: str) -> str:
    data = {
        "build": next(iter(pages.rows(publication, "ledger_build", {})), NO_BUILD),
        "months": listed,
        "most_runs": MOST_RUNS,
        "missing": missing,
        "sources": pages.rows(publication, "ledger_sources", {}),
        "verdicts": pages.rows(publication, "ledger_verdicts", {}),
    }
    words = {name: WORDS[name] for name in ("figures", "scope", "rules", "bases", "power", "statuses", "residuals")}
    page = (HERE / "page.html").read_text(encoding="utf-8")
    for place, files in ASSETS.items():
        page = page.replace(f"/* {place} */", "".join((HERE / file).read_text(encoding="utf-8") for file in files))
    return page.replace("/* data */", f"const LEDGER = {{...{_json(data)}, words: {json.dumps(words)}}};")


def _json(value: Any) -> str:
    """JSON that cannot end a script, in which names from outside show their invisible characters."""
    text = json.dumps(jsonable(_visible(value)), ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _visible(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _visible(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_visible(one) for one in value]
    if isinstance(value, Decimal):
        text = f"{value:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return shown(value) if isinstance(value, str) else value
