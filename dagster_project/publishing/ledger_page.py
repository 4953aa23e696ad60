"""`published/ledger/index.html`: the ledger on one page, of the file that is being published.

Written in two steps, as the Parquet is. What is new of its data goes to the disk beside what the page of now reads, under names
that no page knows yet; then one rename shows the new page, before the record that the publication is done. Killed in between,
readers have a whole page, and the next refresh publishes again. What is on it is in reports/ledger/.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dagster_project.base import durable, modes

if TYPE_CHECKING:
    import duckdb

    from dagster_project.publishing.digest import TableDigest
    from reports.ledger.page import Page

FOLDER, INDEX = "ledger", "index.html"


def write_data(connection: duckdb.DuckDBPyConnection, published: Path, digests: Sequence[TableDigest]) -> Page:
    """Write the data files that the page of the connection's file needs and that are not there."""
    from reports.ledger.page import page_of  # here: it imports the engine, which a refresh without news never needs
    from reports.publication import Publication

    folder = published / FOLDER
    there = {path.name for path in folder.glob("*.js")}
    page = page_of(Publication(connection), {one.table: one.partitions for one in digests}, there)
    folder.mkdir(exist_ok=True)
    durable.clear_unfinished(folder)
    for name, text in page.new.items():
        durable.write(folder / name, text)
    return page


def show_page(published: Path, page: Page) -> None:
    """Replace the page, whose data is on the disk, and remove data that it does not read."""
    folder = published / FOLDER
    durable.write(folder / INDEX, page.index)
    for path in folder.glob("*.js"):
        if path.name not in page.names:
            path.unlink()
    modes.give(folder, modes.as_in(published))
