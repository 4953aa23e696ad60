"""The tutorial as a reader follows it: its commands in one shell, by the programs they name, on a server that speaks S3."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import boto3
import pytest

from tests.docs.environment import PROGRAMS, ROOT, must_be_installed
from tests.s3 import CREDENTIALS, KEY_ID, SECRET

pytestmark = [pytest.mark.slow, pytest.mark.nightly]

PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)


def test_the_commands_lead_from_an_empty_bucket_to_an_issued_report(tmp_path: Path, endpoint: str) -> None:
    must_be_installed()
    credentials = {
        **CREDENTIALS,
        "AWS_ENDPOINT_URL_S3": endpoint,
        "PATH": f"{Path(sys.executable).parent}:{PROGRAMS}:{os.environ['PATH']}",
    }
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")} | credentials
    script = "set -euo pipefail\n" + "".join(f"{block}echo '--- end of block {at}'\n" for at, block in enumerate(BLOCKS))
    done = subprocess.run(
        ["bash"],
        input=script,
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    printed = [re.sub(r"\s+", " ", part) for part in re.split(r"--- end of block \d+\n", done.stdout)]
    commands = [re.findall(r"^trainledger [a-z]+", block, re.MULTILINE) for block in BLOCKS]
    of = {command: printed[at] for at, block in enumerate(commands) for command in block}
    for promised in ("0 problems", "no_record: ", "by time alone, with wide bounds"):
        assert promised in of["trainledger doctor"]
    differing = re.search(r"that_differ -+ -+ (\d+) (\d+)", of["trainledger sql"])  # of two blocks the later
    assert differing and int(differing[1]) > 100 and differing[2] == "0"
    assert "issued_preliminary" in of["trainledger report"] and " tables rebuilt from the landing" in of["trainledger verify"]
    assert "payer-a-cur-00001.snappy.parquet:1 " in of["trainledger trace"]
    issued = re.search(r"`(trainledger-home/reports/issued/[^`]+\.html)`", PAGE)
    assert issued and (tmp_path / issued[1]).stat().st_size > 100_000
    s3 = boto3.client("s3", endpoint_url=endpoint, aws_access_key_id=KEY_ID, aws_secret_access_key=SECRET)
    assert s3.list_buckets()["Buckets"] == [], "the bucket is gone at the end"
