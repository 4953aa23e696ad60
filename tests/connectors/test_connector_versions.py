"""Which files decide what originals become: with one too few, old figures stay; with one too many, all is derived anew."""

from __future__ import annotations

import ast
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import connectors
from connectors import registry
from connectors.registry import DESCRIPTORS, KINDS, modules_of

PACKAGE = Path(connectors.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def imported(path: Path) -> Iterator[str]:
    """Every name that a file imports, from its whole syntax tree."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path} imports by a relative name, which modules_of does not follow"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Name | ast.Attribute):
            called = node.id if isinstance(node, ast.Name) else node.attr
            hides = called in {"import_module", "__import__"} and path.name not in {"registry.py", "lazy.py"}  # lazy: Arrow only
            assert not hides, f"{path} hides an import"


def reached_from(module: str) -> set[Path]:
    """What a module imports, directly or through others, found another way than the product does."""
    by_name = {name_of(path): path for path in FILES}
    reached: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if not name or name in reached:
            continue
        waiting.append(name.rpartition(".")[0])
        if name in by_name and not name.startswith("connectors.stores."):
            reached.add(name)
            waiting += imported(by_name[name])
    return {by_name[name] for name in reached}


@pytest.mark.parametrize("kind", KINDS)
def test_the_files_of_a_kind_are_all_that_its_module_imports(kind: str) -> None:
    assert set(modules_of(kind)) == reached_from(f"connectors.{DESCRIPTORS[kind].module}")
    assert list(modules_of(kind)) == sorted(modules_of(kind))


def test_every_file_belongs_to_a_kind_but_the_registry_the_clients_of_stores_and_the_look_at_what_there_is() -> None:
    outside = set(FILES) - {path for kind in KINDS for path in modules_of(kind)}
    clients = set((PACKAGE / "stores").glob("*.py")) - {PACKAGE / "stores" / "__init__.py"}
    # every refresh looks again, and nothing that is kept of the bytes depends on it
    look = {PACKAGE / "layouts" / name for name in ("accounting.py", "findings.py")}
    # what is asked of a table: rows that came have a hash, and groups the version of their statement
    tables = {PACKAGE / name for name in ("gcp/tables.py", "gcp/bigquery_sql.py", "formats/bigquery_types.py")}
    groups = {PACKAGE / "gcp" / name for name in ("grouped_sql.py", "exact_sql.py", "kept_sql.py")}
    groups |= {PACKAGE / "aws" / name for name in ("grouped_bill.py", "grouped_sql.py", "sql_dialects.py")}
    assert outside == {PACKAGE / "registry.py", *look, *clients, *tables, *groups}


POWER = {"xprof", "neuron_power", "gpu_monitoring", "power_meters", "prometheus", "wandb"}


@pytest.mark.parametrize(
    ("helper", "kinds"),
    [
        ("aws/cur_legacy.py", {"aws_cur"}),
        ("layouts/manifests.py", {"aws_cur", "aws_focus", "aws_carbon"}),
        ("aws/bills.py", {"aws_cur", "aws_focus"}),
        ("aws/objects.py", {"aws_focus", "aws_carbon"}),
        ("formats/focus.py", {"aws_focus", "gcp_focus"}),
        ("formats/nested.py", {"gcp_billing", "gcp_focus", "gcp_carbon", "gcp_prices"}),
        ("gcp/__init__.py", {"gcp_billing", "gcp_focus", "gcp_carbon", "gcp_prices"}),
        ("gcp/billing_columns.py", {"gcp_billing", "gcp_focus"}),
        ("telemetry/samples.py", {"neuron_monitor", "tpu_monitoring", *POWER}),
        ("power/readings.py", POWER),
        ("inputs/small_tables.py", {"fx_rates", "user_inputs", "provider_totals"}),
        ("errors.py", set(KINDS)),
        ("stores/s3.py", set()),
    ],
)
def test_a_change_in_a_helper_changes_exactly_the_kinds_that_import_it(tmp_path: Path, helper: str, kinds: set[str]) -> None:
    copy = tmp_path / "connectors"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))

    def versions() -> dict[str, str]:
        closures = {kind: registry._closure(registry._module_of(kind), copy) for kind in KINDS}
        return {kind: hashlib.sha256(b"".join(p.read_bytes() for p in paths)).hexdigest() for kind, paths in closures.items()}

    before = versions()
    with (copy / helper).open("a") as file:
        file.write("\n# changed\n")
    after = versions()
    assert {kind for kind in KINDS if before[kind] != after[kind]} == kinds


def test_asking_for_files_imports_no_connector() -> None:
    program = (
        "import sys\nfrom connectors.registry import DESCRIPTORS, KINDS, modules_of\n"
        "heavy = {*(f'connectors.{one.module}' for one in DESCRIPTORS.values()), 'pyarrow', 'boto3'}\n"
        "print(sum(len(modules_of(kind)) > 9 for kind in KINDS), sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=PACKAGE.parent, capture_output=True, text=True, check=True)
    assert done.stdout == f"{len(KINDS)} []\n"


def test_an_unknown_kind_has_no_files() -> None:
    with pytest.raises(ValueError, match="no connector for kind 'gcp'"):
        modules_of("gcp")
