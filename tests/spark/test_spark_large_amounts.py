"""Models that had to be given room give the same rows on Spark where amounts are a million times as large.

A whole build on Spark takes minutes; here each of these models alone reads the tables that DuckDB built of the enlarged rows.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import jinja2
import pytest

from dagster_project.base.dbt_project import project_folder
from dagster_project.publishing.digest import literal
from dagster_project.warehouse import spark_process, statements
from tests import warm
from tests.enlarged import enlarge, run_all
from tests.line.kit import NOW
from tests.oracle.any_google import write_any_google
from tests.oracle.google_builders import GoogleExports
from tests.spark.test_spark_parity import require_spark

pytestmark = [pytest.mark.slow, pytest.mark.nightly]
FACTOR = 1_000_000
GIVEN_ROOM = ("int_line_overlaps", "int_run_region_energy")
ALL_MONTHS = {"in_build_months": "true", "of_built_months": "true"}  # macros that choose the months of a build


@pytest.fixture(scope="module")
def enlarged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A build file of a drawn organisation with every model built of enlarged rows, by DuckDB."""
    require_spark()
    exports = GoogleExports(tmp_path_factory.mktemp("drawn"))
    write_any_google(exports, 2026)
    done = warm.run_trainledger("refresh", "--config", exports.config(), now=NOW)
    assert done.returncode in (0, 3), done.stdout + done.stderr
    [built] = exports.folder.rglob("build.duckdb")
    copy = Path(shutil.copy(built, tmp_path_factory.mktemp("larger") / "build.duckdb"))
    with duckdb.connect(str(copy)) as connection:
        enlarge(connection, FACTOR)
        months = [str(month) for (month,) in connection.execute("from raw.build_months").fetchall()]
        run_all(connection, [one for one in statements.statements(copy.parent) if not one.is_test], months)
    return copy


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory, enlarged: Path) -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_SUBMIT_ARGS", "--master local[1] --conf spark.sql.shuffle.partitions=1 pyspark-shell")
        session = spark_process.open_session(tmp_path_factory.mktemp("spark"))
        yield session
        spark_process.end(session)


def rendered(model: str, table: Callable[[str], str]) -> str:
    """A model's SELECT in Spark's dialect, of all months; `table` gives the name of what it reads."""
    environment, macros = jinja2.Environment(autoescape=False, extensions=["jinja2.ext.do"]), dict[str, Any]()

    class Adapter:
        def dispatch(self, name: str, _: str) -> Any:
            return macros.get(f"spark__{name}") or macros[f"default__{name}"]

    own = {
        "config": lambda **_: "",
        "return": lambda x: x,
        "adapter": Adapter(),
        "ref": table,
        "source": lambda _, name: table(name),
    }
    environment.globals.update(own)
    texts = [path.read_text() for path in sorted((project_folder() / "macros").rglob("*.sql"))]
    module = environment.from_string("\n".join(text for text in texts if "materialization" not in text)).make_module()
    macros.update({name: value for name, value in vars(module).items() if not name.startswith("_")})
    months = {name: lambda *_, words=words: words for name, words in ALL_MONTHS.items()}
    [path] = (project_folder() / "models").rglob(f"{model}.sql")
    return environment.from_string(path.read_text(), globals=macros | months).render()


@pytest.mark.parametrize("model", GIVEN_ROOM)
def test_a_model_that_was_given_room_gives_the_same_rows_of_a_million_times_as_much(
    model: str, enlarged: Path, spark: Any, tmp_path: Path
) -> None:
    with duckdb.connect(str(enlarged), read_only=True) as connection:
        connection.execute("set TimeZone = 'UTC'")
        listed = connection.execute("select table_name, table_schema from information_schema.tables").fetchall()
        schemas = dict(listed)

        def table(name: str) -> str:
            file = tmp_path / f"{name}.parquet"
            connection.execute(f"copy (from {schemas[name]}.{name}) to {literal(str(file))} (format parquet)")
            spark.read.parquet(spark_process.local(file)).createOrReplaceTempView(name)
            return name

        spark.sql(rendered(model, table)).write.parquet(spark_process.local(tmp_path / "rows"))
        described = connection.execute(f"describe {schemas[model]}.{model}").fetchall()
        columns = ", ".join(f"cast({name} as {of_type}) as {name}" for name, of_type, *_ in described)
        connection.execute(
            f"create temp table on_spark as select {columns} from read_parquet({literal(str(tmp_path / 'rows/*.parquet'))})"
        )
        mine = f"(select {columns} from {schemas[model]}.{model})"
        both = f"(from {mine} except all from on_spark) union all (from on_spark except all from {mine})"
        assert connection.execute(f"from ({both}) limit 3").fetchall() == []
        assert connection.execute("select count(*) > 20 from on_spark").fetchone() == (True,)
