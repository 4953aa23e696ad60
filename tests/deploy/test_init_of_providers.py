"""`trainledger init --aws --google`: the providers' side as code, filled in, and a configuration that reads its exports."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import botocore.session
import botocore.validate
import hcl2
import pytest
from typer.testing import CliRunner, Result

from connectors.aws import carbon, cur_columns
from connectors.formats.schema import Schema
from dagster_project.cli import app
from dagster_project.commands.providers import FILLED, VALUES, source_folder
from dagster_project.settings import load_settings

GIVEN = {
    "aws": ["--account", "111122223333", "--region", "eu-central-1", "--bucket", "acme-exports", "--external-id", "our-id"],
    "google": ["--project", "acme-billing", "--dataset", "exports", "--billing-account", "0A0A0A-0B0B0B-0C0C0C"],
}
# of people: no figure needs it; and a map that repeats the tags and cost categories which are asked for
# the number of a line is of reports of the console, how many rows a row stands for of groups that an engine made
NOT_EXPORTED = {"line_item_user_identifier", "line_item_iam_principal", "tags", "line_number", "period_start", "period_end"}
NOT_EXPORTED |= {"line_count"}


def init(folder: Path, *options: str) -> Result:
    return CliRunner().invoke(app, ["init", "--config", str(folder / "trainledger.yaml"), *options])


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A folder that has both sides."""
    done = init(tmp_path, "--aws", *GIVEN["aws"], "--landing-bucket", "acme-landing", "--google", *GIVEN["google"])
    assert done.exit_code == 0, done.output
    return tmp_path


def test_the_configuration_reads_the_exports_by_the_role_and_the_account_that_are_written(written: Path) -> None:
    settings = load_settings(written / "trainledger.yaml")
    found = {source.name: source for source in settings.sources}
    aws, google = [found["payer-a-cur"], found["payer-a-carbon"]], [found["gcp-billing"], found["gcp-carbon"]]
    exports = [json.loads((written / f"deploy/aws/{name}-export.json").read_text()) for name in ("cur", "carbon")]
    places = [(each["DestinationConfigurations"]["S3Destination"], each["Name"]) for each in exports]
    assert [source.location for source in aws] == [f"s3://{to['S3Bucket']}/{to['S3Prefix']}/{name}" for to, name in places]
    assert {(source.role_arn, source.external_id) for source in aws} == {
        ("arn:aws:iam::111122223333:role/trainledger-reader", "our-id")
    }
    assert [source.location for source in google] == [
        "bq://acme-billing.exports.gcp_billing_export_resource_v1_0A0A0A_0B0B0B_0C0C0C",
        "bq://acme-billing.exports.carbon_footprint",
    ]
    assert {source.impersonate for source in google} == {"trainledger-reader@acme-billing.iam.gserviceaccount.com"}
    assert settings.landing == "s3://acme-landing/ledger"


def test_what_is_not_given_is_a_placeholder_and_nothing_is_left_to_be_filled_in(tmp_path: Path) -> None:
    assert init(tmp_path, "--google", "--aws").exit_code == 0
    for provider in VALUES:
        for path in (tmp_path / "deploy" / provider).iterdir():
            left = re.findall(rf"\$\{{(?:{'|'.join(VALUES[provider])})\}}", path.read_text()) if path.suffix in FILLED else []
            assert left == [], path.name
    assert [source.kind for source in load_settings(tmp_path / "trainledger.yaml").sources].count("aws_cur") == 1


def test_with_one_provider_the_sources_of_the_other_are_comments(tmp_path: Path) -> None:
    assert init(tmp_path, "--google", "--landing-bucket", "acme-landing").exit_code == 0
    assert load_settings(tmp_path / "trainledger.yaml").landing == "gs://acme-landing/ledger"
    kinds = [source.kind for source in load_settings(tmp_path / "trainledger.yaml").sources]
    assert kinds == ["gcp_billing", "gcp_carbon", "training_runs"]
    assert not (tmp_path / "deploy/aws").exists()


def test_nothing_that_is_there_is_overwritten(written: Path) -> None:
    before = {path: path.read_bytes() for path in written.rglob("*") if path.is_file()}
    again = init(written, "--aws")
    assert again.exit_code == 2 and "are there already: README.md" in again.output
    assert init(written, "--google", "--out", str(written / "other")).exit_code == 0  # and the configuration stays
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--aws", "--bucket", 'a"; rm -rf ~; "'], "is no bucket"),
        (["--aws", "--external-id", "$(id)"], "is no external id"),
        (["--google", "--member", "ana@example.com"], "is no reader member"),
        (["--bucket", "acme"], "Give --aws too"),
    ],
)
def test_a_value_that_would_be_more_than_a_name_is_refused_before_anything_is_written(
    options: list[str], message: str, tmp_path: Path
) -> None:
    done = init(tmp_path, *options)
    assert done.exit_code == 2 and message in done.output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("name", "schema"), [("cur", cur_columns.SCHEMA), ("carbon", carbon.SCHEMA)])
def test_an_export_asks_for_every_column_that_is_read_and_is_what_the_api_takes(name: str, schema: Schema, written: Path) -> None:
    export = json.loads((written / f"deploy/aws/{name}-export.json").read_text())
    api = botocore.session.get_session().get_service_model("bcm-data-exports").operation_model("CreateExport").input_shape
    report = botocore.validate.ParamValidator().validate({"Export": export}, api)
    assert not report.has_errors(), report.generate_report()
    columns, table = re.fullmatch(r"SELECT (.+) FROM (\w+)", export["DataQuery"]["QueryStatement"]).groups()  # type: ignore[union-attr]
    assert set(columns.split(", ")) == ({one.name for one in schema.columns} | schema.documented) - NOT_EXPORTED
    wanted = {"TIME_GRANULARITY": "HOURLY", "INCLUDE_RESOURCES": "TRUE", "INCLUDE_SPLIT_COST_ALLOCATION_DATA": "TRUE"}
    settings = export["DataQuery"].get("TableConfigurations", {})
    assert settings == {} if name == "carbon" else settings[table].items() >= wanted.items()


@pytest.mark.parametrize("provider", VALUES)
def test_terraform_is_hcl_whose_variables_are_those_that_are_filled_in(provider: str, written: Path) -> None:
    folder = written / "deploy" / provider
    document = hcl2.loads((folder / "main.tf").read_text())
    declared = {name.strip('"') for block in document["variable"] for name in block if not name.startswith("__")}
    text = (folder / "main.tf").read_text()
    assert set(re.findall(r"\bvar\.(\w+)", text)) == declared
    given = hcl2.loads((folder / "terraform.tfvars").read_text())
    assert {name for name in given if not name.startswith("__")} == declared
    assert {name for name in declared if name in VALUES[provider]} == set(VALUES[provider])
    for name in re.findall(r'path\.module\}/([\w.-]+)"', text):
        assert (folder / name).exists(), name


@pytest.mark.parametrize("provider", VALUES)
def test_commands_are_shell_and_name_the_files_beside_them(provider: str) -> None:
    folder = source_folder(provider)
    subprocess.run(["sh", "-n", folder / "commands.sh"], check=True)
    named = re.findall(r"(?:file://|--file )([\w.-]+\.json)", (folder / "commands.sh").read_text())
    assert named and {name for name in named if not (folder / name).exists()} == set()
