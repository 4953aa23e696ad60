"""The writer lock: one holder, a name for whoever waits, nothing to clean after a crash."""

import errno
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from dagster_project.base.failures import LockHeldError, MachineError, UsageError
from dagster_project.base.locking import HOLDER_NAME, writer_lock

HOLD = """
    import sys
    from pathlib import Path
    from dagster_project.base.locking import writer_lock
    with writer_lock(Path(sys.argv[1]), "trainledger refresh"):
        print("held", flush=True)
        sys.stdin.read()
"""


def start_holder(home: Path) -> subprocess.Popen[str]:
    """Another process that holds the lock until its standard input closes."""
    root = Path(__file__).resolve().parents[2]
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(HOLD), str(home)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=root,
    )
    assert process.stdout and process.stdout.readline() == "held\n"
    return process


def test_a_home_that_cannot_be_written_is_named_and_is_no_bug(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file where a folder should be")
    with pytest.raises(UsageError, match=r"cannot be written: .*\(.*home\)"), writer_lock(tmp_path / "home", "test"):
        pass


def test_a_full_disk_at_the_lock_is_the_machines_and_asks_for_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "mkdir", full)
    with pytest.raises(MachineError, match=r"No space left on device.*Make room"), writer_lock(tmp_path / "home", "refresh"):
        pass


def test_another_process_is_refused_with_the_name_of_the_writer(tmp_path: Path) -> None:
    holder = start_holder(tmp_path)
    try:
        with pytest.raises(LockHeldError, match=f"process {holder.pid}: trainledger refresh"), writer_lock(tmp_path, "second"):
            pytest.fail("two writers at once")
    finally:
        holder.communicate("")
    assert LockHeldError.exit_code == 4


def test_whoever_waits_names_for_whom_and_names_the_holder_at_the_end(tmp_path: Path) -> None:
    holder, stated = start_holder(tmp_path), []
    try:
        with pytest.raises(LockHeldError, match=r"still held after 0\.3 s"), writer_lock(tmp_path, "second", 0.3, stated.append):
            pytest.fail("two writers at once")
    finally:
        holder.communicate("")
    assert len(stated) == 1 and f"process {holder.pid}" in stated[0]


def test_a_killed_holder_leaves_a_free_lock(tmp_path: Path) -> None:
    holder = start_holder(tmp_path)
    holder.kill()
    holder.wait()
    assert (tmp_path / HOLDER_NAME).exists()  # the note of the dead process decides nothing
    with writer_lock(tmp_path, "next"):
        assert str(os.getpid()) in (tmp_path / HOLDER_NAME).read_text()


def test_inside_one_process_the_lock_may_be_taken_again_and_is_free_only_after_the_last(tmp_path: Path) -> None:
    with writer_lock(tmp_path, "command"):
        with writer_lock(tmp_path, "the job inside"):
            pass
        assert "command" in (tmp_path / HOLDER_NAME).read_text()
        probe = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(HOLD), str(tmp_path)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            cwd=Path(__file__).resolve().parents[2],
            check=False,
        )
        assert "LockHeldError" in probe.stderr
    assert not (tmp_path / HOLDER_NAME).exists()
