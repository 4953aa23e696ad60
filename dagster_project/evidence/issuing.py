"""Issuing a report: two people, one publication, one folder that never changes again.

A pack is written beside its place, forced to disk and renamed into it, its zip likewise; the line of the chain is last and makes
the report issued. Killed anywhere before, there is no issued report, and the next command removes what was left.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from dagster_project.base import clock, durable, modes
from dagster_project.base.code import code_version
from dagster_project.base.failures import GateError, UsageError
from dagster_project.election.winners import View
from dagster_project.evidence import chain, chained, crate, pack, signing
from dagster_project.evidence.countersigning import allowed_signers, put_signature
from dagster_project.evidence.layout import ABSENT, FORM, GATES, ISSUE, README, renderers
from dagster_project.evidence.manifest import MANIFEST, canonical, manifest_bytes, read_json, write_zip
from dagster_project.landing.records import IssuedLine
from dagster_project.publishing.reporting import policy_of, render_quarter, render_year
from dagster_project.settings import Settings
from dagster_project.warehouse.home import Home
from dagster_project.warehouse.site import Site
from dagster_project.warehouse.statements import digests
from reports.issue import Issue
from reports.publication import open_folder
from reports.quarter import is_year


def require_two_people(settings: Settings, approver: str) -> str:
    """The preparer, once it is clear that somebody else who may approve does."""
    reporting, where = settings.reporting, str(settings.path)
    if not reporting.prepared_by:
        raise UsageError("no preparer is configured", where=where, remedy="Set `reporting: {prepared_by: NAME}`.")
    if approver not in reporting.approved_by:
        allowed = f"It names {', '.join(reporting.approved_by)}." if reporting.approved_by else "It is empty."
        remedy = f"Add the name to `reporting: {{approved_by: [...]}}`, or let one of them approve. {allowed}"
        raise UsageError(f"{approver!r} may not approve reports", where=where, remedy=remedy)
    return reporting.prepared_by


def zip_of(home: Path, report_id: str) -> Path:
    """The zip of a report that was issued in a home."""
    return home / "reports" / chain.FOLDER / f"{report_id}.zip"


def issue(home: Home, quarter: str, approver: str, view: View, note: str | None, key: Path | None = None) -> chain.Line:
    """Freeze the report of a quarter or fiscal year of the publication at the site of a home; returns its line in the chain.

    The caller holds the writer lock of the home.
    """
    publication = current_publication(home.site)
    if key:
        signing.public_key_of(key)  # before anything is written: a file that is no key is refused
    reports = home.root / "reports"
    lines = chain.lines_of(reports)
    if differences := list(chained.missing_lines(reports, home.landing.store.issued())):
        remedy = "Restore `reports/` from where it is backed up; `trainledger verify --landing` names what is missing."
        raise GateError(
            f"reports that were issued are missing: {differences[0]}", where=str(reports / chain.CHAIN), remedy=remedy
        )
    last = chain.last_of(lines, quarter)
    number = 1 + sum(line["quarter"] == quarter for line in lines)
    act = Issue(
        report_id=f"{quarter}-{number}",
        issued_at=f"{clock.now():%Y-%m-%dT%H:%M:%SZ}",
        approver=approver,
        prepared_by=require_two_people(home.settings, approver),
        supersedes=last["report_id"] if last else None,
    )
    with _new_folder(reports / chain.FOLDER, act.report_id) as folder:
        issued, deliveries = _write(home, quarter, act, view, note, publication, chained.head(lines), folder)
        (folder / MANIFEST).write_bytes(manifest_bytes(folder))
        archive = folder.parent / f"{act.report_id}.zip"
        write_zip(folder, archive, act.report_id)
        line = chained.line_of(folder, issued, deliveries)
        if key:
            put_signature(folder, key, "approver", allowed_signers(home.settings))
            write_zip(folder, archive, act.report_id)
        _put_in_place(folder, archive, reports / chain.FOLDER)
    written = chain.append(reports, line)
    modes.give(reports / chain.FOLDER, modes.as_in(reports))
    modes.give(reports / chain.CHAIN, modes.as_in(reports))
    _record_in_landing(home, [*lines, written])
    return written


def _record_in_landing(home: Home, lines: list[chain.Line]) -> None:
    """Let the landing know of every line, so that a chain whose end is gone is missed (chained.py).

    Those of an older version, and one that a killed command could not record any more, are recorded now.
    """
    known = {one.report_id for one in home.landing.store.issued()}
    for number, line in enumerate(lines, start=1):
        if line["report_id"] not in known:
            at = datetime.fromisoformat(line["issued_at"])
            one = IssuedLine(report_id=line["report_id"], number=number, line_sha256=chain.digest_of(line), issued_at=at)
            home.landing.store.put_record(one)


def current_publication(site: Site) -> dict[str, Any]:
    """What PUBLICATION.json states, if the present code made it: seeds and renderer in a pack are those of the code."""
    publication = site.publication()
    if publication is None or publication["code_version"] != code_version():
        what = "nothing is published yet" if publication is None else "the publication was made by another version of the code"
        raise UsageError(what, where=str(site.published_file), remedy="Run `trainledger refresh` first.")
    return publication


@contextmanager
def _new_folder(issued: Path, report_id: str) -> Iterator[Path]:
    """An empty folder beside the place of a report. What a killed command left of this report goes: it was never issued."""
    issued.mkdir(parents=True, exist_ok=True)
    for leftover in [*issued.glob(".*.writing"), issued / report_id]:
        shutil.rmtree(leftover, ignore_errors=True)
    (issued / f"{report_id}.zip").unlink(missing_ok=True)
    folder = issued / f".{report_id}.writing" / report_id
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder.parent, ignore_errors=True)


def _write(
    home: Home,
    quarter: str,
    act: Issue,
    view: View,
    note: str | None,
    publication: dict[str, Any],
    head: dict[str, Any],
    folder: Path,
) -> tuple[dict[str, Any], list[str]]:
    """Everything of a pack but what signs it; returns issue.json, and the deliveries that retention must keep for it.

    A draft is refused, and what it lacks is named.
    """
    settings = home.settings
    pack.write_data(home.site.published_file, folder / "data")
    pack.write_seeds(home.root, folder / "data" / "seeds")
    record = _render(settings, quarter, act, note, folder)
    with open_folder(folder / "data") as opened:
        started = opened.rows("select started_at from ops.builds")[0]["started_at"]
        named = pack.named_in(opened)
        pack.write_queries(folder, record, opened)
        (folder / "gates.json").write_bytes(canonical(opened.rows(GATES)))
        absent = {row["model"]: row["why"] for row in opened.rows(ABSENT)}
        ops = pack.ops_digests(folder / "data")
    asked, kept = {"as_of": view.as_of, "as_published": view.as_published}, {"name", "kind", "months", "book"}
    issue = {
        **asdict(act),
        "form": FORM,
        chained.HEAD: head,
        "quarter": quarter,
        "status": record["status"],
        "status_note": note,
        "organisation": settings.organisation.name,
        "policy": record["policy"],
        "view": {name: at.isoformat() if at else None for name, at in asked.items()},
        "build": {name: publication[name] for name in ("build_id", "fingerprint", "code_version", "units", "tables")}
        | {
            "absent": absent,
            "ops": ops,
            "started_at": f"{started.isoformat()}Z",
            "statements": _statements(home, publication["tables"]),
        },
        "rules": asdict(settings.rules),
        "sources": [source.model_dump(mode="json", include=kept) for source in settings.sources],
        "renderers": renderers(),
    }
    (folder / ISSUE).write_bytes(canonical(issue))
    pack.write_validations(folder, named, home.landing, home.sources)
    pack.write_code(folder / "code", publication["code_version"], record["report_code_sha256"])
    (folder / "README.md").write_text(README.format(**issue))
    (folder / crate.FILE).write_bytes(crate.crate_bytes(folder, issue))
    return issue, pack.cited(named, home.sources)


def _statements(home: Home, tables: Collection[str]) -> dict[str, str]:
    """A digest of the SQL that made each table, with all that it reads: another version compares those that it makes alike."""
    every = digests(home.root)
    return {name: every[name] for name in tables if name in every}


def _render(settings: Settings, quarter: str, act: Issue, note: str | None, folder: Path) -> Any:
    """Render the report from the data of a pack into it; returns its report.json."""
    rendered = folder.parent / "rendered"
    policy = policy_of(settings)
    render = render_year if is_year(quarter) else render_quarter
    report = render(folder / "data", rendered, quarter, settings.organisation.name, note, policy=policy, issue=act)
    if report.status == "draft":
        what = f"the report of {quarter} is a draft, and a draft is not issued: {' '.join(report.reasons).rstrip('.')}"
        raise GateError(what, remedy="Issue it when what is missing has been delivered.")
    report.html.parent.rename(folder / "report")
    return read_json(folder / "report" / "report.json")


def _put_in_place(folder: Path, archive: Path, issued: Path) -> None:
    """Force a pack and its zip to disk, and give both their names."""
    for path in [*folder.rglob("*"), archive, folder]:
        durable.sync(path)
    for path in (folder, archive):
        path.rename(issued / path.name)
    durable.sync(issued)
