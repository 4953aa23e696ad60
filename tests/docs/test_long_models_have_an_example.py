"""Each model of more than a hundred lines has a unit test: an example on invented rows that a person can follow."""

from pathlib import Path

import yaml

MODELS = Path(__file__).parents[2] / "dbt/models"
LONG = 100


def test_each_model_of_more_than_a_hundred_lines_has_a_unit_test() -> None:
    written = [yaml.safe_load(path.read_text()) for path in MODELS.rglob("*_unit_tests.yml")]
    with_example = {test["model"] for document in written for test in document["unit_tests"]}
    long = {path.stem for path in MODELS.rglob("*.sql") if len(path.read_text().splitlines()) > LONG}
    assert len(long) > 40
    assert long - with_example == set(), "write an example into a *_unit_tests.yml beside the model"
