"""`trainledger mcp`: an assistant's questions to the publication, over standard input and output alone.

Named questions (reports/questions.py, reports/runs) and one read-only SELECT through the door (reports/door.py). The file is
opened anew for each question, so that an answer is of one publication. Nothing listens on a network; nothing is written.
"""

import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import duckdb
import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server

from dagster_project import __version__
from dagster_project.base.failures import TrainledgerError
from dagster_project.base.sql import literal
from dagster_project.commands.one_run import find_run
from dagster_project.evidence.tracing.answer import row_of, walked
from dagster_project.evidence.tracing.command import figure_of
from dagster_project.evidence.tracing.walk import PARTS, Walk, columns_of
from dagster_project.warehouse.home import Home
from reports import door
from reports.errors import ReportError
from reports.page.numbers import plain
from reports.publication import Publication
from reports.questions import (
    MOST_ROWS,
    Answer,
    QuestionError,
    account_of,
    answer,
    bounded,
    figure,
    publication_of,
    questions,
    words,
)

SECONDS, SECONDS_OF_TRACE, MEMORY = 20.0, 60.0, "1GB"
NO_FILE = "nothing is published yet. Run `trainledger refresh` first."


@dataclass(frozen=True)
class Question:
    """One tool: what it is about, what it asks for (needed or not), and what answers it."""

    about: str
    asks: Mapping[str, str]
    needs: tuple[str, ...]
    ask: Callable[[Home, Mapping[str, str]], Answer]

    @property
    def schema(self) -> dict[str, Any]:
        """JSON Schema of what it takes; all is text."""
        named = {name: {"type": "string", "description": words} for name, words in self.asks.items()}
        return {"type": "object", "properties": named, "required": [*self.needs], "additionalProperties": False}


