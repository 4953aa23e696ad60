"""Who may read what is published and reported, whatever the umask of the shell is."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from run_side_kit import ROWS, TABLES, identity, publish, write_build

from dagster_project.base import modes
from dagster_project.base.failures import UsageError
from dagster_project.base.locking import writer_lock
from dagster_project.publishing.reporting import render_quarter
from dagster_project.settings import load_settings


@pytest.fixture(params=[0o000, 0o077])
def home(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A home made under a umask that hides nothing, and one that hides everything."""
    before = os.umask(request.param)
    with writer_lock(tmp_path / "home", "test"):
        yield tmp_path / "home"
    os.umask(before)


def modes_below(folder: Path) -> set[str]:
    paths = [path for path in (folder, *folder.rglob("*")) if not path.is_symlink()]
    return {f"{'d' if path.is_dir() else ''}{stat.S_IMODE(path.stat().st_mode):o}" for path in paths}


@pytest.mark.parametrize(("mode", "published"), [(0o600, {"d700", "600"}), (0o640, {"d750", "640"}), (0o644, {"d755", "644"})])
def test_readers_are_those_that_publish_mode_names(home: Path, mode: int, published: set[str]) -> None:
    modes.prepare(home, str(home / "landing"), mode)
    publish(write_build(home / "build.duckdb", ROWS), home / "published", TABLES, identity("build-1"))
    assert modes_below(home / "published") == published
    assert modes_below(home / "build.duckdb") == {"600"}
    assert stat.S_IMODE(home.stat().st_mode) == 0o711


def test_a_reader_keeps_what_it_may_read_through_the_next_publication(home: Path) -> None:
    modes.prepare(home, str(home / "landing"), 0o644)
    for name in ("build-1", "build-2"):
        file = write_build(home / "build.duckdb", ROWS, name)
        publish(file, home / "published", TABLES, identity(name))  # equal Parquet is the same file on disk
        assert modes_below(home / "published") == {"d755", "644"}


def test_a_report_in_the_home_has_publish_mode_and_one_elsewhere_the_umask(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def render(_: Path, quarter: str, folder: Path, **__: object) -> SimpleNamespace:
        (folder / quarter / "tables").mkdir(parents=True)
        (folder / quarter / "report.html").touch()
        return SimpleNamespace(html=folder / quarter / "report.html")

    monkeypatch.setattr("dagster_project.publishing.reporting.render", render)
    modes.prepare(home, str(home / "landing"), 0o640)
    file = home / "published" / "trainledger.duckdb"
    file.touch()
    umask = os.umask(0o077)
    render_quarter(file, home / "reports", "2026Q2", "A")
    render_quarter(file, tmp_path / "elsewhere", "2026Q2", "A")
    os.umask(umask)
    assert modes_below(home / "reports") == {"d750", "640"}
    assert modes_below(tmp_path / "elsewhere") == {"d700", "600"}


def test_a_landing_elsewhere_is_closed_and_links_are_not_followed(home: Path, tmp_path: Path) -> None:
    landing, outside = tmp_path / "landing", tmp_path / "outside"
    (landing / "cur").mkdir(parents=True)
    outside.write_text("not ours")
    outside.chmod(0o644)
    (landing / "cur" / "link").symlink_to(outside)
    landing.chmod(0o755)
    modes.prepare(home, str(landing), 0o640)
    assert modes_below(landing) == {"d700"} and stat.S_IMODE(outside.stat().st_mode) == 0o644
    modes.keep(home, "s3://bucket/prefix", 0o640)


@pytest.mark.parametrize(("written", "mode"), [("0640", 0o640), ("'0644'", 0o644), ("0o600", 0o600)])
def test_publish_mode_is_written_as_for_chmod(tmp_path: Path, written: str, mode: int) -> None:
    assert load_settings(config_with(tmp_path, f"publish_mode: {written}")).publish_mode == mode


@pytest.mark.parametrize("written", ["0777", "640", "group", "true", "[]", "0666"])
def test_another_publish_mode_is_refused_with_its_line(tmp_path: Path, written: str) -> None:
    with pytest.raises(UsageError, match=r"'publish_mode': write 0600 .* \(.*line 3\)"):
        load_settings(config_with(tmp_path, f"publish_mode: {written}"))


def config_with(folder: Path, line: str) -> Path:
    path = folder / "trainledger.yaml"
    path.write_text(f"organisation: {{name: A}}\nsources: [{{name: runs, kind: training_runs, location: ./runs}}]\n{line}\n")
    return path
