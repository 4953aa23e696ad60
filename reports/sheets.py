"""Sheets of models: a page and a JSON file for each, from one published file.

A model's name is somebody's text: what is no plain file name becomes one that nobody else's name can become.
"""

import json
import re
from hashlib import sha256
from pathlib import Path

from reports.errors import ModelError, PublicationError
from reports.page import records, sheet
from reports.publication import open_publication
from reports.sections.model_sheets import BOUNDARIES, FILED, Sheet, queries, sheets

FORMAT = 1
PLAIN = re.compile(r"[a-z0-9]([a-z0-9._-]{0,62}[a-z0-9])?")
OF_WINDOWS = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?")
MADE_HERE = re.compile(r".*-[0-9a-f]{12}")


def file_name(model: str) -> str:
    """llama-3.1-8b stays; what is more than that gets a digest of the name, so that no two models meet in one file.

    ../../x becomes x-<digest>. Capitals count as more: some file systems do not tell them apart.
    """
    if PLAIN.fullmatch(model) and not OF_WINDOWS.fullmatch(model) and not MADE_HERE.fullmatch(model):
        return model
    words = re.sub(r"[^a-z0-9]+", "-", model.lower()).strip("-")[:40].strip("-")
    return f"{words or 'model'}-{sha256(model.encode()).hexdigest()[:12]}"


def render_sheets(published: Path, out: Path, *, organisation: str, model: str | None = None) -> list[Path]:
    """Write the sheet of one model, or of all, into a folder. Returns the pages."""
    with open_publication(published) as publication:
        asked = queries(publication)
        if missing := publication.missing(" ".join(asked.values()) or "ops.report_pages"):
            raise PublicationError(f"There are no sheets of models: {missing}. Run `trainledger refresh` first.")
        found = sheets(publication, asked)
    if model is not None:
        names = [one.model for one in found]
        found = [one for one in found if one.model == model]
        if not found:
            known = (
                f"It has {', '.join(map(repr, names[:10]))}{' and others' if len(names) > 10 else ''}."
                if names
                else "It has none."
            )
            raise ModelError(f"The publication has no model {model!r}. {known}")
    pages = []
    for one in found:
        page = out / f"{file_name(one.model)}.html"
        records.write_file(
            page, sheet.page({"sheet": one, "filed": one.filed, "organisation": organisation, "boundaries": BOUNDARIES})
        )
        records.write_file(page.with_name(f"{file_name(one.model)}.json"), _json(one, organisation, asked))
        pages.append(page)
    return pages


def _json(one: Sheet, organisation: str, asked: dict[str, str]) -> str:
    record = {
        "sheet": "model",
        "format": FORMAT,
        "organisation": organisation,
        "model": one.model,
        "build": sheet.plain_rows([one.build])[0],
        "boundary_filed": FILED,
        "energy_is": "measured" if one.basis["is_measured"] else "estimated",
        "method": one.method,
        "energy": sheet.plain_rows(list(one.energy)),
        "runs": sheet.plain_rows(list(one.attempts)),
        "hardware": sheet.plain_rows(list(one.hardware)),
        "not_available": {"parameters": "not in this ledger", "inference": "the ledger holds training runs and no inference"},
        "sql": asked,
    }
    return json.dumps(record, ensure_ascii=False, indent=1) + "\n"
