"""The unit tests of the dbt project: rules of calculation on invented rows. A refresh does not run them, so this does."""

import json
import shutil
from pathlib import Path

import pytest

from dagster_project import dbt_project
from tests.warm import run_dbt

pytestmark = pytest.mark.slow


def test_every_rule_of_calculation_holds_on_its_invented_rows(demo_home: Path, tmp_path: Path) -> None:
    build_file = shutil.copyfile(demo_home / "trainledger-home" / "build.duckdb", tmp_path / "build.duckdb")  # for the columns
    done = run_dbt(["test", "--select", "test_type:unit"], build_file, tmp_path)
    results = json.loads((tmp_path / "run_results.json").read_text())["results"]
    written = sum(path.read_text().count("\n  - name:") for path in dbt_project.project_folder().rglob("*_unit_tests.yml"))
    assert len(results) == written > 0
    failed = [f"{result['unique_id']}: {result['message']}" for result in results if result["status"] != "pass"]
    assert not failed, "\n".join(failed)
    assert done.returncode == 0
