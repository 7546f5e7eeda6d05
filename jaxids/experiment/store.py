"""Finished tiles on disk: nothing that is there is ever half there.

    OUT/fig1b/experiment.json           what was asked for: the file's own text, the version, every cell and its folder
    OUT/fig1b/experiment.json.sha256    its checksum
    OUT/fig1b/tiles/IDS-UCB-1f0c…/      a cell, named by a digest of everything its result depends on
        cell.json                       that everything
        00000.npz, 00000.npz.sha256     a tile and its checksum, in the format of sha256sum

A file gets its name only when it is complete and on disk, by `os.replace`. A tile is finished when its checksum is
there and fits. A cell's folder is named by all its bits depend on but the make of the processor. So an edited
experiment never meets tiles of another, more trials go on from those there are, and two runs at once on one machine
write the same bytes twice.
"""

import contextlib
import hashlib
import io
import json
import os
import re
import socket
import stat
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np

from jaxids import interrupts

__all__ = [
    "DAY",
    "SHOWN",
    "DamagedError",
    "as_json",
    "cell_folder",
    "checksum_of",
    "clean",
    "damaged",
    "keep",
    "read",
    "read_tile",
    "seal",
    "tile_path",
    "unseal",
    "write",
    "write_tile",
]

DAY = 86400.0
SHOWN = 32  # characters of a file's name in that of its part
_PART = re.compile(r"\..*~(?P<host>[^~]*)~(?P<process>\d{1,9})~[0-9a-f]+\.part", re.DOTALL)


class DamagedError(ValueError):
    """A file of the store that is not what was written."""


def damaged(path: Path, why: str) -> DamagedError:
    """The error that names a file and says what is wrong with it."""
    return DamagedError(f"{path}: damaged, {why}; `jaxids run` mends it")


def write(path: Path, content: bytes) -> None:
    """Give a file its content, all of it or none; OSErrors name the file."""
    name = f".{path.name[:SHOWN]}~{_host()}~{os.getpid()}~{os.urandom(4).hex()}.part"  # below 255 bytes
    part = path.with_name(name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        interrupts.unfinished.add(str(part))
        try:
            with part.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)
            interrupts.unfinished.discard(str(part))
        _sync_folder(path.parent)
    except OSError as error:
        raise OSError(error.errno, f"{path}: cannot be written: {error.strerror or error}") from None


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
        if not stat.S_ISREG(path.stat().st_mode):  # others may never end, or never begin
            raise damaged(path, "it is not a regular file")
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


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
        named = _PART.fullmatch(part.name)
        with contextlib.suppress(FileNotFoundError):  # its writer was quicker
            if named and stat.S_ISREG((found := part.lstat()).st_mode):
                recent = time.time() - found.st_mtime < DAY
                if not (_runs(int(named["process"])) if named["host"] == _host() else recent):
                    part.unlink()


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


def cell_folder(policy: str, setting: Mapping[str, Any]) -> str:
    """The name of a cell's folder: its policy in harmless signs, and a digest of all its result depends on."""
    harmless = re.sub(r"[^\w.+-]+", "-", policy, flags=re.ASCII)[:SHOWN].strip("-.")
    return f"{harmless}-{hashlib.sha256(as_json(setting)).hexdigest()[:16]}"


def _checksum_path(path: Path) -> Path:
    return path.with_name(path.name + ".sha256")


def _checksum(path: Path, content: bytes) -> bytes:
    return f"{hashlib.sha256(content).hexdigest()}  {path.name}\n".encode()


def seal(path: Path, content: bytes) -> bool:
    """Write a file, then its checksum, which says that it is finished; tell whether others were in their place."""
    return keep(path, content) | keep(_checksum_path(path), _checksum(path, content))


def unseal(path: Path) -> bytes | None:
    """The content of a finished file, None if there is none, or DamagedError if it is not what was written."""
    expected, content = read(_checksum_path(path)), read(path)
    if expected is None or content is None:
        return None
    if _checksum(path, content) != expected:
        raise damaged(path, "its checksum does not fit")
    return content


def tile_path(cell: Path, index: int) -> Path:
    """Where a tile is kept."""
    return cell / f"{index:05d}.npz"


def checksum_of(cell: Path, index: int) -> bytes:
    """The checksum of a finished tile."""
    return read(_checksum_path(tile_path(cell, index))) or b""


def write_tile(cell: Path, index: int, arrays: Mapping[str, np.ndarray]) -> None:
    """Store a tile, with the name of its cell inside."""
    buffer, content = io.BytesIO(), {"cell": np.array(cell.name), **arrays}
    np.savez(buffer, **cast(Any, content))  # nothing else: NumPy 2.0 would store `allow_pickle` as an array
    seal(tile_path(cell, index), buffer.getvalue())


def read_tile(cell: Path, index: int) -> dict[str, np.ndarray] | None:
    """A finished tile, None if there is none, or DamagedError if it is not what was written here."""
    content = unseal(path := tile_path(cell, index))
    if content is None:
        return None
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            if any(part.compress_type != zipfile.ZIP_STORED for part in file.infolist()):
                raise ValueError("compressed, to no one knows what size")
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except Exception as error:  # readers of zip files and of arrays raise nearly every kind there is
        raise damaged(path, f"it holds no arrays ({error})") from None
    if str(arrays.pop("cell", "")) != cell.name:
        raise DamagedError(f"{path}: a tile of another cell; `jaxids run` mends it")
    return arrays
