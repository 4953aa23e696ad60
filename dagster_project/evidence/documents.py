"""The documents of a pack read back: every text and cell of its pages, PDFs, workbooks and CSV files, whoever wrote them.

What they are compared with is worked out here: this version lays report.json and its page out again of the pack's tables, and
what it would print is the text that is asked of each document. No hash and no version that a pack names has a say in it.

Where report.json itself has other words than this version writes, its figures are asked as ever. If the pack names this version,
that differs. If it names another, documents are compared with the digests of their texts in report.json, and that the words are
those of that version could not be compared: it is named, to be installed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from dagster_project import __version__
from dagster_project.base.failures import UsageError
from dagster_project.evidence import layout
from dagster_project.evidence.findings import Findings
from dagster_project.evidence.layout import REPORT
from dagster_project.evidence.manifest import files_below, read_json
from reports.arranged import Arranged
from reports.door import TooLongError
from reports.errors import ReportError
from reports.issue import Issue, Policy
from reports.model import TEXT_KINDS
from reports.page import cells, printed, records, tree
from reports.periods import arranged
from reports.publication import Publication

ERRORS = (
    KeyError,
    TypeError,
    ValueError,
    AttributeError,
    IndexError,
    ArithmeticError,
    UsageError,
    ReportError,
)  # of a stranger's
MOST_NAMED = 5  # differences of one file
AROUND = 40  # characters of a text that differs


def compare(folder: Path, found: Findings, tables: Publication | None = None) -> Arranged | None:
    """Find each document that does not print what report.json states. Returns what this version makes of the pack's tables.

    `tables` are the pack's, where the caller has copied them.
    """
    report = folder / "report"
    record = read_json(report / REPORT)
    found.differences += _other_files(report, record, found)
    found.differences += _other_csv(report, record, found)
    version = str(read_json(folder / "code" / "version.json").get("trainledger"))
    again, others = _again(tables or folder / "data", found.issued, record, (report / REPORT).read_text(encoding="utf-8"))
    if not others:
        assert again is not None
        _compare_texts(report, record, again, found)
        return again
    named = f"{', '.join(others[:MOST_NAMED])}{f' and {len(others) - MOST_NAMED} others' if len(others) > MOST_NAMED else ''}"
    if version == __version__ and found.issued.get("form") == layout.FORM:
        found.differences.append(f"report/{REPORT}: trainledger {version} writes of the pack's tables another {named}")
        if again:
            _compare_texts(report, record, again, found)
        return None
    found.is_partial = True
    found.remarks.append(
        f"report/{REPORT} has words that this version writes otherwise ({named}): install trainledger {version} to compare them. "
        "Its figures were compared, and its documents with what it states that they print."
    )
    _compare_digests(report, record, found)
    return None


def _again(tables: Path | Publication, issued: dict[str, Any], record: Any, text: str) -> tuple[Arranged | None, list[str]]:
    """The report as this version lays it out, and what of report.json is another in it, which is written as `text`."""
    try:
        policy, issue = Policy.of(issued["policy"]), Issue.of(issued)
        again = arranged(
            tables,
            issued["quarter"],
            organisation=issued["organisation"],
            status_note=issued["status_note"],
            policy=policy,
            issue=issue,
            code=str(record.get("report_code_sha256")),
        )
        ours = json.loads(json.dumps(again.record))
    except TooLongError:
        raise
    except ERRORS as error:
        return None, [f"report ({type(error).__name__}: {error})"]
    theirs = {name: value for name, value in record.items() if name != "printed"}
    others = [*_other(ours, theirs, "")]
    written = json.dumps(record, ensure_ascii=False, indent=1) + "\n"
    if not others and text != written:
        others = ["form of the file"]
    return again, others


def _other(ours: Any, theirs: Any, place: str) -> Iterator[str]:
    """Places at which two records are not the same; a list's members are named by their id."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name in sorted({*ours, *theirs}):
            yield from _other(ours.get(name), theirs.get(name), f"{place}/{name}" if place else name)
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for n, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            name = one.get("id", n) if isinstance(one, dict) else n
            yield from _other(one, other, f"{place}/{name}")
    elif ours != theirs:
        yield place


