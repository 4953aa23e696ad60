"""`trainledger doctor` on a table of BigQuery: each fault that would stop a refresh is named before it, with what to do."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml

pytest.importorskip("google.cloud.bigquery", reason="google-cloud-bigquery is not installed")

from google.auth.credentials import AnonymousCredentials
from google.auth.exceptions import DefaultCredentialsError, RefreshError
from typer.testing import CliRunner

from connectors.stores import StoreOptions, google_access
from connectors.stores.google_permissions import logged_in_as
from dagster_project.cli import app
from tests.bigquery.described import described
from tests.bigquery.exported import TABLE, Exported
from tests.bigquery.rest_fake import Failure, Rows, text_of
from tests.connectors.gcp import BILLING, CARBON, EMISSION, line
from tests.landing.kit import hour, instant

NOW = "2026-07-05T00:00:00Z"
DAY = 86_400_000
DIVIDED = {"timePartitioning": {"type": "DAY"}, "location": "EU", "numRows": "93"}
TABLE_PERMISSIONS = ("bigquery.tables.get", "bigquery.tables.getData")
LOOK, READ = 3_000_000_000, 8_000_000  # bytes


def day_of(day: str) -> list[dict[str, Any]]:
    at = instant(day)
    return [line(**hour(f"{day}T{number:02}:00", export_time=at + dt.timedelta(days=1, hours=number))) for number in range(3)]


def millis(day: str) -> str:
    return str(int(instant(day).timestamp() * 1000))


class Asked:
    """A table, the source that names it, and what doctor states."""

    def __init__(self, folder: Path, url: str, bill: Exported, patch: pytest.MonkeyPatch) -> None:
        self.folder, self.bill, self.rest, self.patch = folder, bill, bill.rest, patch
        self.source = {"name": "google", "kind": "gcp_billing", "location": f"bq://{TABLE}", "endpoint_url": url}
        self.bytes = {"look": LOOK, "read": READ}
        plain = bill.answer
        self.rest.answer = lambda text: self._counted(text, plain(text))

    def _counted(self, text: str, answer: Any) -> Any:
        number = self.bytes["look" if "COUNT(*)" in text else "read"]
        if "'2006-01-02" in text:  # the day that no bill has
            number = self.bytes.get("no day", 0)
        return Rows(answer.fields, answer.values, number, answer.total) if isinstance(answer, Rows) else answer

    def described_as(self, **more: Any) -> None:
        self.rest.tables = {TABLE: described(self.bill.schema, **{**DIVIDED, **more})}

    def doctor(self, *options: str) -> Any:
        config = self.folder / "trainledger.yaml"
        sources = [{name: value for name, value in self.source.items() if value is not None}]
        config.write_text(yaml.safe_dump({"organisation": {"name": "Example AG"}, "home": "./home", "sources": sources}))
        return CliRunner().invoke(app, ["doctor", *options, "--config", str(config)], env={"TRAINLEDGER_NOW": NOW})

    def checks(self) -> tuple[int, list[dict[str, Any]]]:
        result = self.doctor("--json")
        assert result.exit_code in (0, 3), result.output
        return result.exit_code, [check for check in json.loads(result.stdout)["checks"] if "google" in check["about"]]

    @property
    def run(self) -> list[str]:
        """The texts of queries that were run, not only tried."""
        return [text_of(body) for body in self.rest.asked if not body.get("configuration", {}).get("dryRun")]


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Asked]:
    june = [f"2026-06-{day:02}" for day in range(1, 31)]
    bill = Exported({day: day_of(day) for day in [*june, "2026-07-03"]}, more=DIVIDED)
    bill.rest.permissions = TABLE_PERMISSIONS
    with bill.serving(monkeypatch) as url:
        yield Asked(tmp_path, url, bill, monkeypatch)


def test_a_table_that_can_be_read_is_reported_with_bytes_and_price_and_one_partition_of_it_is_read(asked: Asked) -> None:
    asked.described_as(clustering={"fields": ["currency"]}, lastModifiedTime=millis("2026-07-04"))
    code, checks = asked.checks()
    assert code == 0 and {check["outcome"] for check in checks} <= {"ok", "warning"}
    told = {check["question"]: check for check in reversed(checks)}
    assert told["login"]["message"].endswith("is asked without a login")
    assert told["table"]["message"] == (
        f"bq://{TABLE} is a table in EU, read by the day of _PARTITIONTIME, clustered by currency, 93 rows"
    )
    assert told["bytes"]["message"] == (
        "the next look, at all days, as they were not all landed yet, reads 3.0 GB, about 0.02 USD on demand;"
        " no query may read more than 100.0 GB (maximum_bytes_billed)"
    )
    assert told["bytes"]["facts"] == {"look_bytes": LOOK, "first_day": None, "maximum_bytes_billed": 100_000_000_000}
    [_, newest] = [check for check in checks if check["question"] == "bytes"]
    assert newest["message"].startswith(
        "a read of the partition of 2026-07-03, the newest, takes 8 MB, about 0.01 USD; 5,000 rows"
    )
    assert told["permissions"]["message"] == "it may describe the table and run queries, and stream rows"
    assert told["source"]["message"] == "gcp_billing, 2 months, the newest is 2026-07; read 1 of 31 partitions, 6 rows"
    assert asked.run == []


def test_what_doctor_asks_is_labelled_and_no_query_of_it_is_paid(asked: Asked) -> None:
    asked.checks()
    for settings in (body["configuration"] for body in asked.rest.asked):
        assert settings["dryRun"] and settings["labels"]["step"] == "doctor"
        assert int(settings["query"]["maximumBytesBilled"]) > 10**18


def columns_told(checks: list[dict[str, Any]]) -> str:
    [found] = [check["message"] for check in checks if check["question"] == "columns"]
    return str(found)


def test_columns_that_an_older_table_lacks_and_unknown_ones_are_named(asked: Asked) -> None:
    fields = [field for field in BILLING if field.name not in ("tags", "subscription")]
    asked.bill.schema = pa.schema([*fields, BILLING.field("cost").with_name("brand_new")])
    asked.described_as()
    said = columns_told(asked.checks()[1])
    assert "all that must be there" in said and "as they are unknown: brand_new" in said
    assert "not there, as in older tables: " in said and "tags" in said


def other_table(name: str) -> Callable[[Asked], None]:
    return lambda asked: asked.source.update(location=f"bq://{name}")


def untold(name: str) -> Callable[[Asked], None]:
    def arrange(asked: Asked) -> None:
        other_table(name)(asked)
        asked.rest.unlisted = ["exports"]

    return arrange


def refused(*failures: Failure, permissions: tuple[str, ...] | None = TABLE_PERMISSIONS) -> Callable[[Asked], None]:
    def arrange(asked: Asked) -> None:
        asked.rest.answers = list(failures)
        asked.rest.permissions = permissions

    return arrange


def not_described(status: int, reason: str) -> Callable[[Asked], None]:
    return lambda asked: setattr(asked.rest, "tables", {TABLE: Failure(status, reason)})


def lacks_cost(asked: Asked) -> None:
    asked.bill.schema = pa.schema([field for field in BILLING if field.name != "cost"])
    asked.described_as()


class Expired(AnonymousCredentials):
    said = "Reauthentication is needed."

    def refresh(self, request: object) -> None:
        raise RefreshError(self.said)


class NotImpersonated(Expired):
    said = "Unable to acquire impersonated credentials"

    def __init__(self, *_: object, **__: object) -> None:
        super().__init__()


def of_default_chain(found: Callable[[], Any], **source: str) -> Callable[[Asked], None]:
    def arrange(asked: Asked) -> None:
        asked.source |= {"endpoint_url": None, **source}
        asked.patch.setattr(google_access.google.auth, "default", lambda **_: (found(), None))
        asked.patch.setattr(google_access, "ImpersonatedCredentials", NotImpersonated)

    return arrange


def no_login() -> Any:
    raise DefaultCredentialsError("none")


READER = "reader@acme.iam.gserviceaccount.com"
DATA_VIEWER, JOB_USER, READ_SESSION = "roles/bigquery.dataViewer", "roles/bigquery.jobUser", "roles/bigquery.readSessionUser"
LOG_IN = "gcloud auth application-default login"
# what is wrong, the reason, words of the message, words of the remedy
FAULTS: dict[str, tuple[Callable[[Asked], None], str, str, str]] = {
    "wrong project": (other_table("acme-other.exports.bill"), "missing_table", "there is no such project", "Check project"),
    "missing dataset": (
        other_table("acme-billing.export.bill"), "missing_table",
        "there is no dataset acme-billing.export; did you mean 'exports'?", "Billing, Billing export names them",
    ),
    "missing table": (
        other_table("acme-billing.exports.bil"), "missing_table",
        "there is no table bil in acme-billing.exports, which has bill; did you mean 'bill'?", "Billing, Billing export",
    ),
    "missing table of a dataset that tells no names": (
        untold("acme-billing.exports.bil"), "missing_table", "asking for the table failed with notFound",
        "Billing, Billing export",
    ),
    "table denied": (not_described(403, "accessDenied"), "permission_denied", "asking for the table",
        f"{DATA_VIEWER}, on the dataset acme-billing.exports"),
    "queries denied": (refused(Failure(403, "accessDenied")), "permission_denied", "the query failed",
        f"{JOB_USER}, on acme-billing, the project"),
    "rows denied": (
        refused(Failure(403, "accessDenied"), permissions=TABLE_PERMISSIONS[:1]), "permission_denied",
        "lacks bigquery.tables.getData", DATA_VIEWER,
    ),
    "stream denied": (
        lambda asked: setattr(asked.bill.storage, "denied", "no session"), "permission_denied", "reading the rows",
        f"{READ_SESSION}, on acme-billing, the project",
    ),
    "quota": (refused(Failure(403, "quotaExceeded")), "quota_exceeded", "a quota is used up", "Wait until the quota"),
    "no billing": (refused(Failure(403, "billingNotEnabled")), "permission_denied", "billingNotEnabled", "Enable the BigQuery"),
    "expired login": (of_default_chain(Expired), "no_credentials", "Google takes no login of this machine", LOG_IN),
    "no login": (of_default_chain(no_login), "no_credentials", "DefaultCredentialsError", LOG_IN),
    "impersonation denied": (
        of_default_chain(Expired, impersonate=READER), "role_denied", f"may not act as {READER}",
        f"roles/iam.serviceAccountTokenCreator, on the service account {READER}",
    ),
    "dataset elsewhere": (
        lambda asked: asked.source.update(dataset_location="US"), "wrong_region", "lies in EU, not in US", "dataset_location: EU",
    ),
    "column gone": (lacks_cost, "missing_column", "is missing columns cost", "Add cost to the export"),
    "external table": (
        lambda asked: asked.described_as(type="EXTERNAL"), "bad_location", "is of type EXTERNAL", "Name the table",
    ),
    "look above the cap": (
        lambda asked: asked.bytes.update(look=250_000_000_000), "above_byte_cap",
        "the next look would take 250.0 GB, and maximum_bytes_billed is 100.0 GB", "`maximum_bytes_billed: 253000000000`",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_before_a_query_runs(asked: Asked, name: str) -> None:
    arrange, reason, message, remedy = FAULTS[name]
    arrange(asked)
    code, checks = asked.checks()
    [problem] = [check for check in checks if check["outcome"] == "problem"]
    assert code == 3 and problem["is_source"]
    assert problem["facts"]["reason"] == reason
    assert message in problem["message"] and remedy in problem["remedy"]
    assert asked.run == []


def test_a_partition_above_the_cap_is_not_read_and_the_number_to_write_is_reported(asked: Asked) -> None:
    asked.bytes["read"] = 120_000_000_000
    code, checks = asked.checks()
    [problem] = [check for check in checks if check["outcome"] == "problem"]
    assert code == 3 and problem["facts"]["reason"] == "above_byte_cap"
    assert "`maximum_bytes_billed: 122000000000`" in problem["remedy"]
    assert asked.run == []


# what is the case, the reason, words of the message
WARNINGS: dict[str, tuple[Callable[[Asked], object], str, str]] = {
    "half-exported month": (
        lambda asked: [asked.bill.days.pop(f"2026-06-{day}") for day in (23, 24)], "partial_month",
        "half exported: 2026-06 has no partition of 2026-06-23..2026-06-24",
    ),
    "export stopped": (
        lambda asked: asked.described_as(lastModifiedTime=millis("2026-07-01")), "export_stopped",
        "nothing was written into it since 2026-07-01 00:00 UTC",
    ),
    "partitions expire": (
        lambda asked: asked.described_as(timePartitioning={"type": "DAY", "expirationMs": str(60 * DAY)}), "table_expires",
        "its partitions are deleted after 60 days",
    ),
    "table expires": (
        lambda asked: asked.described_as(expirationTime=millis("2026-12-24")), "table_expires", "deleted on 2026-12-24",
    ),
    "not divided": (
        lambda asked: (asked.described_as(type="VIEW", timePartitioning=None), asked.bytes.update({"no day": LOOK})),
        "no_pruning", "goes through the whole table or view",
    ),
    "view": (
        lambda asked: asked.described_as(type="VIEW", timePartitioning=None), "rows_are_billed", "none is read here",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WARNINGS)
def test_what_a_refresh_would_pass_over_is_a_warning(asked: Asked, name: str) -> None:
    arrange, reason, message = WARNINGS[name]
    arrange(asked)
    code, checks = asked.checks()
    [warning] = [check for check in checks if check["facts"].get("reason") == reason]
    assert (code, warning["outcome"]) == (0, "warning")
    assert message in warning["message"] and warning["remedy"]


def test_a_view_that_leaves_days_out_and_a_month_of_carbon_are_not_warned_of(asked: Asked) -> None:
    asked.described_as(type="VIEW", timePartitioning=None)
    assert "no_pruning" not in [check["facts"].get("reason") for check in asked.checks()[1]]
    asked.bill.schema, asked.bill.days = CARBON, {"2026-04-01": [EMISSION]}
    asked.source["kind"] = "gcp_carbon"
    asked.described_as(timePartitioning={"type": "MONTH", "field": "usage_month"}, lastModifiedTime=millis("2026-06-15"))
    code, checks = asked.checks()
    assert code == 0, checks
    assert [check["facts"].get("reason") for check in checks if check["outcome"] == "warning"] == []
    assert "read by the month of usage_month" in next(check["message"] for check in checks if check["question"] == "table")


def test_what_a_person_sees_fits_80_columns_and_nothing_is_written(asked: Asked) -> None:
    said = asked.doctor().stdout
    assert "ok       bytes of google: the next look, at all days" in said
    assert [line for line in said.splitlines() if len(line) > 80 and " " in line[12:].strip()] == []  # a path is not cut
    assert re.fullmatch(r"\d+ problems?, \d+ warnings?", said.splitlines()[-1])
    assert not (asked.folder / "home").exists()


@pytest.mark.parametrize(("name", "told"), [(READER, READER), ("default", ""), (None, "")])
def test_a_login_is_identified_by_its_name_where_it_has_one(name: str | None, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Login(AnonymousCredentials):
        service_account_email = name

        def refresh(self, request: object) -> None:
            """It is valid."""

    monkeypatch.setattr(google_access.google.auth, "default", lambda **_: (Login(), None))
    assert logged_in_as(f"bq://{TABLE}", StoreOptions()) == told
