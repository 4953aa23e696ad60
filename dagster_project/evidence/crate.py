"""`ro-crate-metadata.json`: the pack as an RO-Crate 1.1, for archives. It states nothing that the pack does not say elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dagster_project.base.durable import sha256_of
from dagster_project.evidence.manifest import OUTSIDE, canonical, files_below

FILE = "ro-crate-metadata.json"
SPECIFICATION = "https://w3id.org/ro/crate/1.1"
TYPES = {
    ".csv": "text/csv",
    ".html": "text/html",
    ".json": "application/json",
    ".md": "text/markdown",
    ".parquet": "application/vnd.apache.parquet",
    ".pdf": "application/pdf",
    ".sql": "application/sql",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
LICENCE = "#licence"


def crate_bytes(pack: Path, issue: Mapping[str, Any]) -> bytes:
    """The description of every file that is there; asked when all but the manifest are."""
    # who signs comes later than what is signed
    names = [name for name in files_below(pack) if name not in (*OUTSIDE, FILE)]
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": f"Evidence of report {issue['report_id']}: training runs of {issue['organisation']}, {issue['quarter']}",
        "description": "A quarterly report of cost, energy and emissions of training runs, with all that its figures rest on.",
        "datePublished": issue["issued_at"],
        "license": {"@id": LICENCE},
        "creator": [{"@id": "#preparer"}, {"@id": "#approver"}],
        "hasPart": [{"@id": name} for name in names],
    }
    rights = f"Rights are held by {issue['organisation']}; each factor and seed row names its own source and licence."
    licence = {"@id": LICENCE, "@type": "CreativeWork", "name": rights}
    preparer = {"@id": "#preparer", "@type": "Person", "name": issue["prepared_by"]}
    approver = {"@id": "#approver", "@type": "Person", "name": issue["approver"]}
    descriptor = {"@id": FILE, "@type": "CreativeWork", "conformsTo": {"@id": SPECIFICATION}, "about": {"@id": "./"}}
    files = [_file(pack, name) for name in names]
    context = [f"{SPECIFICATION}/context", {"sha256": "https://w3id.org/ro/terms/workflow-run#sha256"}]
    document = {"@context": context, "@graph": [descriptor, root, licence, preparer, approver, *files]}
    return canonical(document)


def _file(pack: Path, name: str) -> dict[str, Any]:
    path = pack / name
    return {
        "@id": name,
        "@type": "File",
        "name": path.name,
        "contentSize": str(path.stat().st_size),
        "encodingFormat": TYPES.get(path.suffix, "text/plain"),
        "sha256": sha256_of(path),
        "license": {"@id": LICENCE},
    }
