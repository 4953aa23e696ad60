"""What the files of an evidence pack are named, which queries of its report they hold, and what its rendering depends on.

For who writes a pack and for who verifies one, also where no warehouse is installed: nothing of a home is known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

from dagster_project.base.sql import quoted
from reports.quarter import is_year

ISSUE = "issue.json"
REPORT = "report.json"
BOARD = "board.pdf"
DOCUMENTS = (REPORT, "report.html", "report.pdf", BOARD, "report.xlsx")  # beside a CSV file per table
FONTS = ("fontpkg-noto-sans", "justmytype-intl-rtl", "noto-cjk-sans-otc", "fonttools")
RENDERERS = ("duckdb", "jinja2", "markupsafe", "typst", "xlsxwriter", *FONTS)  # whose version a rendering can depend on
FORM = 4  # of a pack, in issue.json: another one with every change of README below, or of what derived.py compares
FOLDER_OF_VALIDATIONS = "validations"
# bills and carbon, as the registry has them
JUDGED_KINDS = ("aws_cur", "aws_focus", "aws_carbon", "gcp_billing", "gcp_focus", "gcp_carbon")
GATES = "select gate, passed, failing_rows, detail from ops.gate_results order by gate"  # gates.json is for people
# report tables that a publication goes without: those whose gate did not pass, with the reason
ABSENT = (
    "select replace(gate, 'dbt.report.', '') as model, coalesce(detail, '') as why from ops.gate_results"
    " where starts_with(gate, 'dbt.report.') and not passed order by gate"
)
SAFE = re.compile(r"[^A-Za-z0-9_.-]")


def documents_of(period: str) -> tuple[str, ...]:
    """The documents of a report; the two pages for the board are of a quarter."""
    return tuple(name for name in DOCUMENTS if name != BOARD or not is_year(period))


def load_sql(pack: Path) -> str:
    """The statements that make the Parquet of a pack its tables again, in the pack's own folder."""
    files = sorted((pack / "data").rglob("*.parquet"))
    views = (
        f"create view {file.parent.name}.{quoted(file.stem)} as from read_parquet('{file.relative_to(pack).as_posix()}');"
        for file in files
    )
    schemas = sorted({file.parent.name for file in files})
    return "\n".join(["set TimeZone = 'UTC';", *(f"create schema {schema};" for schema in schemas), *views]) + "\n"


def asked_items(record: Any) -> Iterator[dict[str, Any]]:
    """Every table that has rows, and every headline figure with an answer: what of a report.json has SQL to be asked again."""
    if isinstance(record, dict):
        if isinstance(record.get("sql"), str) and isinstance(record.get("id"), str) and ("rows" in record or "value" in record):
            yield record
        for value in record.values():
            yield from asked_items(value)
    elif isinstance(record, list):
        for value in record:
            yield from asked_items(value)


def query_name(item: Mapping[str, Any]) -> str:
    """The file of a query: a table's id, or that of a headline figure without its quarter."""
    return file_name(item["id"] if "rows" in item else f"figure-{item['id'].rpartition('/')[2]}")


def file_name(text: str) -> str:
    """A name that is one everywhere."""
    return SAFE.sub("-", text)[:120]


def renderers() -> dict[str, str]:
    """Versions of the libraries that a rendering can depend on, as far as they are installed."""
    found = {}
    for name in RENDERERS:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


README = """\
# Evidence of report {report_id}

{organisation}, {quarter}, {status}; issued {issued_at}, prepared by {prepared_by}, approved by {approver}.

One command compares every file, works out every figure again and reads every text and cell of the report back:

    trainledger verify .           # or, for auditors, from its small wheel: trainledger-verify .

Without our code: DuckDB alone, in this folder. `figure-*.sql` are the headline figures, the others the tables of the report.

    duckdb -init load.sql -c ".read sql/figure-effective_cost.sql"

or, with the Python package `duckdb`:

    python -c "import duckdb; c = duckdb.connect(); c.execute(open('load.sql').read()); \\
        print(c.sql(open('sql/figure-effective_cost.sql').read()))"

| Path | What it is |
|---|---|
| `report/` | the report: report.json has every figure with its unit, method and SQL |
| `data/` | published tables (`marts`, `ops`) and seeds as Parquet; `ops/dim_deliveries` has the hashes of what was read |
| `load.sql`, `sql/`, `rows/` | the tables as views; a query per table and figure; their answers |
| `gates.json`, `code/`, `issue.json` | gates of the build; versions; who issued what, of which build and configuration |
| `validations/` | how each bill and carbon delivery was judged when it was landed |
| `MANIFEST.json` | sha256 of every file but those of `signatures/` |
| `signatures/` | who vouches for the manifest, if anybody does: statements with Ed25519 signatures, a time stamp (RFC 3161) |
| `ro-crate-metadata.json` | the same list as an RO-Crate |
"""