def _other_files(report: Path, record: Any, found: Findings) -> Iterator[str]:
    """Documents that are missing; those that no report has are named with the other files of the pack."""
    tables = [item["file"] for item in layout.asked_items(record) if "rows" in item and "file" in item]
    for name in sorted({*layout.documents_of(record["quarter"]), *tables} - {*files_below(report)}):
        if name == layout.BOARD and found.issued.get("form") != layout.FORM:
            found.remarks.append(f"report/{name} is not compared: packs of before have no pages for the board.")
            found.is_partial = True
        else:
            yield f"report/{name}: the report has it, and it is not there"


def _other_csv(report: Path, record: Any, found: Findings) -> Iterator[str]:
    """Cells of CSV files that are not those of report.json."""
    for item in layout.asked_items(record):
        file = report / str(item.get("file"))
        if "rows" not in item or not file.is_file():
            continue
        _count(found, sum(len(row["values"]) for row in item["rows"]))
        if file.read_bytes() != (expected := _csv(item)).encode():
            there = file.read_text(errors="replace").split("\n")
            yield f"report/{item['file']}: {_first_other(expected.split(chr(10)), there)}"


def _csv(item: dict[str, Any]) -> str:
    """A table of report.json as its CSV file."""
    columns = [(column["id"], column["kind"] in TEXT_KINDS) for column in item["columns"]]
    rows = [[records.csv_cell(row["values"][name], is_text=is_text) for name, is_text in columns] for row in item["rows"]]
    return records.csv_of([[name for name, _ in columns], *rows])


def _compare_texts(report: Path, record: Any, again: Arranged, found: Findings) -> None:
    """Each document with what this version would print of the same record."""
    try:  # names in drawings are cut to their room, which depends on the letters that fonts have
        from reports.page import fonts

        fonts.folders()
        write: Callable[[str], str] = fonts.printable
    except (ImportError, ReportError):
        write = str
    has_fonts = write is not str
    book, before = again.workbook(), len(found.differences)
    texts = again.texts(book, write)
    same = {"report.html": again.page.encode(), "report.xlsx": book}
    for name in _documents(report):
        content = (report / name).read_bytes()
        _count(found, len(texts[name]))
        if name.endswith(".pdf"):
            _compare_paper(name, content, texts[name], record, found, has_fonts=has_fonts)
        elif content == same.get(name):
            found.counts["rendered"] = found.counts.get("rendered", 0) + 1
        else:
            _compare_page(name, content, texts[name], found)
    digests = {name: printed.digest(them) for name, them in texts.items() if has_fonts or not name.endswith(".pdf")}
    stated = {name: record.get("printed", {}).get(name) for name in digests}
    if "printed" not in record and found.issued.get("form") != layout.FORM:
        return  # packs of before have none
    if stated != digests and len(found.differences) == before:
        found.differences.append(f"report/{REPORT}, printed: it is not the digest of what the documents print")


def _count(found: Findings, texts: int) -> None:
    """One document more was read back, with so many texts."""
    found.counts["documents"] = found.counts.get("documents", 0) + 1
    found.counts["texts"] = found.counts.get("texts", 0) + texts


def _documents(report: Path) -> list[str]:
    return [name for name in layout.DOCUMENTS if name != REPORT and (report / name).is_file()]


def _compare_page(name: str, content: bytes, expected: list[str], found: Findings) -> None:
    """A page or workbook of other bytes. Where the texts of a page are the same, its marks or styles may hide some of them."""
    before = len(found.differences)
    found.differences += _other_texts(name, content, expected)
    if len(found.differences) > before or not name.endswith(".html"):
        return
    installed, then = layout.renderers(), found.issued["renderers"]
    what = f"report/{name}: its texts are those of {REPORT}, and it is marked up or styled otherwise"
    if others := [one for one in ("jinja2", "markupsafe") if installed[one] != then.get(one)]:
        found.is_partial = True
        found.remarks.append(f"{what}: install the {' and '.join(others)} of code/installed.txt to see whether by that alone.")
    else:
        found.differences.append(what)


