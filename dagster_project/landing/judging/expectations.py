"""One batch of deliveries put before Great Expectations, and what it found of each as JSON without clock values.

Great Expectations takes seconds to import: this is called when there is a delivery to judge, and not before.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from dagster_project.landing.judging.rules import RULES, SUITE, Rule
from dagster_project.landing.judging.validator import great_expectations

Row = Mapping[str, float | None]  # the measures of one delivery


def validate(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The validation of each row by itself, whichever others are in the batch."""
    gx = great_expectations()
    import pandas  # Great Expectations has loaded it

    frame = pandas.DataFrame([dict(row) for row in rows], columns=[rule.measure for rule in RULES]).astype("float64")
    of_context = gx.data_context.types.base
    in_memory = of_context.InMemoryStoreBackendDefaults(init_temp_docs_sites=False)  # else each context leaves a folder in /tmp
    context = gx.get_context(mode="ephemeral", project_config=of_context.DataContextConfig(store_backend_defaults=in_memory))
    context.variables.progress_bars = {"globally": False}
    asset = context.data_sources.add_pandas("landed").add_dataframe_asset(SUITE)
    batch = asset.add_batch_definition_whole_dataframe("all").get_batch({"dataframe": frame})
    suite = gx.ExpectationSuite(name=SUITE)
    for rule in RULES:
        expectation = getattr(gx.expectations, rule.expectation)
        suite.add_expectation(expectation(column=rule.measure, **rule.arguments, severity="warning", meta={"gate": rule.gate}))
    validation = batch.validate(suite, result_format="COMPLETE").to_json_dict()
    found = {result["expectation_config"]["meta"]["gate"]: result for result in validation["results"]}
    failing = {rule.name: _failing(rule, found[rule.gate]) for rule in RULES}
    version = {"great_expectations_version": validation["meta"]["great_expectations_version"]}
    return [
        {
            "suite_name": SUITE,
            "meta": version,
            "results": [
                {
                    "rule": rule.name,
                    "success": place not in failing[rule.name],
                    "observed_value": row[rule.measure],
                    "expectation_config": _config(found[rule.gate]),
                }
                for rule in RULES
            ],
        }
        for place, row in enumerate(rows)
    ]


def _failing(rule: Rule, result: dict[str, Any]) -> set[int]:
    """The places in the batch of the deliveries that do not meet a rule."""
    error = result["exception_info"]
    if error.get("raised_exception"):
        raise RuntimeError(f"expectation {rule.name} could not be asked: {error['exception_message']}")
    return set(result["result"]["unexpected_index_list"] or ())


def _config(result: dict[str, Any]) -> dict[str, Any]:
    """What was asked; the name of the batch is of the process and left out."""
    config = result["expectation_config"]
    arguments = {name: value for name, value in config["kwargs"].items() if name != "batch_id"}
    return {"type": config["type"], "kwargs": arguments, "severity": config["severity"], "meta": config["meta"]}
