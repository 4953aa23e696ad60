"""Whether two renderings of the same publications have the same figures: every value, row, order, title and unit of their JSON.

What a change of code alone may move is left out: SQL, digests of code, names of models. `python -m tests.reports.equal_reports
BEFORE AFTER` compares two folders of reports, and each difference is a line.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LEFT_OUT = frozenset({"sql", "report_code_sha256", "model"})


def differences(before: Path, after: Path) -> Iterator[str]:
    """Each place at which the JSON files of two folders differ."""
    for file in sorted({path.relative_to(folder) for folder in (before, after) for path in folder.rglob("*.json")}):
        if missing := [str(folder) for folder in (before, after) if not (folder / file).exists()]:
            yield f"{file}: not in {missing[0]}"
        else:
            was, now = (json.loads((folder / file).read_bytes()) for folder in (before, after))
            yield from (f"{file}{line}" for line in _differing(was, now, ""))


def _differing(was: Any, now: Any, place: str) -> Iterator[str]:
    if isinstance(was, dict) and isinstance(now, dict):
        for name in dict.fromkeys((*was, *now)):
            if name not in LEFT_OUT:
                yield from _differing(was.get(name, "(absent)"), now.get(name, "(absent)"), f"{place}/{name}")
    elif isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        for number, pair in enumerate(zip(was, now, strict=True)):
            yield from _differing(*pair, f"{place}/{number}")
    elif was != now or type(was) is not type(now):
        yield f"{place}: {str(was)[:200]} became {str(now)[:200]}"


if __name__ == "__main__":
    found = [*differences(Path(sys.argv[1]), Path(sys.argv[2]))]
    print("\n".join(found) or "equal")
    sys.exit(bool(found))
