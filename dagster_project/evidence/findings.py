"""What the verification of an issued report came to, in lines or as JSON, and the exit code."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

NOT_COMPARED = 3


@dataclass(slots=True)
class Findings:
    """What verification came to: signatures, differences, what could not be compared here, and what was compared."""

    differences: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    issued: dict[str, Any] = field(default_factory=dict)  # issue.json
    signed: list[str] = field(default_factory=list)  # who vouches for it, if anybody does: printed before all else
    groups: list[str] = field(default_factory=list)  # sources of which it rests on groups that an engine made, in words
    is_partial: bool = False  # something could not be compared here, which a remark names

    @property
    def exit_code(self) -> int:
        """1 where something differs, 3 where not every table, or no figure and no table, could be compared."""
        compared = self.counts.get("figures", 0) + self.counts.get("rebuilt", 0)
        return 1 if self.differences else 0 if compared and not self.is_partial else NOT_COMPARED


def tell_findings(found: Findings, tell: Callable[[str], None], *, as_json: bool = False) -> int:
    """Tell who signed it, what differs, what cannot be compared here, and how much was compared. Returns the exit code."""
    code, report_id = found.exit_code, found.issued.get("report_id")
    if as_json:
        differing = {"differences": found.differences, "remarks": found.remarks}
        differing |= {"groups": found.groups} if found.groups else {}
        tell(
            json.dumps(
                {"exit_code": code, "signatures": found.signed, "report_id": report_id, **found.counts, **differing}, indent=2
            )
        )
        return code
    for text in found.signed:
        tell(text)
    for text in found.differences:
        tell(f"differs: {text}")
    for text in (*found.remarks, *found.groups):
        tell(text)
    if code == NOT_COMPARED and not found.is_partial:
        tell("Nothing could be compared: the report has no figure with SQL.")
    elif not found.differences:
        counts = {"figures": 0, "rendered": 0, "texts": 0, "documents": 0} | found.counts
        rebuilt = f"; {counts['rebuilt']} tables rebuilt from the landing" if "rebuilt" in counts else ""
        report = f"{report_id} is{', as far as it could be compared,' if found.is_partial else ''} as it was issued"
        files, figures, rendered = (counts[name] for name in ("files", "figures", "rendered"))
        read = f"{counts['texts']} texts and cells of {counts['documents']} documents read back"
        tell(f"{report}: {files} files, {figures} figures from their SQL, {read}, {rendered} files rendered again{rebuilt}.")
    return code
