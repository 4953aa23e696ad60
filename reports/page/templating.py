"""The templates of every page: strict about what is missing, and a name on a page is text that shows its invisible characters."""

from pathlib import Path

import jinja2
from markupsafe import Markup

from reports.page.charts import fitted
from reports.page.names import visible


def environment() -> jinja2.Environment:
    """A new environment of the templates beside this module."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).resolve().parent / "templates"),
        autoescape=True,
        finalize=lambda value: visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["fitted"] = fitted
    return made
