"""The files of deploy/ agree with each other and with the program; what only a cluster or a container can show is on its page."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from dagster_project import __version__
from dagster_project.assets.instance import DAGSTER_YAML
from dagster_project.assets.internals import REPOSITORY

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
THERE = {path.name for path in DEPLOY.iterdir()}
YOURS = {"trainledger.yaml", "credentials.env", "bootstrap.lock", "deploy.lock"}  # a person's, or put beside by `make deployable`


def test_every_file_that_a_deployment_reads_is_there() -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    mounted = {
        volume.split(":")[0].removeprefix("./")
        for service in compose["services"].values()
        for volume in service["volumes"]
        if volume.startswith("./")
    }
    [settings, *_] = yaml.safe_load((DEPLOY / "kustomization.yaml").read_text())["configMapGenerator"]
    copied = {
        name for line in re.findall(r"(?m)^COPY (?!--)(.*) \S+$", (DEPLOY / "Containerfile").read_text()) for name in line.split()
    }
    assert mounted > {"Caddyfile", "workspace.yaml"} and {*settings["files"]} > {"dagster.yaml"} and "install.sh" in copied
    assert mounted | {*settings["files"]} | copied - {"trainledger-*.whl"} <= THERE | YOURS


def test_images_have_the_programs_version() -> None:
    version = __version__.partition(".dev")[0]
    [image] = yaml.safe_load((DEPLOY / "kustomization.yaml").read_text())["images"]
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    assert (image["newTag"], compose["services"]["code"]["image"]) == (version, f"trainledger:{version}")


def test_a_deployment_has_the_settings_and_the_name_of_the_graph_that_the_program_has() -> None:
    ours, theirs = (yaml.safe_load(text) for text in (DAGSTER_YAML, (DEPLOY / "dagster.yaml").read_text()))
    assert theirs.pop("storage") == {"postgres": {"postgres_url": "postgresql+psycopg2://"}}
    assert {**theirs, **ours} == theirs  # and how long ticks are kept
    [location] = yaml.safe_load((DEPLOY / "workspace.yaml").read_text())["load_from"]
    assert {".dagster/repository": f"__repository__@{location['grpc_server']['location_name']}"} == REPOSITORY
