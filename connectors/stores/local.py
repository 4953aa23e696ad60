"""Objects in a local folder: the same layout as in a bucket, read without leaving the folder.

Symbolic links to folders are not followed and no pipe or socket is opened: `not_followed` names them. A link to a file outside
the location is refused when it is read: an export copied from elsewhere must not name files of this machine.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import BinaryIO

from connectors.errors import ExportContentError, Place, SourceUnreadableError
from connectors.stores import READ_LIMIT, ObjectInfo
from connectors.stores.transfer import CHUNK, changed, check_size, write_hashed

_OF_PROCESS = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)  # what this process lacks, whatever file it opens
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class LocalStore:
    """A folder, or one single file, as an object store. The etag is size and modification time, so listing reads no byte."""

    def __init__(self, location: str, base: Path) -> None:
        root = Path(os.path.normpath(base / Path(location).expanduser()))
        written = location.rstrip("/")
        self.uri = written if written.rsplit("/", 1)[-1] not in {"", ".", ".."} else root.as_posix()
        self._root = root
        self.not_followed: dict[str, tuple[str, ObjectInfo]] = {}  # by key, what the last listing passed by and why

    def uri_of(self, key: str) -> str:
        """Return the location as configured, with the key behind it."""
        return self.uri if self._root.is_file() else f"{self.uri}/{key}"

    def list_objects(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """List regular files in key order. A missing folder is an error here, not an empty source."""
        self.not_followed = {key: one for key, one in self.not_followed.items() if not key.startswith(prefix)}
        with self._named_errors(prefix):
            if not self._root.exists():
                raise SourceUnreadableError(
                    f"{self.uri}: there is no such folder{_meant(self._root) or '.'}",
                    reason="missing_folder",
                    remedy="Create the folder or correct `location`; relative paths are meant from the configuration file.",
                )
            if self._root.is_file():
                found = [(self._root.name, self._root.stat())]
            else:
                folder = prefix.rpartition("/")[0]
                found = list(self._walk(self._root / folder, f"{folder}/" if folder else ""))
        found.sort(key=lambda pair: pair[0])
        return iter([_info(key, status) for key, status in found if key.startswith(prefix)])

    def read(self, info: ObjectInfo, limit: int = READ_LIMIT) -> bytes:
        """Return a small file whole."""
        check_size(self.uri_of(info.key), info, limit)
        with self._named_errors(info.key), self._open(info) as source:
            content = source.read(limit + 1)
            self._must_be(info, source)
        return content

    def fetch(self, info: ObjectInfo, path: Path) -> str:
        """Copy a file, hashing on the way; what is copied is what was listed, or an error."""
        with self._open(info) as source:
            sha256 = write_hashed(self._chunks(info, source), path)
            with self._named_errors(info.key):
                self._must_be(info, source)
        return sha256

    def _chunks(self, info: ObjectInfo, source: BinaryIO) -> Iterator[bytes]:
        """What is read, piece by piece; the errors of whoever writes it are not those of the source."""
        while True:
            with self._named_errors(info.key):
                chunk = source.read(CHUNK)
            if not chunk:
                return
            yield chunk

    @contextmanager
    def _named_errors(self, key: str) -> Iterator[None]:
        """An error of the disk or of rights while this location is read is the source's: EIO, EPERM, a stale mount."""
        try:
            yield
        except OSError as error:
            if error.errno in _OF_PROCESS:
                raise
            if isinstance(error.filename, str) and Path(error.filename).is_relative_to(self._root):
                key = Path(error.filename).relative_to(self._root).as_posix()
            is_denied = isinstance(error, PermissionError)
            remedy = "Let the user that runs trainledger read this folder and its files"
            raise SourceUnreadableError(
                f"{self.uri}: '{key}' cannot be read ({error.strerror}).",
                place=Place(key),
                reason="permission_denied" if is_denied else "source_unreadable",
                remedy=f"{remedy}." if is_denied else f"{remedy}, from a disk that is sound.",
            ) from error

    def _walk(self, folder: Path, prefix: str) -> Iterator[tuple[str, os.stat_result]]:
        try:
            entries = list(os.scandir(folder))
        except FileNotFoundError:
            return  # a prefix without objects, or a folder removed while we list
        for entry in entries:
            try:
                entry.name.encode("utf-8")
                if entry.is_dir(follow_symlinks=False):
                    yield from self._walk(Path(entry.path), f"{prefix}{entry.name}/")
                elif entry.is_file():
                    yield prefix + entry.name, entry.stat()
                elif not self._is_listed_elsewhere(entry):
                    self._pass_by(prefix + entry.name, _word_of(entry), entry)
            except UnicodeEncodeError as error:
                raise SourceUnreadableError(
                    f"{self.uri}: below '{prefix}' a file name is not UTF-8.", reason="bad_file_name", remedy="Rename the file."
                ) from error
            except FileNotFoundError:
                continue  # removed while we list: it is simply not there
            except OSError as error:
                if error.errno != errno.ELOOP:
                    raise
                self._pass_by(prefix + entry.name, "broken link", entry)

    def _pass_by(self, key: str, word: str, entry: os.DirEntry[str]) -> None:
        self.not_followed[key] = word, _info(key, entry.stat(follow_symlinks=False))

    def _is_listed_elsewhere(self, entry: os.DirEntry[str]) -> bool:
        """Whether a link leads to a folder of this location, such as latest/ to the newest one: it is read where it is."""
        return entry.is_dir() and Path(entry.path).resolve().is_relative_to(self._root.resolve())

    def _open(self, info: ObjectInfo) -> BinaryIO:
        with self._named_errors(info.key):
            path = self._root if self._root.is_file() else self._root / info.key
            if not path.resolve().is_relative_to(self._root.resolve()):
                raise ExportContentError(
                    f"{self.uri_of(info.key)} leads out of its location.",
                    place=Place(info.key),
                    reason="unsafe_path",
                    remedy="Replace the link by the file it points to.",
                )
            try:
                source = path.open("rb")
            except FileNotFoundError as error:
                raise changed(self.uri_of(info.key), info.key) from error
            self._must_be(info, source)
        return source

    def _must_be(self, info: ObjectInfo, source: BinaryIO) -> None:
        if _etag(os.fstat(source.fileno())) != info.etag:
            source.close()
            raise changed(self.uri_of(info.key), info.key)


