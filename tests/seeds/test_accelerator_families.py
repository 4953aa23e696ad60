"""One list of the families of AWS instance types with accelerators: Python, SQL and the catalogue agree."""

import csv
import re

import pytest

from connectors.formats.accelerators import AWS_FAMILIES, ULTRASERVERS, accelerator_type_of, is_aws_accelerator
from dagster_project.base.dbt_project import project_folder


def test_sql_decides_by_the_same_families() -> None:
    sql = (project_folder() / "macros/ledger.sql").read_text()
    assert f"(^({AWS_FAMILIES})[0-9a-z-]*[.]|^{ULTRASERVERS})" in sql


@pytest.mark.parametrize("name", ["gr6.8xlarge", "u-p6e-gb200x72", "u-p6e-gb300x72", "u-trn2.48xlarge", "ml.u-p6e-gb200x72"])
def test_a_graphics_type_with_much_memory_and_an_ultraserver_have_accelerators(name: str) -> None:
    spelled = accelerator_type_of(name)
    assert spelled == name.removeprefix("ml.") and is_aws_accelerator(spelled)


@pytest.mark.parametrize("name", ["u-12tb1.112xlarge", "u7i-12tb.224xlarge", "r6g.4xlarge", "m7i.large"])
def test_machines_of_much_memory_are_no_ultraservers(name: str) -> None:
    assert not is_aws_accelerator(name)


def test_every_aws_type_of_the_catalogue_is_of_one_of_them() -> None:
    with (project_folder() / "seeds/accelerator_types.csv").open() as file:
        types = [row["accelerator_type"] for row in csv.DictReader(file) if row["provider_name"] == "AWS"]
    assert len(types) > 5
    assert [name for name in types if not re.match(f"({AWS_FAMILIES}|{ULTRASERVERS})", name)] == []
