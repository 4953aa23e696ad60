"""`trainledger-verify`, installed alone: the same outcome as `trainledger verify`, line by line, but for the rendering."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import duckdb
import pytest

from dagster_project.evidence.checking import verify_pack
from dagster_project.evidence.countersigning import sign_pack
from dagster_project.evidence.findings import tell_findings
from dagster_project.evidence.signatures import Trust
from dagster_project.evidence.signing import trusted_key
from tests.evidence.kit import key
from tests.evidence.test_evidence_packs import flip, seal
from tests.evidence.test_forged_packs import forge_in_pack
from tests.interpreters import interpreter, surroundings

ROOT = Path(__file__).resolve().parents[2]
UV = Path(sys.executable).with_name("uv")
PROJECT = tomllib.loads((ROOT / "verify" / "pyproject.toml").read_text())
FIGURE = "2026Q2/glance/effective_cost"
RENDERED = re.compile(
    r"differs: report/(?:report|board).pdf: its texts are as stated.*|Rendering: not asked for.*|The PDFs are not rendered.*"
)
MOST_MB, MOST_MB_WITH_RENDERING = 120, 230
pytestmark = pytest.mark.slow


def run(*command: object) -> subprocess.CompletedProcess[str]:
    """A command with nothing of this clone in its environment."""
    words = [str(part) for part in command]
    return subprocess.run(words, capture_output=True, text=True, check=False, env=surroundings(), cwd="/")


def must(*command: object) -> None:
    done = run(*command)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


def installed(folder: Path, *options: object, python: str = sys.executable) -> Path:
    """An environment with the wheel, by way of its source distribution, for which no index is asked, and what it needs."""
    must(UV, "build", "-q", "--no-build-isolation", "--python", sys.executable, "--out-dir", folder / "dist", ROOT / "verify")
    must(UV, "venv", "-q", "--python", python, folder / "environment")
    into = ("--python", folder / "environment" / "bin" / "python")
    must(UV, "pip", "install", "-q", *into, *options)
    must(UV, "pip", "install", "-q", *into, "--no-index", "--no-deps", *(folder / "dist").glob("*.whl"))
    must(UV, "pip", "check", "-q", *into)
    return folder / "environment"


def megabytes(environment: Path) -> float:
    [site] = environment.glob("lib/python*/site-packages")
    return sum(path.stat().st_size for path in site.rglob("*") if path.is_file()) / 1e6


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel with its six packages and what they need, and nothing else."""
    return installed(tmp_path_factory.mktemp("alone"), "--require-hashes", "-r", ROOT / "requirements" / "verify.lock")


def lines_of(text: str) -> list[str]:
    """The lines of an outcome without what only rendering shows."""
    shown = [line for line in text.splitlines() if not RENDERED.fullmatch(line)]
    return [re.sub(r"\d+ files rendered again", "files rendered again", line) for line in shown]


def outcomes(environment: Path, pack: Path, trusted: Path | None = None) -> tuple[tuple[int, str], tuple[int, str]]:
    """Exit code and lines of the small wheel, then of the product."""
    words = ["--require-signature", "--signed-as", "approver", "--trusted-key", trusted] if trusted else []
    small = run(environment / "bin" / "trainledger-verify", pack, *words)
    assert small.stderr == ""
    lines: list[str] = []
    trust = Trust((trusted_key(trusted),), is_signature_required=True, roles=frozenset({"approver"})) if trusted else Trust()
    code = tell_findings(verify_pack(pack, trust), lines.append)
    return (small.returncode, small.stdout), (code, "\n".join(lines))


def test_a_good_pack_is_good_with_every_document_read_back_and_that_drawings_are_not_compared_is_printed(
    alone: Path, pack: Path
) -> None:
    (code, small), (other_code, whole) = outcomes(alone, pack.with_suffix(".zip"))
    assert (code, lines_of(small)) == (other_code, lines_of(whole)) and code == 0
    assert "Rendering: not asked for, as typst," in small and " documents read back" in small
    assert "2 files rendered again" in small and "4 files rendered again" in whole


