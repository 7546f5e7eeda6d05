"""Files of a store: nothing that is there is ever half there.

    OUT/fig1b/experiment.json           what was asked for: the file's own text, the version, every cell and its folder
    OUT/fig1b/experiment.json.sha256    its checksum
    OUT/fig1b/tiles/IDS-UCB-1f0c…/      a cell, named by a digest of everything its result depends on
        cell.json                       that everything, and the processor
        00000-00003.npz                 its tiles (`tile_file`, `cells`)

A file gets its name only when it is complete and on disk. A cell's folder is named by all its bits depend on but the
make of the processor. So an edited experiment never meets tiles of another, and more trials go on from those there are.
"""

import contextlib
import errno
import hashlib
import json
import os
import re
import socket
import stat
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

DAY = 86400.0
UNLINKABLE = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}  # what file systems without links say
SHOWN = 32  # characters of a file's name in that of its part
unfinished: set[str] = set()  # files under way in this process, which an interrupt removes
_PART = re.compile(r"\..*~(?P<host>[^~]*)~(?P<process>\d{1,9})~[0-9a-f]+\.part", re.DOTALL)


class DamagedError(ValueError):
    """A file of the store that is not what was written."""


def damaged(path: Path, why: str) -> DamagedError:
    """The error that names a file and says what is wrong with it."""
    return DamagedError(f"{path}: damaged, {why}; `jaxids run` mends it")


def write(path: Path, content: bytes | Callable[[BinaryIO], object], replace: bool = True) -> None:
    """Give a file its content, or what a function writes to it, all of it or none; OSErrors name the file.

    Unless it may replace a file, the first to write one wins.
    """
    part = part_of(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.add(str(part))
        try:
            with part.open("x+b") as file:
                if isinstance(content, bytes):
                    file.write(content)
                else:
                    content(file)
                file.flush()
                os.fsync(file.fileno())
            _name(part, path, replace)
        finally:
            part.unlink(missing_ok=True)
            unfinished.discard(str(part))
        _sync_folder(path.parent)
    except OSError as error:
        raise OSError(error.errno, f"{path}: cannot be written: {error.strerror or error}") from None


def part_of(path: Path) -> Path:
    """What a file is called before it is whole: by its writer, and below 255 bytes."""
    return path.with_name(f".{path.name[:SHOWN]}~{_host()}~{os.getpid()}~{os.urandom(4).hex()}.part")


def _name(part: Path, path: Path, replace: bool) -> None:
    """Give a whole file its name. A link fails where there is one already, whichever host was first."""
    if not replace:
        try:
            os.link(part, path)
            return
        except FileExistsError:
            return
        except OSError as error:
            if error.errno not in UNLINKABLE:
                raise
            if path.exists():
                return
    os.replace(part, path)


def keep(path: Path, content: bytes) -> bool:
    """Write a file unless it is there as it should be, and tell whether another was in its place."""
    try:
        there = read(path)
    except DamagedError:
        there = b""
    if there != content:
        write(path, content)
    return there not in (None, content)


def read(path: Path) -> bytes | None:
    """The content of a file, None if there is none, or DamagedError if it is a pipe, a device or a folder."""
    try:
        check_regular(path)
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def check_regular(path: Path) -> None:
    """DamagedError if it is a pipe, a device or a folder: these may never end, or never begin."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise damaged(path, "it is not a regular file")


def _sync_folder(folder: Path) -> None:
    """The new name itself reaches the disk (a folder cannot be opened on Windows, which needs no such thing)."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def clean(folder: Path) -> None:
    """Remove parts of files whose writers are dead: processes of this machine that are gone, others after a day."""
    for part in folder.rglob(".*.part"):
        with contextlib.suppress(FileNotFoundError):  # its writer was quicker
            if orphaned(part, DAY):
                part.unlink()


def orphaned(part: Path, seconds: float) -> bool:
    """Whether the writer of a part is dead: a process of this machine that is gone, another's after so many seconds."""
    named = _PART.fullmatch(part.name)
    if not named or not stat.S_ISREG((found := part.lstat()).st_mode):
        return False
    recent = time.time() - found.st_mtime < seconds
    return not (_runs(int(named["process"])) if named["host"] == _host() else recent)


def _host() -> str:
    return socket.gethostname()[:SHOWN]


def _runs(process: int) -> bool:
    """Whether a process of this machine is alive; where that cannot be asked, it may be."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def as_json(value: Any) -> bytes:
    """The same bytes for the same value."""
    return (json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True) + "\n").encode()


def from_json(content: bytes) -> dict[str, Any]:
    """A table, or a ValueError."""
    try:
        table = json.loads(content)
    except RecursionError as error:
        raise ValueError(str(error)) from None
    if not isinstance(table, dict):
        raise ValueError("it is not a table")
    return table


def cell_folder(policy: str, setting: Mapping[str, Any]) -> str:
    """The name of a cell's folder: its policy in harmless signs, and a digest of all its result depends on."""
    harmless = re.sub(r"[^\w.+-]+", "-", policy, flags=re.ASCII)[:SHOWN].strip("-.")
    return f"{harmless}-{hashlib.sha256(as_json(setting)).hexdigest()[:16]}"


def checksum_path(path: Path) -> Path:
    """Where the checksum of a file that is sealed is kept."""
    return path.with_name(path.name + ".sha256")


def _checksum(path: Path, content: bytes) -> bytes:
    return f"{hashlib.sha256(content).hexdigest()}  {path.name}\n".encode()


def seal(path: Path, content: bytes) -> bool:
    """Write a file, then its checksum, which says that it is finished; tell whether others were in their place."""
    return keep(path, content) | keep(checksum_path(path), _checksum(path, content))


def unseal(path: Path) -> bytes | None:
    """The content of a finished file, None if there is none, or DamagedError if it is not what was written."""
    expected, content = read(checksum_path(path)), read(path)
    if expected is None or content is None:
        return None
    if _checksum(path, content) != expected:
        raise damaged(path, "its checksum does not fit")
    return content
