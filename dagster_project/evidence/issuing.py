"""Issuing a report: two people, one publication, one folder that never changes again.

A pack is written beside its place, forced to disk and renamed into it, its zip likewise; the line of the chain is last and makes
the report issued. Killed anywhere before, there is no issued report, and the next command removes what was left.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dagster_project.base import clock, durable, modes
from dagster_project.base.code import code_version
from dagster_project.base.failures import GateError, UsageError
from dagster_project.election.winners import View
from dagster_project.evidence import chain, pack, signing
from dagster_project.evidence.crate import write_crate
from dagster_project.evidence.manifest import MANIFEST, SIGNATURE, canonical, manifest_bytes, write_zip
from dagster_project.publishing.reporting import policy_of, render_quarter
from dagster_project.settings import Settings, SourceSettings
from dagster_project.warehouse import modelling
from dagster_project.warehouse.home import Home
from dagster_project.warehouse.site import Site
from reports.issue import Issue
from reports.publication import open_folder

ISSUE = "issue.json"
IN_THE_LINE = ("report_id", "quarter", "status", "issued_at", "prepared_by", "approver", "supersedes")  # of issue.json
MOST_RETAINED = ("bill", "carbon")  # facts of which retention removes deliveries; a line cites those it must keep


@dataclass(frozen=True, slots=True)
class Issued:
    """The zip of an issued report, and its line in the chain."""

    zip: Path
    line: chain.Line


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


def issue(home: Home, quarter: str, approver: str, view: View, note: str | None, key: Path | None = None) -> Issued:
    """Freeze the report of a quarter of the publication at the site of a home. The caller holds the writer lock of the home."""
    prepared_by = require_two_people(home.settings, approver)
    publication = current_publication(home.site)
    public_key = signing.public_key_of(key) if key else None
    reports = home.root / "reports"
    lines = chain.lines_of(reports)
    last = chain.last_of(lines, quarter)
    number = 1 + sum(line["quarter"] == quarter for line in lines)
    act = Issue(
        report_id=f"{quarter}-{number}",
        issued_at=f"{clock.now():%Y-%m-%dT%H:%M:%SZ}",
        approver=approver,
        prepared_by=prepared_by,
        supersedes=last["report_id"] if last else None,
        is_signed=key is not None,
    )
    with _new_folder(reports / chain.FOLDER, act.report_id) as folder:
        issued = _write(home, quarter, act, view, note, publication, folder, public_key)
        manifest = manifest_bytes(folder)
        (folder / MANIFEST).write_bytes(manifest)
        if key:
            (folder / SIGNATURE).write_bytes(signing.sign(key, manifest))
        target, archive = _put_in_place(folder, reports, act.report_id)
    line = chain.append(reports, _line(home.sources, issued, target, archive, public_key))
    modes.give(reports / chain.FOLDER, modes.as_in(reports))
    modes.give(reports / chain.CHAIN, modes.as_in(reports))
    return Issued(archive, line)


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
    folder: Path,
    public_key: bytes | None,
) -> dict[str, Any]:
    """Everything of a pack but its manifest; returns issue.json. A draft is refused, and what it lacks is named."""
    settings = home.settings
    pack.write_data(home.site.published_file, folder / "data")
    pack.write_seeds(modelling.project(home.root), folder / "data" / "seeds")
    record = _render(settings, quarter, act, note, folder)
    if public_key:
        (folder / signing.PUBLIC_KEY).write_bytes(public_key)
    with open_folder(folder / "data") as opened:
        started = opened.rows("select started_at from ops.builds")[0]["started_at"]
    asked, kept = {"as_of": view.as_of, "as_published": view.as_published}, {"name", "kind", "months", "book"}
    issue = {
        **asdict(act),
        "quarter": quarter,
        "status": record["status"],
        "status_note": note,
        "organisation": settings.organisation.name,
        "policy": record["policy"],
        "view": {name: at.isoformat() if at else None for name, at in asked.items()},
        "build": {name: publication[name] for name in ("build_id", "fingerprint", "code_version", "units", "tables")}
        | {"started_at": f"{started.isoformat()}Z"},
        "rules": asdict(settings.rules),
        "sources": [source.model_dump(mode="json", include=kept) for source in settings.sources],
        "renderers": pack.renderers(),
    }
    (folder / ISSUE).write_bytes(canonical(issue))
    pack.write_queries(folder)
    pack.write_gates(folder)
    pack.write_validations(folder, home.landing, home.sources)
    pack.write_code(folder / "code", publication["code_version"], record["report_code_sha256"])
    (folder / "README.md").write_text(pack.README.format(**issue))
    write_crate(folder, issue)
    return issue


def _render(settings: Settings, quarter: str, act: Issue, note: str | None, folder: Path) -> dict[str, Any]:
    """Render the report from the data of a pack into it; returns its report.json."""
    rendered = folder.parent / "rendered"
    policy = policy_of(settings.reporting)
    report = render_quarter(folder / "data", rendered, quarter, settings.organisation.name, note, policy=policy, issue=act)
    if report.status == "draft":
        raise GateError(
            f"the report of {quarter} is a draft, and a draft is not issued: {' '.join(report.reasons).rstrip('.')}",
            remedy="Issue it when what is missing has been delivered.",
        )
    (rendered / quarter).rename(folder / "report")
    record: dict[str, Any] = json.loads((folder / "report" / "report.json").read_bytes())
    return record


def _put_in_place(folder: Path, reports: Path, report_id: str) -> tuple[Path, Path]:
    """Force a pack to disk, zip it, and give both their names."""
    archive = folder.parent / f"{report_id}.zip"
    write_zip(folder, archive, report_id)
    for path in [*folder.rglob("*"), archive, folder]:
        durable.sync(path)
    issued = reports / chain.FOLDER
    target = issued / report_id
    folder.rename(target)
    archive.rename(issued / archive.name)
    durable.sync(issued)
    return target, issued / archive.name


def _line(
    sources: list[SourceSettings], issued: Mapping[str, Any], folder: Path, archive: Path, public_key: bytes | None
) -> chain.Line:
    """The line of the chain. It names the deliveries that retention could remove, and the build whose validations stay."""
    kept = [str(source.name) for source in sources if source.facts.fact in MOST_RETAINED]
    with open_folder(folder / "data") as opened:
        rows = opened.rows("select source_name, content_hash from ops.dim_deliveries where is_elected order by all")
    return {
        **{name: issued[name] for name in IN_THE_LINE},
        "build_id": issued["build"]["build_id"],
        "manifest_sha256": durable.sha256_of(folder / MANIFEST),
        "zip_sha256": durable.sha256_of(archive),
        "public_key_sha256": signing.fingerprint(public_key) if public_key else None,
        "deliveries": sorted({row["content_hash"] for row in rows if row["source_name"] in kept}),
    }
