"""Terraform accepts the AWS side, where it is installed with its AWS provider; elsewhere the files are read as HCL alone."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from dagster_project.commands.providers import values_of, write_provider

pytestmark = pytest.mark.slow
PLUGINS = Path(os.environ.get("TF_PLUGINS") or "/opt/tf-plugins")  # a mirror of providers: none is downloaded here
MIRROR = 'provider_installation {{\n  filesystem_mirror {{\n    path = "{}"\n  }}\n}}\n'


def test_the_aws_side_is_formatted_and_valid(tmp_path: Path) -> None:
    if not shutil.which("terraform") or not (PLUGINS / "registry.terraform.io/hashicorp/aws").is_dir():
        pytest.skip("no Terraform with the AWS provider here")
    write_provider("aws", values_of("aws", {}), tmp_path / "aws")
    (tmp_path / "terraformrc").write_text(MIRROR.format(PLUGINS))
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TF_CLI_CONFIG_FILE": str(tmp_path / "terraformrc")}
    for command in (["fmt", "-check"], ["init", "-input=false", "-backend=false"], ["validate"]):
        done = subprocess.run(
            ["terraform", *command], cwd=tmp_path / "aws", env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
