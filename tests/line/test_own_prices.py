"""What a build warns of where prices of the organisation's own are concerned."""

from __future__ import annotations

from pathlib import Path

import duckdb

from dagster_project.warehouse import modelling

TABLES = """
create schema intermediate; create schema marts;
create table marts.dim_accelerators as select 'AWS' as provider_name, 'trn1.32xlarge' as accelerator_type;
create table intermediate.int_charges as
select * from (values ('AWS', 'p9.48xlarge'), ('Google Cloud', '')) as charges(provider_name, accelerator_type);
create table intermediate.int_own_prices as
select 'price ' || accelerator_type as price_id, provider_name, accelerator_type, 'price list' as source
from (values
    ('AWS', 'trn1.32xlarge'), ('AWS', 'p9.48xlarge'), ('AWS', 'trn1.32xlrge'), ('Google Cloud', 'p9.48xlarge')
) as prices(provider_name, accelerator_type)
"""


def test_an_own_price_for_a_type_that_no_bill_and_no_catalogue_has_is_named(tmp_path: Path) -> None:
    [asked] = [
        text for name, text in modelling.compiled(tmp_path).items() if ".assert_every_own_price_is_of_a_known_type" in name
    ]
    with duckdb.connect(str(tmp_path / "build.duckdb")) as connection:
        connection.execute(TABLES)
        assert connection.execute(asked).fetchall() == [
            ("price p9.48xlarge", "Google Cloud", "p9.48xlarge", "price list"),
            ("price trn1.32xlrge", "AWS", "trn1.32xlrge", "price list"),
        ]