def _other_texts(name: str, content: bytes, expected: list[str]) -> Iterator[str]:
    """Texts of a page or workbook that are not those expected."""
    try:
        there = cells.texts(content) if name.endswith(".xlsx") else printed.of_page(tree.read(content.decode()))
    except (ValueError, AssertionError, StopIteration, IndexError, RecursionError) as error:
        yield f"report/{name}: it cannot be read ({error or type(error).__name__})"
        return
    if there != expected:
        yield f"report/{name}: {_first_other(expected, there)}"


def _compare_paper(name: str, content: bytes, expected: list[str], record: Any, found: Findings, *, has_fonts: bool) -> None:
    """A PDF with the texts expected of it."""
    paper = _paper(name, content, found)
    if paper is None or isinstance(paper, str):
        found.differences += [paper] if paper else []
        return
    there = printed.texts(paper.blocks)
    if there != expected:
        other = f"report/{name}: {_first_other(expected, there)}"
        is_cut = not has_fonts and len(there) == len(expected)
        pairs = zip(expected, there, strict=False)
        if is_cut and all(one == two or ("…" in two and any(map(printed.is_rare, one))) for one, two in pairs):
            found.is_partial = True
            what = "names there have letters that only its fonts tell. trainledger-verify[rendering] has them."
            found.remarks.append(f"{other}: {what}")
        else:
            found.differences.append(other)
    found.differences += [f"report/{name}: {what}" for what in paper.strange[:MOST_NAMED]]
    known = printed.furniture(record) | {*expected}
    beside = {re.sub(rf"\d+/{paper.pages}$|^\d+\.$", "", printed.comparable(text)) for text in paper.beside}
    for text in sorted(beside - known - {""})[:MOST_NAMED]:
        found.differences.append(f"report/{name}: beside its text it has {text[:AROUND]!r}, which is not in {REPORT}")


def _paper(name: str, content: bytes, found: Findings) -> Any:
    """The text of a PDF, or why there is none."""
    try:
        from dagster_project.evidence import paper
    except ImportError as error:
        found.is_partial = True
        found.remarks.append(f"report/{name} cannot be read back: {error.name} is not installed. trainledger-verify has it.")
        return None
    try:
        return paper.read(content)
    except paper.UnreadableError as error:
        return f"report/{name}: {error}"


def _compare_digests(report: Path, record: Any, found: Findings) -> None:
    """Each document with what report.json states that it prints."""
    stated = record.get("printed")
    for name in _documents(report):
        if not isinstance(stated, dict) or name not in stated:
            found.remarks.append(f"report/{name} is not compared: {REPORT} does not state what it prints.")
            continue
        content = (report / name).read_bytes()
        try:
            if name.endswith(".pdf"):
                paper = _paper(name, content, found)
                there = [] if paper is None else printed.texts(paper.blocks) if not isinstance(paper, str) else [paper]
            else:
                there = cells.texts(content) if name.endswith(".xlsx") else printed.of_page(tree.read(content.decode()))
        except (ValueError, AssertionError, StopIteration, IndexError, RecursionError):
            there = []
        if printed.digest(there) != stated[name]:
            found.differences.append(f"report/{name}: its texts are not those that {REPORT} states that it prints")
        _count(found, len(there))


def _first_other(expected: list[str], there: list[str]) -> str:
    """The first of two lists of texts that is not the same, in words."""
    n = next((n for n, (one, other) in enumerate(zip(expected, there, strict=False)) if one != other), None)
    if n is None:
        n = min(len(expected), len(there))
        return f"it has {_cut(there[n], 0)} more" if len(there) > n else f"it ends before {_cut(expected[n], 0)}"
    one, other = expected[n], there[n]
    at = max(next((k for k, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))) - 15, 0)
    return f"it has {_cut(other, at)}, and {REPORT} gives {_cut(one, at)}"


def _cut(text: str, at: int) -> str:
    return repr(text[at : at + AROUND])
