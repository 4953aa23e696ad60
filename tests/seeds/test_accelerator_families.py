"""One list of the families of AWS instance types with accelerators: Python, SQL and the catalogue agree."""

import csv
import re

from connectors.formats.accelerators import AWS_FAMILIES
from dagster_project.base.dbt_project import project_folder


def test_sql_decides_by_the_same_families() -> None:
    sql = (project_folder() / "macros/ledger.sql").read_text()
    assert f"^({AWS_FAMILIES})[0-9a-z-]*[.]" in sql


def test_every_aws_type_of_the_catalogue_is_of_one_of_them() -> None:
    with (project_folder() / "seeds/accelerator_types.csv").open() as file:
        types = [row["accelerator_type"] for row in csv.DictReader(file) if row["provider_name"] == "AWS"]
    assert len(types) > 5
    assert [name for name in types if not re.match(f"({AWS_FAMILIES})", name)] == []
