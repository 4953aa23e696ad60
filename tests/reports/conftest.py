"""The usual published file, written once per test file; tests only read it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from jinja2 import Environment

from tests.reports.published_fixture import write_published

_code: dict[tuple, Any] = {}
_compile = Environment.compile


def _compiled_once(self: Environment, *template: Any) -> Any:
    """A template's code by its text and name: a report compiles four, and a hundred tests make one."""
    if template not in _code:
        _code[template] = _compile(self, *template)
    return _code[template]


@pytest.fixture(scope="module", autouse=True)
def _templates() -> Iterator[None]:
    with mock.patch.object(Environment, "compile", _compiled_once):
        yield


@pytest.fixture(scope="module", autouse=True)
def _paper() -> Iterator[None]:
    """No PDF, no workbook and no digest of them but where a file asks for them: they are most of what a report costs."""
    documents = ("report.html", "report.pdf", "board.pdf", "report.xlsx")
    with (
        mock.patch("reports.page.pdf.document", return_value=b"%PDF-"),
        mock.patch("reports.page.workbook.document", return_value=b"PK"),
        mock.patch("reports.quarterly.Arranged.texts", return_value=dict.fromkeys(documents, ())),
    ):
        yield


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_published(tmp_path_factory.mktemp("published") / "trainledger.duckdb")
