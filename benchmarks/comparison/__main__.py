"""`python -m benchmarks.comparison [WORD ...]`: worlds whose name has a word, or all and the table of the page with them."""

from __future__ import annotations

import sys
import tempfile
from functools import partial
from pathlib import Path

from benchmarks.comparison.counting import GIVEN, KEPT, counted, table
from benchmarks.comparison.worlds import EVERY

PAGE = Path(__file__).parents[2] / "docs" / "methodology" / "comparison.md"
BEGIN, END = "<!-- benchmarks/comparison: begin -->\n", "<!-- benchmarks/comparison: end -->"
SEED = 24


def main(words: list[str]) -> None:
    """Count and print; write the page where nothing was left out."""
    from tests.comparison.published import Models, make_template  # what compiles the models, for tests as well

    chosen = [world for world in EVERY if not words or any(word in world.name for word in words)]
    with tempfile.TemporaryDirectory() as folder:
        template = Path(folder) / "template"
        make_template(template)
        decide = partial(Models(template, GIVEN, ["rpt_trainium_vs_tpu"], KEPT).decide, worlds=True)
        rows = []
        for world in chosen:
            rows.append(counted(world, decide, SEED))
            print(world.name, rows[-1].false, rows[-1].found, file=sys.stderr, flush=True)
    print(table(rows))
    if not words:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}{table(rows)}\n{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
