"""Great Expectations is loaded without what no suite asks it for, and leaves other libraries as it found them."""

import subprocess
import sys
from pathlib import Path

import pytest

LOADED = """
import sys
import pytest

from dagster_project.landing.judging.validator import LATER, MISSING, great_expectations
gx = great_expectations()
print(gx.__name__, [name for name in (*LATER, *MISSING) if name in sys.modules])
import altair, scipy.stats, sqlalchemy
print(bool(altair.Chart), float(scipy.stats.norm.cdf(0)), bool(sqlalchemy.select))
"""


def test_great_expectations_is_loaded_without_charts_statistics_and_databases_and_leaves_them_to_others() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED], capture_output=True, text=True, check=True, cwd=Path(__file__).resolve().parents[2]
    )
    assert done.stdout.splitlines() == ["great_expectations []", "True 0.5 True"]


def test_a_process_that_uses_spark_loads_the_validator_and_lives_on() -> None:
    pytest.importorskip("pyspark")
    program = """
import pyspark
from dagster_project.landing.judging.validator import great_expectations
great_expectations()
import sys
print(sys.modules["pyspark"] is pyspark, "pyspark.sql.connect" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "True False\n", done.stderr