def _word_of(entry: os.DirEntry[str]) -> str:
    """What an entry is that is neither a file nor a folder of this location."""
    if entry.is_symlink():
        return "linked folder" if entry.is_dir() else "broken link"
    mode = entry.stat(follow_symlinks=False).st_mode
    return "pipe" if stat.S_ISFIFO(mode) else "socket" if stat.S_ISSOCK(mode) else "device"


def _meant(folder: Path) -> str:
    """The folder beside a missing one whose name is nearest to it."""
    try:
        beside = [path.name for path in folder.parent.iterdir() if path.is_dir()]
        near = get_close_matches(folder.name, beside, n=1, cutoff=0.75)
    except OSError:  # the folder above is missing too, or may not be read
        return ""
    return f"; did you mean {folder.with_name(near[0])}?" if near else ""


def _info(key: str, status: os.stat_result) -> ObjectInfo:
    # from nanoseconds in integers: a float of seconds would move the last digits
    written = _EPOCH + timedelta(microseconds=status.st_mtime_ns // 1000)
    return ObjectInfo(key, status.st_size, _etag(status), written)


def has_file_time(etag: str) -> bool:
    """Whether an object is a file of such a folder, whose time anybody who may write it can set; a bucket's etag is longer."""
    return re.match(r"[0-9a-f]{1,16}-", etag) is not None


def _etag(status: os.stat_result) -> str:
    return f"{status.st_size:x}-{status.st_mtime_ns:x}"
