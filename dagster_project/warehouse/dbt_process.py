"""dbt as a process that does not outlive the one that started it.

A refresh that is killed must not leave a dbt behind that goes on writing the build file when nobody holds the writer
lock. Run by path: it knows nothing of the product, which takes a word from it.
"""

import ctypes
import gc
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG = 1
# dbt lays out each of some 4,000 debug events as text, for the terminal and for a file, before it asks whether that level
# is wanted: a quarter of a small build. Without its loggers the events that people read are told by `tell` below.
NO_LOGGERS = ("--log-level", "none", "--log-level-file", "none")
LAY_OUT = "lay-out"


def follow(parent: int) -> None:
    """Die with the parent: told by the kernel where it is Linux, else found out twice a second."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before the line above
            os._exit(1)
        return

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def limit_memory(limit: str) -> None:
    """Give the engine no more memory than this; the rest goes to the disk, beside the build file.

    By its connection and not by the profile: dbt parses the whole project again when a profile says something else.
    """
    import duckdb

    engine: Any = duckdb
    connect = engine.connect

    def limited(path: Any, *, config: Any = None, **options: Any) -> Any:
        return connect(path, config={**(config or {}), "memory_limit": limit}, **options)

    engine.connect = limited


def tell(event: Any) -> None:
    """Print a warning or an error of dbt, for the message of who started it."""
    if event.info.level in ("warn", "error"):
        sys.stdout.write(f"{event.info.msg}\n")  # in one piece: two threads that print mix their lines
        sys.stdout.flush()


def leave_out_unit_tests() -> None:
    """Have dbt not read examples: rendering each of their cells is a tenth of laying out, and no build runs one.

    As a file .dbtignore would, but for this command alone: `dbt test` finds them, and adds them to a parse state without them.
    """
    from dbt.parser import read_files
    from pathspec import GitIgnoreSpec

    read_files.generate_dbt_ignore_spec = lambda _: GitIgnoreSpec.from_lines(["*_unit_tests.yml"])


def compile_templates_once() -> None:
    """Keep what Jinja makes of a text: dbt asks for half of all texts again, which is a tenth of laying out the project.

    Models are rendered when they are parsed and when they are compiled; `{{ doc("usage_month") }}` is a hundred descriptions.
    """
    from jinja2 import Environment

    made: dict[tuple[Any, ...], Any] = {}
    anew: Any = Environment.compile

    def compile_once(self: Environment, source: Any, name: Any = None, filename: Any = None, *options: Any, **named: Any) -> Any:
        if options or named or not isinstance(source, str):
            return anew(self, source, name, filename, *options, **named)
        key = (type(self), source, name, filename)
        if key not in made:
            made[key] = anew(self, source, name, filename)
        return made[key]

    Environment.compile = compile_once  # type: ignore[method-assign]


def parse_texts_once() -> None:
    """Keep what dbt reads in a text, a description or a macro, as its own tests do: of most it asks again."""
    from dbt_common.tests import enable_test_caching

    enable_test_caching()


def validate_once() -> None:
    """Compare equal parts of the project with their JSON schema once, half of the time that takes.

    And leave out of a schema what it takes for absent fields, which decides nothing and has code compiled for each field.
    """
    from dbt_common.dataclass_schema import dbtClassMixin
    from mashumaro.jsonschema import schema

    valid = set[tuple[Any, str]]()
    anew: Any = dbtClassMixin.__dict__["validate"].__func__

    def validate(cls: Any, data: Any) -> None:
        key = (cls, repr(data))
        if key not in valid:
            anew(cls, data)
            valid.add(key)

    dbtClassMixin.validate = classmethod(validate)  # type: ignore[assignment,method-assign]
    schema._default = lambda *_: None


def write_json_at_once() -> None:
    """Write a document of megabytes from one text: `dump` goes through it piece by piece, in eight times the time."""
    json.dump = lambda document, file, **options: file.write(json.dumps(document, **options))


def run(arguments: list[str]) -> int:
    """Run one dbt command and print its warnings and errors. Returns 1 when a model or test failed, 2 when dbt did not work.

    Of its artifacts a run leaves run_results.json only: the manifest, of megabytes, is where the project was parsed. The command
    LAY_OUT is `parse` and then `compile` in this one process: importing dbt costs as much as compiling all models.
    """
    from dbt.artifacts.schemas.run import RunExecutionResult
    from dbt.cli.main import dbtRunner
    from dbt_common.events.base_types import BaseEvent, EventLevel
    from dbt_common.events.event_manager import EventManager
    from dbt_common.events.event_manager_client import ctx_set_event_manager

    class WithoutDebug(EventManager):
        """Debug events are not turned into messages: nobody reads them here."""

        def fire_event(self, e: BaseEvent, level: EventLevel | None = None, *others: Any, **named: Any) -> None:
            if (level or e.level_tag()) is not EventLevel.DEBUG:
                super().fire_event(e, level, *others, **named)

    ctx_set_event_manager(WithoutDebug())
    compile_templates_once()
    command, *options = arguments
    manifest: Any = None
    if command == LAY_OUT:
        leave_out_unit_tests()
        parse_texts_once()
        validate_once()
        write_json_at_once()
        done = dbtRunner(callbacks=[tell]).invoke(["parse", *options, *NO_LOGGERS])
        if not done.success:
            return _ended(done)
        command, manifest = "compile", done.result
    done = dbtRunner(manifest=manifest, callbacks=[tell]).invoke([command, *options, *NO_LOGGERS, "--no-write-json"])
    if isinstance(done.result, RunExecutionResult):
        done.result.write(str(Path(os.environ["DBT_TARGET_PATH"]) / "run_results.json"))
    return _ended(done)


def _ended(done: Any) -> int:
    """The exit code of a command of dbt."""
    if done.exception is not None:
        print(done.exception, flush=True)  # of an option that dbt does not know there is no event
        return 2
    return 0 if done.success else 1


if __name__ == "__main__":
    follow(int(sys.argv.pop(1)))  # the launcher's parent; asking here could come too late
    if folder := os.environ.get("TRAINLEDGER_BUILD_FOLDER"):
        os.chdir(folder)  # the profile names the build file without one
    if limit := os.environ.get("TRAINLEDGER_MEMORY_LIMIT"):
        limit_memory(limit)
    gc.disable()  # a tenth of a small build went into it; the process ends with its one command
    if os.environ.get("TRAINLEDGER_TELL_EVENTS"):
        sys.exit(run(sys.argv[1:]))
    from dbt.cli.main import cli

    sys.argv[0] = "dbt"
    cli()