def test_forged_packs_have_the_same_differences(alone: Path, copied_pack: Path, tmp_path: Path) -> None:
    costs, outside = copied_pack / "data" / "marts" / "fct_training_run_costs.parquet", tmp_path / "outside"
    with duckdb.connect() as connection:
        connection.execute(f"create table costs as from '{costs}'; update costs set effective_cost = effective_cost * 2")
        connection.execute(f"copy costs to '{costs}'")
    forge_in_pack(copied_pack, f"copy (select 1 as value) to '{outside}'", 1)
    forge_in_pack(copied_pack, "select cast(129 as decimal(38, 12)) as value", 2)
    seal(copied_pack)
    (code, small), (other_code, whole) = outcomes(alone, copied_pack)
    assert (code, lines_of(small)) == (other_code, lines_of(whole)) and code == 1
    assert small.count("differs: ") > 5 and "it proves nothing" in small and not outside.exists()


def test_damaged_and_signed_packs_have_the_same_outcome(alone: Path, copied_pack: Path, tmp_path: Path) -> None:
    owner, other = key(tmp_path, "owner"), key(tmp_path, "other")
    sign_pack(copied_pack, owner, "approver", None, ())
    for trusted, expected in ((owner, 0), (other, 1)):
        (code, small), (other_code, whole) = outcomes(alone, copied_pack, trusted.with_suffix(".pub"))
        assert (code, lines_of(small)) == (other_code, lines_of(whole)) and code == expected
    flip(copied_pack / "gates.json")
    (copied_pack / "extra.txt").write_text("more")
    (code, small), (other_code, whole) = outcomes(alone, copied_pack)
    assert (code, small.splitlines()) == (other_code, whole.splitlines()) and code == 1
    traced = run(alone / "bin" / "trainledger-verify", "trace", "--figure", FIGURE, copied_pack)
    assert traced.returncode == 1 and "the pack is not as it was issued: extra.txt: it is not in MANIFEST.json" in traced.stderr
    nothing = run(alone / "bin" / "trainledger-verify", tmp_path / "none.zip")
    assert nothing.returncode == 2 and "there is no such report" in nothing.stderr


def test_a_figure_is_traced_in_the_pack_to_its_groups_of_the_bill(alone: Path, pack: Path, tmp_path: Path) -> None:
    ask = (alone / "bin" / "trainledger-verify", "trace", pack.with_suffix(".zip"))
    found = json.loads(run(*ask, "--json", "--figure", FIGURE, "--out", tmp_path / "rows.csv").stdout)
    assert found["value"] == "129.000000000000"
    with duckdb.connect() as connection:
        of_runs = f"from '{tmp_path / 'rows.csv'}' where kind = 'bill' and training_run_id is not null"
        assert connection.execute(f"select count(*), sum(contribution) {of_runs}").fetchall() == [(6, 129)]
    energy = json.loads(run(*ask, "--json", "--figure", "2026Q2/glance/facility_energy").stdout)
    assert {"sample", "record", "seed"} <= {one["kind"] for one in energy["behind"]}
    unknown = run(*ask, "--figure", "fct_training_run_costs/a/effective_cost")
    assert unknown.returncode == 2 and "is no figure of a report" in unknown.stderr


def test_it_is_small_and_brings_six_packages_with_what_they_need(alone: Path) -> None:
    [site] = alone.glob("lib/python*/site-packages")
    brought = {path.name.partition("-")[0].lower() for path in site.glob("*.dist-info")}
    pure = {"jinja2", "markupsafe", "pyyaml", "pypdf", "xlsxwriter"}
    assert brought == {"trainledger_verify", "duckdb", "cryptography", "cffi", "pycparser", *pure}
    assert megabytes(alone) <= MOST_MB


@pytest.mark.nightly
@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_another_python_gives_the_same_outcome_from_another_folder(version: str, copied_pack: Path, tmp_path: Path) -> None:
    lock = ("--require-hashes", "-r", ROOT / "requirements" / "verify.lock")
    environment = installed(tmp_path / "elsewhere", *lock, python=interpreter(version))
    (code, small), (other_code, whole) = outcomes(environment, copied_pack)
    assert (code, lines_of(small)) == (other_code, lines_of(whole)) and code == 0


@pytest.mark.nightly
def test_with_the_extra_it_renders_and_every_line_is_the_same(pack: Path, tmp_path: Path) -> None:
    needed = [*PROJECT["project"]["dependencies"], *PROJECT["project"]["optional-dependencies"]["rendering"]]
    environment = installed(tmp_path, "-c", ROOT / "requirements" / "run.lock", *needed)
    (code, small), (other_code, whole) = outcomes(environment, pack)
    assert (code, small.splitlines()) == (other_code, whole.splitlines()) and code == 0
    assert not re.search(r"\b0 files rendered again", small)
    assert megabytes(environment) <= MOST_MB_WITH_RENDERING
