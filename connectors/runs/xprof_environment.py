"""The run environment of a profile as XProf exports it (overview page, or the message as JSON): its type and number of cores.

A profile does not name its run: the folder run=<id> in its key does. Read from the fields of RunEnvironment in openxla/xprof:
from the schema, not yet seen in the wild. Power in profiles is read by another kind of source (xprof).
"""

from __future__ import annotations

from connectors.formats.tpu_names import tpu_type_of
from connectors.runs.fields import count, inner, text
from connectors.runs.forms import run_in_key
from connectors.runs.run_records import Document, RecordError, Row, record_rows


def is_environment(document: Document) -> bool:
    """Whether a document is a run environment, or a table of the overview page that carries one."""
    found = _fields(document)
    return "device_type" in found and ("host_count" in found or "device_core_count" in found)


def environment_rows(record: list[Document], key: str) -> list[Row]:
    """Return the rows of a profile's run."""
    found = _fields(record[0])
    run = run_in_key(key) or text(found, "run_name")
    if not run:
        raise RecordError("is missing: put a profile's files below a folder run=<id>", field="run", reason="missing_value")
    libtpu, jax = text(found, "libtpu_version"), text(found, "jax_version")
    fields = {
        "provider_name": "Google Cloud" if tpu_type_of(text(found, "device_type")) else None,
        "sdk_name": "libtpu" if libtpu else None,
        "sdk_version": libtpu,
        "framework": "jax" if jax else None,
        "framework_version": jax,
        **{name: text(found, name) for name in ("driver_version", "runtime_version")},
    }
    cores = count(found, "device_core_count")
    seen = [{"part": "progress", "progress_kind": "environment", "device_count": cores}] if cores else []
    return record_rows("xprof", run, fields, seen)


def _fields(document: Document) -> Document:
    """The fields by the names of the message: JSON of the message writes hostCount, the overview page host_count."""
    for name in ("runEnvironment", "run_environment", "p"):
        if isinstance(document.get(name), dict):
            document = inner(document, name)
    versions = document.get("softwareVersions") or document.get("software_versions")
    document = {**document, **(versions if isinstance(versions, dict) else {})}
    return {
        "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name): value
        for name, value in document.items()
    }
