"""Where an issued report is in the chain of its home, and whether the chain has every line that is known to have been written.

A report is bound forwards and backwards: its line has the digest of the line before, and issue.json, which signatures cover, has
the same digest. So a line that goes from the middle, with its folder, is missed by the report after it, also where all digests
of the chain are made again. A tail that goes is missed by the landing, which has a record of each line (chained lines of an older
version have none), and an older pack in the place of a later one is not the pack that its line names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from dagster_project.base.durable import sha256_of
from dagster_project.evidence import chain
from dagster_project.evidence.findings import Findings
from dagster_project.evidence.layout import ISSUE
from dagster_project.evidence.manifest import MANIFEST, issued_zip_sha256, read_json

if TYPE_CHECKING:
    from datetime import datetime

IN_THE_LINE = ("report_id", "quarter", "status", "issued_at", "prepared_by", "approver", "supersedes")  # of issue.json
HEAD = "head_of_chain"  # in issue.json: the last line when the report was issued


class Recorded(Protocol):
    """What a landing knows of a line (landing/records.py, where the small wheel does not go)."""

    @property
    def report_id(self) -> str:
        """The report that was issued."""

    @property
    def number(self) -> int:
        """Its place in the chain, from 1."""

    @property
    def line_sha256(self) -> str:
        """The digest of its line."""

    @property
    def issued_at(self) -> datetime:
        """When it was issued."""


def head(lines: list[chain.Line]) -> dict[str, Any]:
    """The last line of a chain as the next report states it: how many there are, of which report it is, and its digest."""
    last = lines[-1] if lines else None
    return {
        "lines": len(lines),
        "report_id": last["report_id"] if last else None,
        "sha256": chain.digest_of(last) if last else None,
    }


def line_of(folder: Path, issued: Mapping[str, Any], deliveries: list[str]) -> chain.Line:
    """The line of the chain that a pack gives, but for the digest of the line before; `deliveries` must be kept for it."""
    return {
        **{name: issued[name] for name in IN_THE_LINE},
        "build_id": issued["build"]["build_id"],
        "manifest_sha256": sha256_of(folder / MANIFEST),
        "zip_sha256": issued_zip_sha256(folder, issued["report_id"]),
        "deliveries": deliveries,
    }


def recorded_otherwise(
    folder: Path, issued: Mapping[str, Any], deliveries: list[str], recorded: Iterable[Recorded]
) -> tuple[list[str], list[str]]:
    """What of a pack is not what a landing recorded when the report was issued, and what cannot be compared with it.

    The line has the manifest, and so every file: also those that nothing can be worked out again from.
    """
    report_id = issued["report_id"]
    known = next((one for one in recorded if one.report_id == report_id), None)
    if HEAD not in issued:
        return [], []  # before 0.9, which is listed with the form
    if known is None:
        what = f"The landing has no record that {report_id} was issued: validations/, code/, names and configuration"
        return [], [f"{what} are compared with nothing but each other and the signatures."]
    line = line_of(folder, issued, deliveries) | {"previous": issued[HEAD]["sha256"]}
    if (known.number, known.line_sha256) == (issued[HEAD]["lines"] + 1, chain.digest_of(line)):
        return [], []
    return [f"{MANIFEST}: it is not the one of {report_id} that the landing recorded when that was issued"], []


def check(path: Path, folder: Path, found: Findings) -> None:
    """The chain beside `issued/`, where the report lies in a home."""
    issued = path.absolute().parent
    reports = issued.parent
    if issued.name != chain.FOLDER or not (reports / chain.CHAIN).is_file():
        found.remarks.append(f"No {chain.CHAIN} beside it: whether a later report takes its place is not known here.")
        return
    if damaged := list(chain.chain_differences(reports / chain.CHAIN)):
        found.differences += damaged
        return
    lines = chain.lines_of(reports)
    line = next((one for one in lines if one["report_id"] == folder.name), None)
    if line is None:
        found.differences.append(f"{chain.CHAIN}: it has no line of {folder.name}")
        return
    found.differences += _other_pack(folder, issued, line, lines)
    if path.is_file() and line["zip_sha256"] not in (sha256_of(path), issued_zip_sha256(folder)):
        found.differences.append(f"{path.name}: it is not the zip that {chain.CHAIN} names")
    last = chain.last_of(lines, line["quarter"])
    if last and last["report_id"] != line["report_id"]:
        found.remarks.append(f"{last['report_id']} takes the place of this report.")


def _other_pack(folder: Path, place: Path, line: chain.Line, lines: list[chain.Line]) -> Iterator[str]:
    """What of a pack is not what its line states, and what its issue.json misses of the lines before; `place` is `issued/`."""
    if line["manifest_sha256"] != sha256_of(folder / MANIFEST):
        yield f"{MANIFEST}: it is not the one that {chain.CHAIN} names"
    own = place / f"{line['report_id']}.line.json"
    if own.is_file() and read_json(own) != line:
        yield f"{own.name}: it is not the line of {chain.CHAIN}"
    issued = read_json(folder / ISSUE)
    if isinstance(issued, dict) and issued.get("report_id") != line["report_id"]:
        yield f"{ISSUE}: it is of {issued.get('report_id')}, and lies in the place of {line['report_id']}"
    elif isinstance(issued, dict) and isinstance(known := issued.get(HEAD), Mapping):
        yield from _missing_before(line, lines, known)


def _missing_before(line: chain.Line, lines: list[chain.Line], known: Mapping[str, Any]) -> Iterator[str]:
    """Whether the lines before a report are those that it was issued after."""
    before = lines[: lines.index(line)]
    if known == head(before):
        return
    if known.get("report_id") not in {one["report_id"] for one in before}:
        yield f"{chain.CHAIN}: the line of {known.get('report_id')} is missing, after which {line['report_id']} was issued"
    else:
        yield f"{chain.CHAIN}: the lines before {line['report_id']} are not those after which it was issued"


def missing_lines(reports: Path, known: Iterable[Recorded]) -> Iterator[str]:
    """Lines that the chain does not have, or has otherwise, by what the landing has recorded of it."""
    by_id = {line["report_id"]: line for line in chain.lines_of(reports)}
    for one in sorted(known, key=lambda one: one.number):
        if one.report_id not in by_id:
            yield f"{chain.CHAIN}: line {one.number} is missing: {one.report_id}, issued {one.issued_at:%Y-%m-%dT%H:%M:%SZ}"
        elif chain.digest_of(by_id[one.report_id]) != one.line_sha256:
            yield f"{chain.CHAIN}: the line of {one.report_id} is not the one that was written when it was issued"


def landing_differences(reports: Path, known: Iterable[Recorded]) -> Iterator[str]:
    """The same, and what the lines that there are miss: their packs, and numbers of a quarter."""
    if damaged := list(chain.chain_differences(reports / chain.CHAIN)):
        yield from damaged
        return
    yield from missing_lines(reports, known)
    lines = chain.lines_of(reports)
    numbers: dict[str, int] = {}
    for line in lines:
        folder, quarter = reports / chain.FOLDER / line["report_id"], line["quarter"]
        if not (folder / MANIFEST).is_file() or not (folder / ISSUE).is_file():
            yield f"{chain.FOLDER}/{folder.name}: {chain.CHAIN} names it and it is not there"
        else:
            yield from (f"{chain.FOLDER}/{folder.name}: {text}" for text in _other_pack(folder, folder.parent, line, lines))
        numbers[quarter] = numbers.get(quarter, 0) + 1
        if line["report_id"] != (wanted := f"{quarter}-{numbers[quarter]}"):
            yield f"{chain.CHAIN}: {wanted} is missing before {line['report_id']}"
            numbers[quarter] = int(line["report_id"].rpartition("-")[2])
