"""A small company with a whole quarter of 2026: two runs a month on a node each, carbon, telemetry of an hour."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import yaml

from dagster_project.evidence.signing import public_key_of
from tests.landing.kit import write_samples
from tests.oracle.builders import Exports, carbon, hour, run

NOW = "2026-08-01T00:00:00Z"
LATER = "2026-09-01T00:00:00Z"
PREPARER, APPROVER = "P. Preparer", "A. Approver"
REPORTING = {"prepared_by": PREPARER, "approved_by": [APPROVER], "base_year": 2026}
MONTHS = ("2026-04", "2026-05", "2026-06")


def at(path: Path, day: str) -> None:
    """Give a file, or all below a folder, the time at which its provider wrote it."""
    stamp = datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()
    for one in [path, *path.rglob("*")]:
        if one.is_file():
            os.utime(one, (stamp, stamp))


def bill(exports: Exports, month: str, cost: float, day: str) -> None:
    """A month's bill: an hour of each run's node, and one of storage."""
    start = f"{month}-10T10:00:00"
    rows = [hour(start, cost, line_item_resource_id=node) for node in ("i-0aaa", "i-0bbb")]
    storage = hour(start, 1.5, line_item_usage_type="USE2-EBS:VolumeUsage.gp3", line_item_resource_id="vol-1")
    exports.bill([*rows, storage], period=month, execution=day)
    at(exports.folder / "exports" / "cur" / "metadata" / f"BILLING_PERIOD={month}" / day, day)
    at(exports.folder / "exports" / "cur" / "data" / f"BILLING_PERIOD={month}" / day, day)


def emissions(exports: Exports, month: str, tonnes: float, version: str, day: str) -> None:
    """A month's carbon in one model version."""
    row = carbon(tonnes, tonnes / 2, usage_period_start=datetime.fromisoformat(f"{month}-01"), model_version=version)
    row |= {"total_scope_2_lbm_emissions_value": tonnes / 4, "total_scope_2_mbm_emissions_value": tonnes / 8}
    exports.carbon([row], version=version, period=month)
    for folder in ("data", "metadata"):
        at(exports.folder / "exports" / "carbon" / folder / f"model_version={version}" / f"usage_period={month}", day)


def samples(exports: Exports, month: str, day: str) -> None:
    """Telemetry of the hour of one run: its machine stood idle."""
    folder = exports._source("neuron", "neuron_monitor")
    ends = [f"{month}-10T10:{minute:02d}:00Z" for minute in range(1, 60)]
    path = folder / f"run=run-a-{month}/host=i-0aaa/{month.replace('-', '')}10T100000Z.jsonl"
    write_samples(path, *ends, at=day)
    text = path.read_text().replace("i-0123456789abcdef0", "i-0aaa")
    path.write_text(text)
    at(path, day)


def record(exports: Exports, month: str, day: str, until: str = "11:00:00") -> None:
    """Two runs of an hour, or of what of it the record states."""
    folder = exports._source("runs", "training_runs")
    for name, node in (("a", "i-0aaa"), ("b", "i-0bbb")):
        end = until if name == "a" else "11:00:00"
        held = run(f"run-{name}-{month}", (node, f"{month}-10T10:00:00Z", f"{month}-10T{end}Z", 16))
        path = folder / f"{name}-{month}.run.json"
        path.write_text(json.dumps(held))
        at(path, day)


def configure(exports: Exports, **reporting: object) -> Path:
    """trainledger.yaml with the two people."""
    path = exports.config()
    document = yaml.safe_load(path.read_text()) | {"reporting": REPORTING | reporting}
    path.write_text(yaml.safe_dump(document))
    return path


def write_company(folder: Path, months: tuple[str, ...] = MONTHS) -> Exports:
    """Everything that was delivered by the end of July."""
    exports = Exports(folder)
    for month in months:
        bill(exports, month, 21.5, "2026-07-05")
        emissions(exports, month, 0.5, "v3.0.0", "2026-07-20")
        record(exports, month, "2026-07-02")
    samples(exports, "2026-04", "2026-07-02")
    configure(exports)
    return exports


def key(folder: Path, name: str) -> Path:
    """A new Ed25519 key; its public half lies beside it."""
    private = folder / f"{name}.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", private], check=True, capture_output=True)
    private.with_suffix(".pub").write_bytes(public_key_of(private))
    return private


class Authority:
    """A time stamp authority of this machine: a root, and a certificate by it that may stamp times."""

    CONFIGURATION = """[tsa]
default_tsa = own
[own]
serial = {folder}/serial
default_policy = 1.2.3.4.1
digests = sha256, sha512
signer_digest = sha256
"""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder, self.root = folder, folder / "root.pem"
        new = ("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
        self._openssl(*new, "-x509", "-days", "3650", "-subj", "/CN=Root", "-keyout", "root.key", "-out", "root.pem")
        self._openssl(*new, "-subj", "/CN=Stamps", "-keyout", "stamps.key", "-out", "stamps.csr")
        (folder / "may").write_text("extendedKeyUsage = critical, timeStamping\n")
        by_root = ("-CA", "root.pem", "-CAkey", "root.key", "-days", "3650", "-extfile", "may")
        self._openssl("x509", "-req", "-in", "stamps.csr", *by_root, "-out", "stamps.pem")
        (folder / "serial").write_text("01\n")
        (folder / "tsa.cnf").write_text(self.CONFIGURATION.format(folder=folder))

    def stamp(self, file: Path, digest: str = "-sha256") -> Path:
        """The answer of the authority about a file."""
        self._openssl("ts", "-query", "-data", file, digest, "-cert", "-out", "question.tsq")
        answer = self._folder / "answer.tsr"
        signer = ("-signer", "stamps.pem", "-inkey", "stamps.key")
        self._openssl("ts", "-reply", "-config", "tsa.cnf", "-queryfile", "question.tsq", *signer, "-out", answer)
        return answer

    def _openssl(self, *words: object) -> None:
        asked = ["openssl", *(str(word) for word in words)]
        subprocess.run(asked, check=True, capture_output=True, cwd=self._folder)
