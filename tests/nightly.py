"""What is proved at every commit and what less often: the parts of `make nightly`, their record, and draws that both make.

`make nightly PART=kills` runs a part, `make nightly` all of them, one after the other; a part that passes is written into
tests/nightly.json with its date, the hash of what it reads, seconds and seed, to be committed. A part reads code and tests, and
pages where it names them: an edit of another page makes no part due, as every commit tests pages. `make test` leaves out what is
marked `nightly`, draws a few where a part has all, one in sixteen of the files that take turns and of the tests that are marked
`in_turn` among them, leaves out what is marked `proved_by(PART)` while everything the part reads is as it was, and its last line
names the parts that are due. A file that is asked for by name is not left out. Every test is in a part: `suite` has what the
others do not name.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from tests import budget

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "tests" / "nightly.json"
OLD = dt.timedelta(days=14)
ONE_OF = 16  # of the files and tests that take turns a commit runs one of so many
Drawn = TypeVar("Drawn")

IS_NIGHTLY = bool(os.environ.get("NIGHTLY"))


# what decides a result and which examples are drawn; a page, the budget or a record does not
CODE = (".", *(f":(exclude){name}" for name in ("*.md", "tests/budget.json", "tests/nightly.json", "benchmarks/results")))


@dataclass(frozen=True)
class Part:
    """What is run together, under NIGHTLY=1: tests, or a command."""

    about: str
    tests: tuple[str, ...] = ()  # folders and files
    command: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    reads: tuple[str, ...] = CODE  # all that its result depends on: it need not be found again while this is as it was
    takes_turns: bool = False  # a commit runs one in sixteen of the files of such parts


MODELS = ("dbt", "requirements/test.lock")
# what writes the tables that Spark reads, runs dbt on it, takes its tables back and runs on DuckDB what it leaves; a test
# compares the modules of warehouse/ with what on_spark.py, spark_process.py and runner.py import
OF_THE_WAREHOUSE = (
    "building days dbt_process gates modelling nodes on_spark raw raw_tables runner site spark_process statements states"
)
# the models on empty or invented rows of the tables that connectors declare
ON_INVENTED_ROWS = (
    *MODELS,
    "connectors",
    "dagster_project/base/dbt_project.py",
    "dagster_project/landing/deriving/typed_select.py",
    "dagster_project/warehouse",
    "tests/energy/raw_tables.py",
)
SPARK = (
    *(f"dagster_project/warehouse/{name}.py" for name in OF_THE_WAREHOUSE.split()),
    "dagster_project/base/dbt_project.py",
    "dagster_project/base/sql.py",
    "dagster_project/election/run_tags.py",
    "dagster_project/landing/deriving/typed_select.py",
    "tests/spark",
    "tests/enlarged.py",
    "tests/oracle",
)
PRODUCT = ("connectors", "dagster_project", "dbt", "recorder", "reports", "verify", "requirements", "pyproject.toml")
PARTS = {
    "suite": Part("what every commit runs, with many examples of each property", tests=("tests",)),
    "drawn": Part(
        "5,000 damaged exports, 10,000 hostile values, every drawn bill, every part of a company",
        tests=(
            "tests/landing/test_landing_fuzz.py",
            "tests/landing/test_landing_forms.py",
            "tests/test_conservation_of_any_bill.py",
            "tests/test_conservation_of_any_google.py",
            "tests/line/test_part_of_a_company.py",
            "tests/line/test_any_changed_row.py",
        ),
    ),
    "turns": Part(
        "whole refreshes and packs, each of one circumstance; a commit draws one in sixteen of the files",
        takes_turns=True,
        tests=(
            "tests/alerts/test_alerts_of_a_line.py",
            "tests/bigquery/test_doctor_of_tables.py",
            "tests/bigquery/test_four_ways.py",
            "tests/bigquery/test_grouped_bills.py",
            "tests/deploy/test_aws_permissions.py",
            "tests/deploy/test_google_permissions.py",
            "tests/deploy/test_terraform.py",
            "tests/evidence/forger/test_forger.py",
            "tests/evidence/forger/test_landing.py",
            "tests/evidence/test_absent_report_tables.py",
            "tests/evidence/test_issued_report_of_the_demo.py",
            "tests/evidence/test_issued_year.py",
            "tests/evidence/test_issuing.py",
            "tests/evidence/test_restatements.py",
            "tests/landing/test_landing_derived.py",
            "tests/line/test_a_bill_and_its_tags.py",
            "tests/line/test_a_day_of_telemetry.py",
            "tests/line/test_a_month_turns_final.py",
            "tests/line/test_aws_focus_beside_the_cur.py",
            "tests/line/test_bad_input.py",
            "tests/line/test_carbon_of_the_console.py",
            "tests/line/test_dagster_page.py",
            "tests/line/test_fees_and_discounts.py",
            "tests/line/test_focus_beside_the_detailed_bill.py",
            "tests/line/test_hyperpod.py",
            "tests/line/test_large_amounts.py",
            "tests/line/test_months_stand_apart.py",
            "tests/line/test_nothing_is_skipped.py",
            "tests/line/test_price_list.py",
            "tests/line/test_provider_totals.py",
            "tests/line/test_publish_to.py",
            "tests/line/test_real_neuron_documents.py",
            "tests/line/test_refresh_again.py",
            "tests/line/test_reservations.py",
            "tests/line/test_stated_capacity.py",
            "tests/line/test_the_google_ladder.py",
            "tests/line/test_time_size_and_place.py",
            "tests/line/test_trace.py",
            "tests/line/test_training_plans.py",
            "tests/line/test_two_exports_of_one_bill.py",
            "tests/line/test_water.py",
            "tests/line/test_what_a_build_runs.py",
            "tests/line/test_whole_line_on_s3.py",
            "tests/line/test_whose_bill.py",
            "tests/line/test_zero_prices.py",
            "tests/recorder/test_recorder_package.py",
            "tests/reports/test_comparison_of_the_demo.py",
            "tests/reports/test_ledger_page.py",
            "tests/reports/test_report_for_readers_of_all_kinds.py",
            "tests/reports/test_report_in_a_browser.py",
            "tests/reports/test_report_on_paper.py",
            "tests/reports/test_two_clouds.py",
            "tests/run_side/test_run_command_line.py",
            "tests/run_side/test_run_dbt_by_hand.py",
            "tests/run_side/test_run_doctor.py",
            "tests/run_side/test_run_doctor_promises.py",
            "tests/run_side/test_run_history.py",
            "tests/run_side/test_run_line.py",
            "tests/run_side/test_run_mcp.py",
            "tests/run_side/test_run_months.py",
            "tests/run_side/test_run_partial_months.py",
            "tests/run_side/test_run_publish_parts.py",
            "tests/test_two_years_of_google.py",
        ),
    ),
    "demo": Part(
        "the demo against the oracle, also as it was published earlier, and at twice its scale",
        tests=(
            "tests/line/test_the_demo_meets_its_promises.py",
            "tests/line/test_the_demo_restates.py",
            "tests/test_oracle_agrees.py",
        ),
    ),
    "generator": Part(
        "the exports that the demo writes, beside the truth that it writes with them",
        tests=("tests/demo",),
        reads=(
            "connectors",
            "dagster_project/demo",
            "dagster_project/settings",
            "requirements/test.lock",
            "tests/bigquery",
            "tests/connectors",
            "tests/demo",
        ),
    ),
    "formats": Part("two years of payers on both clouds in every format, beside what was drawn", tests=("tests/generator",)),
    "tutorial": Part(
        "the commands of the tutorial, in one shell",
        tests=("tests/docs/test_tutorial.py",),
        reads=(*PRODUCT, "docs/tutorial.md", "tests/docs", "tests/s3.py"),
    ),
    "site": Part(
        "the documentation as a site, searched in a browser",
        tests=("tests/docs/test_site.py",),
        reads=("docs", "mkdocs.yml", "requirements/docs.lock", "tests/docs", "tests/browser.py"),
        takes_turns=True,
    ),
    "focus": Part(
        "rows in the shape of FOCUS by the validator of FOCUS",
        tests=("tests/line/test_focus_validator.py",),
        reads=(*PRODUCT, "docs/handover", "tests/line", "Makefile"),
        takes_turns=True,
    ),
    "comparison": Part(
        "10,000 drawn verdicts beside a second implementation, and false claims in 16 worlds",
        tests=("tests/comparison/test_how_often.py", "tests/comparison/test_second.py"),
        reads=(*ON_INVENTED_ROWS, "benchmarks/comparison", "docs/methodology/comparison.md", "reports", "tests/comparison"),
    ),
    "fleet": Part(
        "a day of a thousand machines from a real Prometheus, landed in 2 GB",
        tests=("tests/landing/test_landing_prometheus_fleet.py",),
    ),
    "service": Part(
        "Dagster's daemon over a line that is left alone, and a home that is made again of its landing",
        tests=("tests/deploy/test_backup_and_restore.py", "tests/line/test_the_daemon_watches.py"),
    ),
    "postgres": Part("Dagster on a real PostgreSQL server", tests=("tests/deploy/test_on_postgres.py",)),
    "rules": Part(
        "each rule of calculation on its invented rows",
        tests=("tests/test_rules_of_calculation.py",),
        reads=(*MODELS, "tests/test_rules_of_calculation.py"),
    ),
    "decimals": Part(
        "no model and no test of the dbt project gives decimals away on Spark",
        tests=("tests/test_no_decimal_is_cut.py",),
        reads=(*ON_INVENTED_ROWS, "tests/decimals.py", "tests/test_no_decimal_is_cut.py"),
    ),
    "dbt": Part(
        "dbt itself builds what our runner builds",
        tests=("tests/line/test_dbt_builds_the_same.py",),
        reads=(*MODELS, "dagster_project/warehouse", "dagster_project/demo", "tests/line/test_dbt_builds_the_same.py"),
    ),
    "kills": Part(
        "all 25 kills of a refresh, and one at every change that landing makes on the disk",
        tests=("tests/landing/test_landing_deliveries.py", "tests/landing/test_landing_together.py", "tests/line/test_kills.py"),
    ),
    "histories": Part(
        "1,000 histories with power cuts, full disks, failing devices; a power cut at every effect of a refresh",
        tests=tuple(f"tests/simulation/test_{name}.py" for name in ("effects", "every_effect", "histories", "what_was_found")),
    ),
    "deep-histories": Part(
        "20 histories with every model, and a power cut at every tenth effect of a refresh",
        tests=("tests/simulation/test_deep_histories.py",),
    ),
    "googlesql": Part(
        "every statement that BigQuery is sent, by Google's analyser",
        tests=("tests/bigquery/test_statements_are_googlesql.py",),
        reads=("connectors/gcp", "tests/bigquery", "tests/connectors", "requirements"),
    ),
    "engines": Part(
        "bills of AWS that are asked where they lie: a real Trino server, and Spark on two workers, over the tests' S3 server",
        tests=("tests/engines/test_grouped_aws_bills.py", "tests/engines/test_spark_groups_a_bill.py"),
        reads=("connectors", "dagster_project", "dbt", "requirements", "tests/engines", "tests/oracle", "tests/spark/workers.py"),
    ),
    "wheel": Part(
        "the wheel on every Python there is, that of auditors alone, and a release made twice",
        takes_turns=True,
        tests=(
            "tests/evidence/test_small_wheel.py",
            "tests/release/test_release_bytes.py",
            "tests/run_side/test_run_wheel.py",
        ),
    ),
    "coverage": Part(
        "bounds of calibrated watts, and of the energy of 200 drawn fleets, hold the truth as promised",
        tests=("tests/energy/test_coverage.py",),
        reads=(*ON_INVENTED_ROWS, "tests/energy", "docs/methodology/energy.md"),
    ),
    "spark": Part(
        "a small organisation and each rule of calculation on Apache Spark",
        tests=("tests/spark",),
        environment=(("UNIT_TESTS_ON_SPARK", "1"),),
        reads=(*MODELS, *SPARK),
    ),
    "spark-demo": Part("every published table of the demo on both engines", command=("make", "parity-demo", "SCALES=1")),
    "lint": Part("style, types and imports; of the models too", command=("make", "lint-sql", "lint"), reads=MODELS),
}


def digest(*places: str) -> str:
    """A hash of the files that git's pathspecs choose, as they are in the checkout, without the record itself."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *places]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    hashed = hashlib.sha256()
    for name in sorted({*names} - {"", RECORD.relative_to(ROOT).as_posix()}):
        if (path := ROOT / name).is_file():
            hashed.update(f"{name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return hashed.hexdigest()


@cache
def tree() -> str:
    """The hash of everything; without git a word, of which every part is due."""
    return digest() if (ROOT / ".git").exists() else "no git"


@cache
def code() -> str:
    """The hash of code and tests, without pages, the budget and the records; without git a word."""
    return digest(*CODE) if (ROOT / ".git").exists() else "no git"


def read(name: str) -> str:
    """The hash of what a part reads."""
    return code() if PARTS[name].reads == CODE else digest(*PARTS[name].reads)


def seed() -> int:
    """What draws start from: `PROOF_SEED`, else code and tests, so that other code draws others and the same code the same."""
    return int(os.environ.get("PROOF_SEED") or int(hashlib.sha256(code().encode()).hexdigest()[:8], 16))


def drawn(few: int, of: Sequence[Drawn]) -> list[Drawn]:
    """All of these under NIGHTLY, else a few that the seed draws, in their order."""
    if IS_NIGHTLY:
        return list(of)
    kept = random.Random(seed()).sample(range(len(of)), few)
    return [of[place] for place in sorted(kept)]


def turning(seconds: Mapping[str, int]) -> tuple[set[str], set[str]]:
    """The files that take turns, and those whose turn it is: the seed draws one of each few of about as many seconds."""
    files = [file for part in PARTS.values() if part.takes_turns for file in part.tests]
    files.sort(key=lambda file: -seconds.get(Path(file).name, 0))
    draw = random.Random(seed())
    return {*files}, {draw.choice(files[at : at + ONE_OF]) for at in range(0, len(files), ONE_OF)}


def has_turn(test: str) -> bool:
    """Whether the seed draws this one of the tests that take turns, whatever file they are in."""
    return random.Random(f"{seed()} {test}").randrange(ONE_OF) == 0


def record() -> dict[str, dict[str, Any]]:
    """What each part proved, and when."""
    return json.loads(RECORD.read_bytes()) if RECORD.exists() else {}


def is_proved(name: str) -> bool:
    """Whether all that the part read is as it was when it last passed; records before 0.9 of most parts have the tree alone."""
    proved, of_now = record().get(name, {}), {"reads": lambda: read(name), "tree": tree}
    of = next((key for key in of_now if key in proved), None)
    return of is not None and (ROOT / ".git").exists() and proved[of] == of_now[of]()


def due(today: dt.date) -> dict[str, str]:
    """Parts that were never proved, too long ago or of other code, each with which of these."""
    found = {}
    for name in PARTS:
        if (proved := record().get(name)) is None:
            found[name] = "never"
        elif today - dt.date.fromisoformat(proved["date"]) > OLD:
            found[name] = proved["date"]
        elif not is_proved(name):
            found[name] = f"{proved['date']}, other code"
    return found


def command(name: str) -> tuple[str, ...]:
    """How a part is run, with the programs of this environment before others."""
    part = PARTS[name]
    others = [path for other, theirs in PARTS.items() if other != name == "suite" for path in theirs.tests]
    ignored = (f"--ignore={path}" for path in others)
    return part.command or ("pytest", "-n", "2", "--dist", "loadfile", "--no-loadscope-reorder", *ignored, *part.tests)


def timed(words: Sequence[str], environment: dict[str, str]) -> tuple[int, int, int]:
    """A command's exit code, its processor seconds with those of its processes, and its wall seconds."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    code = subprocess.run(words, cwd=ROOT, env=os.environ | environment, check=False).returncode
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return code, round(spent), round(time.monotonic() - started)


def prove(name: str) -> int:
    """Run a part; if it passes and what it reads stays as it is, write it into the record."""
    part, of = PARTS[name], read(name)
    print(f"nightly {name}: {part.about}; seed {seed()}", flush=True)
    programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {"NIGHTLY": "1", "PROOF_SEED": str(seed()), "PATH": programs, **dict(part.environment)}
    code, processor, wall = timed(command(name), environment)
    print(f"nightly {name}: {processor} processor seconds, {wall} seconds, exit code {code}", flush=True)
    if code == 0 and digest(*part.reads) == of:
        proved = {"date": f"{dt.datetime.now(dt.UTC):%Y-%m-%d}", "processor_seconds": processor, "wall_seconds": wall}
        written = record() | {name: proved | {"tree": tree(), "seed": seed(), "reads": of}}
        RECORD.write_text(json.dumps(dict(sorted(written.items())), indent=2) + "\n", encoding="utf-8")
    return code


def test(words: Sequence[str]) -> int:
    """The body of `make test`: its commands, what they took beside the budget, and which parts of nightly are due."""
    code, processor, wall = timed(words, {})
    bound = budget.bounds()["seconds of make test"]
    allowed = ", ".join(f"{name} {seconds:,}" for name, seconds in bound.items())
    print(f"make test: processor {processor:,} s, wall {wall:,} s; allowed on two quiet cores: {allowed}")
    waiting = ", ".join(f"{name} ({when})" for name, when in due(dt.datetime.now(dt.UTC).date()).items())
    print(f"due in make nightly: {waiting or 'nothing'}", flush=True)
    return code


def main(arguments: list[str]) -> int:
    """`test COMMAND...`, `proved PART`, or parts by name: all of them where none is named."""
    if arguments[:1] == ["test"]:
        return test(arguments[1:])
    if arguments[:1] == ["proved"]:
        return int(not is_proved(arguments[1]))
    if unknown := set(arguments) - PARTS.keys():
        print(f"no part of nightly: {', '.join(sorted(unknown))}. There are: {', '.join(PARTS)}", file=sys.stderr)
        return 2
    codes = [prove(name) for name in arguments or PARTS]  # a part that fails stops no other
    return int(any(codes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
