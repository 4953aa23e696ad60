"""What a refresh came to, as JSON for programs; docs/operations.md promises the shape."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from dagster_project.commands.refreshing import Refreshed


def json_text(done: Refreshed, publication: dict[str, Any] | None) -> str:
    """One document; `publication` is PUBLICATION.json as it is after the refresh, whether this one wrote it or an earlier one."""
    published = publication or {}
    document = {
        "exit_code": done.exit_code,
        "is_published": done.built is not None,
        "build_id": published.get("build_id"),
        "new_deliveries": dict(Counter(landed.source for landed in done.landed if landed.outcome == "landed")),
        "rows": published.get("rows", {}),
        "problems": done.problems,
    }
    return json.dumps(document, indent=2, ensure_ascii=False)
