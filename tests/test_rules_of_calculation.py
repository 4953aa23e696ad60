"""The unit tests of the dbt project: rules of calculation on invented rows. A refresh does not run them, so this does."""

import json
import os
import shutil
from pathlib import Path

import pytest

from dagster_project.base import dbt_project
from dagster_project.warehouse import modelling

pytestmark = [pytest.mark.slow, pytest.mark.proved_by("rules")]


UNIT_TESTS = "test_type:unit"


@pytest.fixture
def build_file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A build, for the columns of its tables: the demo's, or one that tests/mutants has made."""
    made = os.environ.get("UNIT_TESTS_ON")
    source = Path(made) if made else request.getfixturevalue("demo_home") / "trainledger-home" / "build.duckdb"
    return Path(shutil.copyfile(source, tmp_path / "build.duckdb"))


def test_every_rule_of_calculation_holds_on_its_invented_rows(build_file: Path, tmp_path: Path) -> None:
    model = os.environ.get("UNIT_TESTS_OF")  # tests/mutants asks one model alone
    if parsed := os.environ.get("UNIT_TESTS_PARSED"):  # of the project without the mutant: dbt reads the changed model again
        shutil.copy(parsed, tmp_path)
    else:
        modelling.lend_parse_state(tmp_path, tmp_path)
    done = modelling.run_dbt(["test", "--select", f"{model},{UNIT_TESTS}" if model else UNIT_TESTS], build_file, tmp_path)
    results = json.loads((tmp_path / "run_results.json").read_text())["results"]
    if model is None:
        written = sum(path.read_text().count("\n  - name:") for path in dbt_project.project_folder().rglob("*_unit_tests.yml"))
        assert len(results) == written > 0
    failed = [f"{result['unique_id']}: {result['message']}" for result in results if result["status"] != "pass"]
    assert not failed, "\n".join(failed)
    assert done.returncode == 0
