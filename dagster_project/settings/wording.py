"""In words: why a value of the configuration cannot be, and an example of one that can."""

from collections.abc import Mapping
from typing import Any

from dagster_project.base.kinds import KINDS

_EXAMPLES = {
    "sources": f"sources:\n  - {{name: my-bill, kind: {next(iter(KINDS))}, location: ./exports/my-bill}}",
    "organisation": "organisation: {name: Example AG, reporting_currency: USD}",
    "owners": "owners: {landing: [ops@example.com], marts: [team:finance]}",
    "expected_missing": "expected_missing: [my-bill]",
    "repository_url": "repository_url: https://github.com/example/trainledger/blob/main",
    "run_tag_keys": "run_tag_keys: [training_run_id]",
    "hosts": 'hosts: {"10.0.0.7:9400": i-0123456789abcdef0}',
    "meters": "meters: {rack-7: [i-0123456789abcdef0, i-0fedcba9876543210]}",
    "approved_by": "approved_by: [Jane Doe]",
    "restates": "restates: {provider_model_version: restatement}",
    "allowed_signers": "allowed_signers:\n  - {name: Jane Doe, as: approver, key: jane.pub}",
    "reporting": "reporting: {restatement_threshold: 0.05}",
    "alerts": "alerts: {webhook: {url_env: TRAINLEDGER_WEBHOOK_URL, shape: slack}}",
    "url_env": "url_env: TRAINLEDGER_WEBHOOK_URL",
    "password_env": "password_env: TRAINLEDGER_MAIL_PASSWORD",
    "mail": "mail: {host: smtp.example.com, sender: ledger@example.com, to: [team@example.com]}",
    "budgets": "budgets: {llm-8b-pretraining: 5000 USD}",
    "waste": "waste: 500 USD",
    "disk_free": "disk_free: 20GB",
    "retention": "retention: {open_month_days: 3}",
    "memory_limit": "memory_limit: 1500MB",
    "schedules": 'schedules: {new_deliveries: true, quarterly: true, comparison: true, prune: "0 3 * * 0"}',
    "refresh": 'refresh: "0 6 * * *"',
    "quarterly": 'quarterly: "0 8 22 1,4,7,10 *"',
    "comparison": 'comparison: "30 8 22 * *"',
    "prune": 'prune: "0 3 * * 0"',
    "history_megabytes": "history_megabytes: 500",
    "scope3_electricity": "scope3_electricity: {method: market, reason: our suppliers' contracts are reviewed every year}",
    "fiscal_year_start": "fiscal_year_start: 10",
    "location": "location: s3://bucket/prefix",
    "name": "name: my-bill",
    "home": "home: ./trainledger-home",
}
_WORDS = {
    "missing": "this key is missing",
    "list_type": "this is no list: each of its values needs a line with a dash",
    "model_type": "this is no mapping of keys and values",
    "string_type": "this is no text",
    "string_pattern_mismatch": "this is not written as it must be",
    "bool_type": "this is neither true nor false",
    "bool_parsing": "this is neither true nor false",
    "int_type": "this is no whole number",
    "int_parsing": "this is no whole number",
    "int_from_float": "this is no whole number",
    "decimal_parsing": "this is no number",
    "decimal_type": "this is no number",
    "too_short": "this is empty",
}


def reason_of(error: Mapping[str, Any]) -> str:
    """What is wrong, of an error as pydantic gives it; a mapping where a list belongs is the commonest."""
    kind, given = error["type"], error.get("input")
    if "book" in error["loc"]:  # of a choice of types, pydantic names one
        return "this is neither true nor false nor the name of an export"
    if kind == "list_type" and isinstance(given, dict):
        return "this is a mapping and must be a list: each of its values needs a line with a dash"
    words = _WORDS.get(kind) or str(error["msg"]).removeprefix("Value error, ").replace("Input should be", "this must be")
    shown = repr(given) if isinstance(given, str | int | float) and kind not in ("missing", "value_error") else ""
    return f"{words}, but {shown[:60]}" if shown and len(shown) > 2 else words


def example_of(key: str) -> str:
    """What to do, with an example of the key where there is one."""
    example = _EXAMPLES.get(key)
    start = f"Write it like\n  {example}\n" if example else ""
    return f"{start}See the commented example that `trainledger init` writes."