def serve(home: Home) -> None:
    """Answer until standard input ends."""
    asked = all_questions()
    one_at_a_time = anyio.CapacityLimiter(1)  # each may take its memory

    async def list_tools(_: ServerRequestContext[Any], __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        reads = types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
        return types.ListToolsResult(
            tools=[
                types.Tool(name=name, description=one.about, input_schema=one.schema, annotations=reads)
                for name, one in asked.items()
            ]
        )

    async def call_tool(_: ServerRequestContext[Any], call: types.CallToolRequestParams) -> types.CallToolResult:
        found = await anyio.to_thread.run_sync(answered, home, asked, call.name, call.arguments or {}, limiter=one_at_a_time)
        text = types.TextContent(type="text", text=json.dumps(found, ensure_ascii=False))
        return types.CallToolResult(content=[text], structured_content=found, is_error="error" in found)

    async def run() -> None:
        server = Server(
            "trainledger", version=__version__, instructions=words("assistant"), on_list_tools=list_tools, on_call_tool=call_tool
        )
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    anyio.run(run)


def all_questions() -> dict[str, Question]:
    """Every question there is, by name."""

    def named(name: str) -> Question:
        one = questions()[name]
        return Question(one["about"], one["asks"], tuple(one.get("needs", ())), lambda home, asked: _named(home, name, asked))

    run = {"run": "Its id, or the id of its job or attempt elsewhere."}
    return {
        "why_run_cost": Question(words("why_run_cost"), run, ("run",), _one_run),
        **{name: named(name) for name in questions()},
        "trace_figure": Question(
            words("trace_figure").format(seconds=f"{SECONDS_OF_TRACE:g}"),
            {"figure": "The id of a figure, as an answer has it."},
            ("figure",),
            _trace,
        ),
        "select": Question(
            words("select").format(seconds=f"{SECONDS:g}", rows=MOST_ROWS), {"sql": "The SELECT."}, ("sql",), _select
        ),
    }


def answered(home: Home, asked: Mapping[str, Question], name: str, arguments: Mapping[str, Any]) -> Answer:
    """The answer within its bounds; of what cannot be answered the reason, without any place of this machine."""
    try:
        if name not in asked:
            raise QuestionError(f"There is no question {name[:60]!r}. There are: {', '.join(asked)}.")
        question = asked[name]
        _require(question, arguments)
        given = {part: str(value) for part, value in arguments.items() if value not in (None, "")}
        return bounded({"question": name, "asked": given, **question.ask(home, given)})
    except (TrainledgerError, ReportError) as error:
        reason = f"{error.what}. {error.remedy or ''}" if isinstance(error, TrainledgerError) else str(error)
    except duckdb.OutOfMemoryException:
        reason = f"It needs more than the {MEMORY} of memory that a question may take."
    except duckdb.Error as error:
        reason = f"It does not run: {str(error).splitlines()[0]}"
    return {"question": name[:60], "error": reason.strip().replace(str(home.root), "the home")[:2_000]}


def _require(question: Question, arguments: Mapping[str, Any]) -> None:
    for part in question.needs:
        if not arguments.get(part):
            raise QuestionError(f"It needs {part!r}: {question.asks[part]}")
    for part, value in arguments.items():
        if part not in question.asks:
            raise QuestionError(f"It does not take {part[:60]!r}; it takes {', '.join(question.asks)}.")
        if part == "month" and value and not re.fullmatch(r"\d{4}-\d{2}", str(value)):
            raise QuestionError(f"{str(value)[:20]!r} is no month. Write it like 2026-08.")


@contextmanager
def _opened(home: Home) -> Iterator[duckdb.DuckDBPyConnection]:
    """The published file, locked: no other file, no setting."""
    file = home.site.published_file
    if not file.exists():
        raise QuestionError(NO_FILE)
    with (
        tempfile.TemporaryDirectory(prefix="trainledger-mcp-") as spill,
        duckdb.connect(str(file), read_only=True, config=door.settings(Path(spill), MEMORY)) as connection,
    ):
        connection.execute("set TimeZone = 'UTC'; set search_path = 'marts,ops'; set enable_progress_bar = false")
        door.lock(connection)
        yield connection


@contextmanager
def _publication(home: Home) -> Iterator[Publication]:
    with _opened(home) as connection, door.time_limit(connection, SECONDS):
        yield Publication(connection)


def _one_run(home: Home, asked: Mapping[str, str]) -> Answer:
    with _publication(home) as publication:
        run_id = find_run(publication, asked["run"])
        return {"publication": publication_of(publication), **account_of(publication, run_id)}


def _named(home: Home, name: str, asked: Mapping[str, str]) -> Answer:
    with _publication(home) as publication:
        runs = {part: find_run(publication, asked[part]) for part in questions()[name].get("runs", ())}
        return {"publication": publication_of(publication), **answer(publication, name, {**asked, **runs})}


def _trace(home: Home, asked: Mapping[str, str]) -> Answer:
    with _publication(home) as publication:
        of, named = publication_of(publication), figure_of(home, asked["figure"])
        run_id = named.key.get("training_run_id") if named.table == "run_summary" else None
        of_run = account_of(publication, run_id)["figures"] if run_id else []
    with _walk(home) as walk, door.time_limit(walk.connection, SECONDS_OF_TRACE):
        _, kind = walked(walk, named)
        row = row_of(walk, named)
    shown = next((one for one in of_run if one["name"] == named.column), None)
    shown = shown or figure(row, named.column, _means(row, named.column), named.id)
    steps = [{name: plain(value) for name, value in step.record.items()} for step in walk.steps]
    return {"publication": of, "figure": shown, "class": kind, "made_of": steps, "sql": named.sql or None}


@contextmanager
def _walk(home: Home) -> Iterator[Walk]:
    """A walk over the published file alone, locked: it ends before parts of the bill, which are not in it."""
    with (
        tempfile.TemporaryDirectory(prefix="trainledger-mcp-") as spill,
        duckdb.connect(config=door.settings(Path(spill), MEMORY)) as connection,
    ):
        connection.execute(f"set TimeZone = 'UTC'; attach {literal(str(home.site.published_file))} as published (read_only)")
        door.lock(connection)
        yield Walk(connection, lambda *_: None, columns_of(connection), frozenset(PARTS))


def _means(row: Mapping[str, Any], name: str) -> dict[str, str]:
    """Where a published row has what a figure of it means, by the names of the contract."""
    ends = {"cost": "$billing_currency", "_kwh": "kWh", "_kgco2e": "kgCO2e", "_hours": "h", "_ratio": "1"}
    bare = re.sub("_(low|high)$", "", name)
    found = {
        "unit": "$unit" if "unit" in row else next((unit for end, unit in ends.items() if bare.endswith(end)), None),
        "confidence": next((f"${one}" for one in row if one.endswith("_confidence") or one in ("verdict", "mfu_basis")), None),
        "because": next((f"${one}" for one in row if one.endswith(("_because", "_reason")) or one == "reason"), None),
        "bounds": "the table has none",
    }
    return {what: where for what, where in found.items() if where}


def _select(home: Home, asked: Mapping[str, str]) -> Answer:
    with _opened(home) as connection:
        of = publication_of(Publication(connection))
        return {"publication": of, "rows": door.Door(connection, SECONDS).first_rows(asked["sql"], MOST_ROWS + 1)}
