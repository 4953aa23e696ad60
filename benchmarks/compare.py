"""Compare the code of this checkout with another release on the same inputs, in turns: `python -m benchmarks.compare --base REF`.

The other release is checked out beside the inputs and run with the libraries of this environment; where its own were others,
compare in an environment of its own.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
from itertools import takewhile
from pathlib import Path
from typing import Any

from benchmarks.__main__ import read_family, say
from benchmarks.families import FAMILIES
from benchmarks.homes import ROOT, Bench, Product

Rows = dict[str, list[dict[str, Any]]]


def git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.strip()


def last_release() -> str:
    """The newest tag, or where none is: the last commit before the CHANGELOG began a section behind its newest release."""
    if tags := git("tag", "--merged", "HEAD", "--sort=-version:refname").splitlines():
        return tags[0]
    sections = re.findall(r"^## .*", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    unreleased = list(takewhile(lambda section: section.endswith("(not released)"), sections))
    heading = unreleased[-1].removesuffix(" (not released)") if unreleased else ""
    began = git("log", "--format=%H", f"-S{heading}", "--", "CHANGELOG.md").splitlines() if heading else []
    if not began:
        raise SystemExit("No release is tagged, nor to be found by the CHANGELOG. Name one: make bench-compare BASE=<git ref>")
    return git("rev-parse", "--short", f"{began[-1]}^")


def checked_out(reference: str, work: Path) -> Path:
    """The tree of a git reference, without its history."""
    tree = work / f"tree-{git('rev-parse', '--short', f'{reference}^{{commit}}')}"
    if not (tree / "dagster_project").is_dir():
        shutil.rmtree(tree, ignore_errors=True)
        tree.mkdir(parents=True)
        packed = subprocess.run(["git", "archive", reference], cwd=ROOT, capture_output=True, check=True).stdout
        subprocess.run(["tar", "-x", "-C", str(tree)], input=packed, check=True)
    return tree


def compare(base: Bench, head: Bench, only: set[str], turns: int) -> list[dict[str, Any]]:
    """For each measure the values of both, base first in each turn, and the ratio of their medians."""
    compared = []
    for family in FAMILIES:
        read: tuple[Rows, Rows] = ({}, {})
        for _ in range(turns):
            for bench, rows in zip((base, head), read, strict=True):
                for one in read_family(bench, family, only):
                    rows.setdefault(one["name"], []).append(one)
        for name, before in read[0].items():
            compared.append(_both(name, before, read[1][name]))
    return compared


def _both(name: str, before: list[dict[str, Any]], after: list[dict[str, Any]]) -> dict[str, Any]:
    was, now = ([one["value"] for one in rows if one["value"] is not None] for rows in (before, after))
    middle = [sorted(values)[len(values) // 2] if values else None for values in (was, now)]
    ratio = round(middle[1] / middle[0], 3) if middle[0] and middle[1] is not None else None
    reasons = {one["reason"] for one in (*before, *after) if one["value"] is None}
    unit = after[0]["unit"]
    return {
        "name": name,
        "unit": unit,
        "base": was,
        "head": now,
        "head_over_base": ratio,
        "reason": "; ".join(sorted(filter(None, reasons))) or None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__)
    parser.add_argument("--base", help="a git reference; the last release if absent")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="a measure or a family")
    parser.add_argument("--full-size", action="store_true", help="the sizes of the goals; quick ones if absent")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--work", type=Path, default=Path("trainledger-benchmarks"))
    asked = parser.parse_args()
    work, reference = asked.work.resolve(), asked.base or last_release()
    products = Product(checked_out(reference, work)), Product()
    base, head = (Bench(work, product, not asked.full_size, rounds=1) for product in products)
    compared = compare(base, head, set(asked.only), asked.turns)
    for one in compared:
        result = one["head_over_base"] or one["reason"]
        say(f"{one['name']:32} {reference} {one['base']}  here {one['head']} {one['unit']}: {result}")
    document = {"base": reference, "measures": compared}
    (work / "compare.json").write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
