"""What a release consists of: wheels, a bill of materials for each lock, the notes, and SHA256SUMS of them all.

The same commit gives the same bytes, on another day and in another folder too: times are those of the commit.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.release.checks import version_of

SUMS, NOTES = "SHA256SUMS", "NOTES.md"
MATERIALS = {"trainledger": ("pyproject.toml", "run.lock"), "trainledger-verify": ("verify/pyproject.toml", "verify.lock")}


def write(root: Path, folder: Path) -> None:
    """Fill the folder; what was in it goes."""
    asked = ["git", "log", "-1", "--format=%ct"]
    committed = subprocess.run(asked, cwd=root, capture_output=True, text=True, check=True).stdout.strip()
    environment = os.environ | {"SOURCE_DATE_EPOCH": committed}
    make = ["make", "-s", "wheels", f"WHEELS={folder.absolute()}", f"BIN={Path(sys.executable).parent}"]
    subprocess.run(make, cwd=root, env=environment, check=True)
    for name, (project, lock) in MATERIALS.items():
        target = folder / f"{name}-{version_of(root)}.cdx.json"
        write_materials(root / project, root / "requirements" / lock, version_of(root), target, environment)
    (folder / NOTES).write_text(notes((root / "CHANGELOG.md").read_text(encoding="utf-8")), encoding="utf-8")
    (folder / SUMS).write_text(sums(folder), encoding="utf-8")


def write_materials(project: Path, lock: Path, version: str, target: Path, environment: dict[str, str]) -> None:
    """The packages of a lock with their hashes, as CycloneDX."""
    with tempfile.TemporaryDirectory(prefix="trainledger-sbom-") as scratch:
        stated = Path(scratch) / "pyproject.toml"  # the version is not in the file itself
        stated.write_text(project.read_text(encoding="utf-8").replace('dynamic = ["version"]', f'version = "{version}"', 1))
        program = Path(__file__).resolve().parents[2] / ".venv-release" / "bin" / "cyclonedx-py"
        words = [str(program), "requirements", str(lock), "--pyproject", str(stated), "--output-reproducible", "-o", str(target)]
        subprocess.run(words, env=environment | {"PYTHONWARNINGS": "ignore"}, check=True)


def notes(changelog: str) -> str:
    """The newest version's part of the changelog."""
    _, newest, *_ = re.split(r"^(?=## )", changelog, flags=re.MULTILINE)
    return newest.rstrip() + "\n"


def sums(folder: Path) -> str:
    """A line for each file, as `sha256sum --check` reads them."""
    names = sorted(path.name for path in folder.iterdir() if path.name != SUMS)
    return "".join(f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in names)
