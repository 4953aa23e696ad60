"""`make release`: `python -m tests.release FOLDER` refuses with every reason, or fills the folder with what is handed out."""

from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path

from tests.release import artefacts, checks


def main(folder: Path) -> int:
    """1 where something disagrees, each with its remedy; else 0 with the names and sizes of what was written."""
    refusals = [*checks.refusals(checks.ROOT, dt.datetime.now(dt.UTC).date())]
    for one in refusals:
        print(f"refused: {one.what}. {one.remedy}", file=sys.stderr)
    if refusals:
        print(f"nothing is released: {len(refusals)} reasons", file=sys.stderr)
        return 1
    artefacts.write(checks.ROOT, folder)
    for path in sorted(folder.iterdir()):
        print(f"{path.stat().st_size:>10,} {path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
