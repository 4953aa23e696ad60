"""`alerts:` of the configuration: each mistake is named with what can be written, and no secret that was written is repeated."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from dagster_project.base.failures import UsageError
from dagster_project.commands.starter import TEXT
from dagster_project.settings import Settings, load_settings

SECRET = "https://hooks.slack.com/services/T000/s3cr3t"
MAIL = {"host": "smtp.example.com", "sender": "ledger@example.com", "to": ["team@example.com"]}


def load(folder: Path, alerts: Any) -> Settings:
    source = {"name": "runs", "kind": "training_runs", "location": "./runs"}
    path = folder / "trainledger.yaml"
    path.write_text(yaml.safe_dump({"organisation": {"name": "Test"}, "alerts": alerts, "sources": [source]}))
    return load_settings(path)


@pytest.mark.parametrize(
    ("alerts", "words"),
    [
        ({}, "name at least one of webhook, mail and command"),
        ({"webhook": {"url_env": SECRET}}, "this is no name of an environment variable"),
        ({"webhook": {"url": SECRET}}, "unknown key"),
        ({"mail": MAIL | {"password": SECRET}}, "unknown key; did you mean 'password_env'?"),
        ({"mail": MAIL | {"password_env": "PASSWORD"}}, "a login needs both user_env and password_env"),
        ({"mail": MAIL | {"tls": "none"}}, "this must be 'starttls' or 'ssl'"),
        ({"mail": MAIL | {"to": []}}, "this is empty"),
        ({"command": "true"}, "this is no list"),
        ({"command": ["true"], "budgets": {"llm": 5000}}, "write an amount with its currency, like 5000 USD"),
        ({"command": ["true"], "waste": "-5 USD"}, "write an amount with its currency, like 5000 USD"),
        ({"command": ["true"], "disk_free": "20"}, "write a size as 20GB or 20GiB"),
        ({"command": ["true"], "budget": {}}, "unknown key; did you mean 'budgets'?"),
    ],
)
def test_a_mistake_is_named_and_no_secret_is_repeated(tmp_path: Path, alerts: Any, words: str) -> None:
    with pytest.raises(UsageError) as error:
        load(tmp_path, alerts)
    assert words in str(error.value) and "'alerts" in str(error.value) and "line " in str(error.value)
    assert SECRET not in str(error.value)


def test_the_example_that_init_writes_is_a_configuration_once_its_marks_are_removed(tmp_path: Path) -> None:
    begin = TEXT.index("# alerts:")
    lines = [line[2:] for line in TEXT[begin : TEXT.index("\n# expected_missing")].splitlines() if line.startswith("# ")]
    alerts = load(tmp_path, yaml.safe_load("\n".join(lines))["alerts"]).alerts
    assert alerts and alerts.webhook and alerts.mail and alerts.command
    assert alerts.budgets["vision"].amount == Decimal(800) and alerts.waste and alerts.waste.currency == "USD"
    assert alerts.least_free == 20 * 1000**3
