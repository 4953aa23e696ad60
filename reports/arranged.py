"""A report of a quarter or of a fiscal year before it is on paper: its record, its page, its files."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reports.model import Figure, Section, Table
from reports.page import cells, printed, records, tree

BOARD_PAGES = 2


@dataclass(frozen=True)
class Arranged:
    """A span of a published file, as all its files state it."""

    record: dict[str, Any]
    page: str
    sections: list[Section]
    sheets: str = ""  # the pages for the board, as HTML that is a file nowhere; a year has none
    figures: list[Figure] = field(default_factory=list)
    vintage: Table | None = None

    @property
    def tables(self) -> list[Table]:
        first = [self.vintage] if self.vintage else []
        return [*first, *(table for section in self.sections for table in section.tables)]

    def workbook(self) -> bytes:
        from reports.page import workbook

        return workbook.document(self.record, self.figures, self.vintage, self.sections)

    def texts(self, book: bytes, write: Callable[[str], str] = str) -> dict[str, list[str]]:
        """What each document prints, by its file. `write` gives a word in the letters that the fonts of paper have."""
        body = tree.read(self.page)
        board = {"board.pdf": printed.of_paper(tree.read(self.sheets).elements, write)} if self.sheets else {}
        return {
            "report.html": printed.of_page(body),
            "report.pdf": printed.of_paper([body], write),
            **board,
            "report.xlsx": cells.texts(book),
        }

    def write(self, folder: Path) -> tuple[Path, ...]:
        """Write all files into a folder; returns those of the tables."""
        from reports.page import fonts, pdf  # a refresh knows reports and renders none: it does not load what sets them

        record, book = self.record, self.workbook()
        record["printed"] = {name: printed.digest(found) for name, found in self.texts(book, fonts.printable).items()}
        records.write_tables(folder / "tables", self.tables)
        records.write_file(folder / "report.json", json.dumps(record, ensure_ascii=False, indent=1) + "\n")
        records.write_file(folder / "report.html", self.page)
        records.write_file(folder / "report.pdf", pdf.document(self.page, record))
        if self.sheets:
            records.write_file(folder / "board.pdf", pdf.document(self.sheets, record, pages=BOARD_PAGES))
        records.write_file(folder / "report.xlsx", book)
        return tuple(folder / "tables" / f"{table.id}.csv" for table in self.tables if not table.absent)
