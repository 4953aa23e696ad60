"""Rules of the documentation site, which mkdocs calls: the pages it has, their groups, and where their links lead.

Pages of docs/ are written to be read in the repository. A page outside docs/ to which one of them links (CHANGELOG.md) becomes a
page of the site; a link to anything else that is outside, or to a folder, keeps its words alone. What no group names is in
"Running it", so that a new page needs no line here.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from fnmatch import fnmatch
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

GROUPS = {
    "Start here": ("README.md", "repository.md", "tutorial.md", "faq.md", "glossary.md"),
    "Figures": (
        *("ledger-page.md", "reports.md", "contract.md", "queries.md", "entities.md"),
        *("why-this-cost.md", "evidence.md", "handover.md", "handover/*", "bi.md", "assistants.md"),
    ),
    "How they come about": ("methodology/*",),
    "Sources": ("sources/*",),
    "Running it": ("deploy/README.md", "operations.md", "recorder.md", "*"),
    "Working on it": ("CONTRIBUTING.md", "adding-a-source.md", "tests.md", "CHANGELOG.md"),
    "Decisions": ("adr/README.md", "adr/*"),
}
CODE_OR_LINK = re.compile(r"```.*?```|`[^`\n]+`|\[([^\]]*)\]\(([^)#\s]+)(#[^)\s]*)?\)", re.DOTALL)
FENCE = re.compile(r"(^```.*?^```)", re.DOTALL | re.MULTILINE)
INDENT = re.compile("^   ", re.MULTILINE)
BEFORE_ITEM = re.compile(r"^(    .*\n)(?=\d+\. )", re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages outside docs/ that pages of docs/ link to, and put all of them into groups."""
    folder = Path(config.docs_dir)
    for page in sorted({page for inside in folder.rglob("*.md") for page in _linked(inside) if folder not in page.parents}):
        place = page.relative_to(folder.parent).as_posix()
        place = "repository.md" if place == "README.md" else place  # docs/README.md is the first page
        files.append(File.generated(config, place, abs_src_path=str(page)))
    config.nav = [{name: pages} for name, pages in _grouped(file.src_uri for file in files.documentation_pages()).items()]
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The page with every link to a file of the repository as the site has it.

    What belongs to an item of a numbered list is indented by three here; mkdocs wants four, and a line between items.
    """
    places = {Path(file.abs_src_path): file.src_uri for file in files if file.abs_src_path}
    folder = posixpath.dirname(page.file.src_uri) or "."

    def led(link: re.Match[str]) -> str:
        words, target, section = link.groups(default="")
        if not target or "://" in target:
            return link[0]
        place = (Path(page.file.abs_src_path or config.docs_dir).parent / target).resolve()
        if place in places:
            return f"[{words}]({posixpath.relpath(places[place], folder)}{section})"
        return words if place.exists() else link[0]  # what leads nowhere is mkdocs's to refuse

    parts = FENCE.split(CODE_OR_LINK.sub(led, markdown))
    parts[::2] = [BEFORE_ITEM.sub(r"\1\n", INDENT.sub("    ", part)) for part in parts[::2]]
    return "".join(parts)


def _linked(page: Path) -> Iterable[Path]:
    targets = (link[2] for link in CODE_OR_LINK.finditer(page.read_text(encoding="utf-8")))
    places = ((page.parent / target).resolve() for target in targets if target and target.endswith(".md") and "://" not in target)
    return (place for place in places if place.exists())


def _grouped(pages: Iterable[str]) -> dict[str, list[str]]:
    """Each page in the first group that names it; `*` asks last."""
    ranked = [(pattern == "*", at, name) for name, patterns in GROUPS.items() for at, pattern in enumerate(patterns)]
    groups: dict[str, list[tuple[int, str]]] = {name: [] for name in GROUPS}
    for page in pages:
        _, at, name = min(rank for rank in ranked if fnmatch(page, GROUPS[rank[2]][rank[1]]))
        groups[name].append((at, page))
    return {name: [page for _, page in sorted(found)] for name, found in groups.items() if found}
