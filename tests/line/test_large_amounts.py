"""Every model is built, and every test can be asked, where money, energy, tokens and hours are a thousand or a million times as
large, and where bills are in yen or won."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest

from dagster_project.warehouse import statements
from tests import nightly, warm
from tests.enlarged import enlarge, run_all
from tests.line.kit import NOW
from tests.oracle.any_bill import write_any_exports
from tests.oracle.any_google import write_any_google
from tests.oracle.builders import Exports
from tests.oracle.google_builders import GoogleExports
from tests.spark.two_clouds import write_two_clouds

pytestmark = pytest.mark.slow
# factor, what money is multiplied by beside it, currency
LARGER = [(1_000, 1, None), (1_000_000, 1, None), (1_000, 150, "JPY"), (1_000, 1_400, "KRW")]
# of a bill that is larger than the files it came from: gates that compare both, and cents of doubles
COMPARE_WITH_FILES = ("equals_its_control_totals", "assert_bills_equal", "assert_every_billed_month", "assert_savings_plans")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The build file of a small organisation on both clouds."""
    folder = tmp_path_factory.mktemp("large amounts")
    done = warm.run_trainledger("refresh", "--config", write_two_clouds(folder), now=NOW)
    assert done.returncode in (0, 3), done.stdout + done.stderr
    [file] = folder.rglob("build.duckdb")
    return file


def assert_every_model_is_built(build_file: Path, folder: Path, factor: int, money: int, currency: str | None) -> None:
    folder.mkdir()
    copy = folder / "build.duckdb"  # DuckDB names a file's tables after it
    shutil.copy(build_file, copy)
    every = statements.statements(folder)
    with duckdb.connect(str(copy), config={"memory_limit": "1500MB"}) as connection:
        enlarge(connection, factor, money, currency)
        months = [str(month) for (month,) in connection.execute("from raw.build_months").fetchall()]
        nodes = run_all(connection, every, months)
        least = connection.execute("select max(abs(effective_cost)) from marts.fct_training_run_costs").fetchone()
    assert [f"{node.name} {node.detail}" for node in nodes if node.status in ("error", "skipped")] == []
    blocks = {one.unique_id for one in every if one.is_test and one.blocks}
    failed = [f"{node.name} {node.detail}" for node in nodes if node.status == "warn" and node.unique_id in blocks]
    assert [text for text in failed if not text.startswith(COMPARE_WITH_FILES)] == []
    assert least and least[0] > factor, "nothing was made larger"


@pytest.mark.parametrize(("factor", "money", "currency"), nightly.drawn(1, LARGER[1:] + LARGER[:1]))
def test_every_model_is_built_of_amounts_that_are_larger(
    factor: int, money: int, currency: str | None, built: Path, tmp_path: Path
) -> None:
    assert_every_model_is_built(built, tmp_path / "larger", factor, money, currency)


@pytest.mark.nightly
@pytest.mark.parametrize(("factor", "money", "currency"), LARGER)
def test_every_model_is_built_of_larger_amounts_of_any_organisation(
    factor: int, money: int, currency: str | None, organisation: Path, tmp_path: Path
) -> None:
    assert_every_model_is_built(organisation, tmp_path / "larger", factor, money, currency)


@pytest.fixture(scope="module", params=["demo", "any bill", "any Google bill"])
def organisation(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The build file of the demo or of an organisation that the oracle draws."""
    if request.param == "demo":
        demo: Path = request.getfixturevalue("demo_home")
        return demo / "trainledger-home" / "build.duckdb"
    folder = tmp_path_factory.mktemp("drawn")
    exports: Exports = Exports(folder) if request.param == "any bill" else GoogleExports(folder)
    write = write_any_exports if request.param == "any bill" else write_any_google
    write(exports, 2026)
    done = warm.run_trainledger("refresh", "--config", exports.config(), now=NOW)
    assert done.returncode in (0, 3), done.stdout + done.stderr
    [file] = folder.rglob("build.duckdb")
    return file
