"""What the project may weigh: `python -m tests.budget` counts it, tests/budget.json bounds it, tests/test_budget.py compares.

A bound is raised in a commit that gives the reason, by `python -m tests.budget --write`; `--dialect` lists each word of the
private dialect with its place. Between `<!-- generated -->` and `<!-- end of generated -->` a page counts no words: a program
wrote them. Seconds of `make test` are printed beside their bound (tests/nightly.py) and bind no machine: a busy one is slower.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUDGET = ROOT / "tests" / "budget.json"
PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "docs/**/*.md")
CODE = tuple(
    f"{folder}/**/*.{ending}"
    for folder in ("connectors", "dagster_project", "recorder", "reports", "dbt/*s", "benchmarks", "tests")
    for ending in ("py", "sql", "yml", "md", "j2", "html")
)
UNCOUNTED = {"tests/budget.py", "tests/test_budget.py"}  # they name the words
GENERATED = re.compile(r"<!-- generated\b.*?<!-- end of generated -->", re.DOTALL)

# verbs that things do in no other project, and the word for a gap that they come with
DIALECT = re.compile(r"(?<![a-z])(says|said|told|tells|nobody|stands)(?![a-z])", re.IGNORECASE)
# who can speak may: a person or a company states something, a standard too where its name is the subject
SPEAKERS = (
    "AWS|Amazon|Google|NVIDIA|MLCommons|vendor|provider|protocol|author|auditor|reader|person|somebody|user|who|you|we|they"
)
SPOKEN = re.compile(rf"\b({SPEAKERS})s?[ \n]+(?:itself[ \n]+|also[ \n]+)?(?:says|said|tells|told)\b", re.IGNORECASE)
QUOTED = re.compile(r"“[^”]{0,400}”")  # other people's words


def files(*patterns: str) -> Iterator[Path]:
    """Files of the patterns, without what programs leave in a checkout."""
    for pattern in patterns:
        for path in sorted(ROOT.glob(pattern)):
            if (
                not {"__pycache__", "target", "dbt_packages", "logs"} & {*path.parts}
                and str(path.relative_to(ROOT)) not in UNCOUNTED
            ):
                yield path


def text(path: Path) -> str:
    """What a person wrote of a file; generated parts leave their line ends."""
    return GENERATED.sub(lambda part: "\n" * part.group().count("\n"), path.read_text(encoding="utf-8"))


def dialect(*patterns: str) -> Iterator[tuple[Path, int, str]]:
    """Each word of the dialect with its file and line; a name of several words has several."""
    for path in files(*patterns):
        found = text(path)
        spared = [match.span() for pattern in (SPOKEN, QUOTED) for match in pattern.finditer(found)]
        for match in DIALECT.finditer(found):
            if not any(first <= match.start() < last for first, last in spared):
                yield path, found.count("\n", 0, match.start()) + 1, match.group().lower()


def per_10_000(*patterns: str) -> float:
    """How many words of the dialect there are in 10,000; `told_by` is two words."""
    words = sum(len(re.findall(r"[A-Za-z]+", text(path))) for path in files(*patterns))
    return round(10_000 * sum(1 for _ in dialect(*patterns)) / max(words, 1), 1)


def lines(folder: str) -> int:
    """Lines of Python below a folder."""
    return sum(path.read_text(encoding="utf-8").count("\n") for path in files(f"{folder}/**/*.py"))


def counted() -> dict[str, dict[str, float]]:
    """Every figure that has a bound, as it is now."""
    demo = lines("dagster_project/demo")
    folders = {name: lines(name) for name in ("connectors", "recorder", "reports", "tests", "benchmarks")}
    return {
        "lines of Python": {"dagster_project": lines("dagster_project") - demo, "demo": demo, **folders},
        "words of pages": {
            "docs and changelog": sum(len(text(path).split()) for path in files("docs/**/*.md", "CHANGELOG.md")),
            "decisions": sum(1 for _ in files("docs/adr/[0-9]*.md")),
        },
        "dialect per 10,000 words": {"pages": per_10_000(*PAGES), "code": per_10_000(*CODE)},
    }


def bounds() -> dict[str, dict[str, float]]:
    """What tests/budget.json allows."""
    return json.loads(BUDGET.read_bytes())


def main(arguments: list[str]) -> None:
    """Print what is counted beside what is allowed; `--write` makes the one the other."""
    if "--dialect" in arguments:
        for path, line, word in dialect(*PAGES, *CODE):
            print(f"{path.relative_to(ROOT)}:{line}: {word}")
        for name, patterns in {"pages": PAGES, "code": CODE}.items():
            print(name, per_10_000(*patterns), dict(Counter(word for _, _, word in dialect(*patterns))))
        return
    found, allowed = counted(), bounds() if BUDGET.exists() else {}
    for part, figures in found.items():
        for name, figure in figures.items():
            print(f"{part}: {name:20} {figure:>10,} of {allowed.get(part, {}).get(name, 0):>10,}")
    if "--write" in arguments:
        BUDGET.write_text(json.dumps(allowed | found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
