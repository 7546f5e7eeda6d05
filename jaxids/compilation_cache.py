"""JAX's persistent compilation cache, which commands switch on so that the next process loads what this one compiled.

It is the folder `jaxids` in the user's folder for caches, or the path in `JAXIDS_CACHE`, where 0 means none. A cache
that the user has set for JAX is used instead, and a library call leaves JAX's settings alone. Below the folder each
CPU model and jaxlib release has its own, as a home may be shared by several machines. An entry is machine code, so a
folder that others may write to is left unused. Whatever is wrong with the cache costs one line and a compilation.
"""

import hashlib
import os
import stat
import sys
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import filelock
import jax
import jaxlib.version

from jaxids import cpu
from jaxids.words import in_short

VARIABLE = "JAXIDS_CACHE"
MAX_BYTES = 500_000_000  # of a folder; the programs of one policy take about 200,000
LOCK_SECONDS = 10.0  # as JAX waits for the same lock
LONGEST = 300  # characters of what JAX says
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
JAX_WARNINGS = tuple(f"Error {verb} persistent compilation cache" for verb in ("reading", "writing"))
INSTEAD = f"programs are compiled instead of loaded ({VARIABLE}=0 turns the cache off)"


def folder() -> Path | None:
    """Folder of this CPU model and jaxlib release, or None if `JAXIDS_CACHE` is 0 or the user has no home."""
    root = os.environ.get(VARIABLE, "")
    if root == "0":
        return None
    name = f"{jaxlib.version.__version__}-{hashlib.sha256(cpu.make().encode()).hexdigest()[:12]}"
    try:
        return (Path(root).expanduser() if root else _user_caches() / "jaxids").absolute() / name
    except RuntimeError:  # no home
        return None


def _user_caches() -> Path:
    """The user's folder for caches."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local")
    if sys.platform == "darwin":
        return Path.home() / "Library/Caches"
    root = os.environ.get("XDG_CACHE_HOME", "")
    return Path(root) if os.path.isabs(root) else Path.home() / ".cache"  # the standard ignores relative paths


@cache
def switch_on(quiet: bool = False) -> None:
    """Let JAX load and store compiled programs from now on, in the user's own cache for JAX if there is one.

    Args:
        quiet: Say nothing of what is wrong with the cache: the worker of a cluster leaves this to who asked it.
    """
    _shorten_warnings(quiet)
    path = folder()
    if path is None or jax.config.jax_compilation_cache_dir:  # pyright: ignore
        return
    try:
        _make_private(path)
        _remove_incomplete(path)
    except (OSError, NotImplementedError) as error:  # the second where a file system has no locks
        if not quiet:
            _warn(f"{path}: not used ({getattr(error, 'strerror', None) or error}); {INSTEAD}")
        return
    jax.config.update("jax_compilation_cache_dir", str(path))
    jax.config.update("jax_compilation_cache_max_size", MAX_BYTES)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)  # no minimum


def _make_private(path: Path) -> None:
    """Make the folder with mode 0700, and raise a PermissionError if others may replace what is in it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    above = path.parent.stat().st_mode
    if os.name == "posix" and above & OTHERS_WRITE and not above & stat.S_ISVTX:  # others may rename what is in it
        raise PermissionError(f"others may write to {path.parent}")
    path.mkdir(mode=0o700, exist_ok=True)
    if os.name != "posix":
        return
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        raise PermissionError("it is someone else's")
    if status.st_mode & OTHERS_WRITE:
        raise PermissionError("others may write to it")


def _remove_incomplete(path: Path) -> None:
    """Remove entries that a process did not finish, under the lock that JAX writes under.

    JAX writes an entry, then its time of access. Before 0.12 it writes nothing more to a folder with an entry that
    has no time, and it never writes again an entry that is there.
    """
    with filelock.FileLock(path / ".lockfile", timeout=LOCK_SECONDS):
        names = {entry.name for entry in path.iterdir()}
        for name in names:
            if name.endswith("-cache") and f"{name.removesuffix('-cache')}-atime" not in names:
                (path / name).unlink()


def _shorten_warnings(quiet: bool) -> None:
    """Show the first of JAX's warnings about its cache as one line, or none, and other warnings as before."""
    show, shown = warnings.showwarning, list[str]()

    def show_in_one_line(message: Warning | str, *where: Any, **more: Any) -> None:
        if not str(message).startswith(JAX_WARNINGS):
            show(message, *where, **more)
        elif not (quiet or shown):
            shown.append(str(message))
            cache_dir = jax.config.jax_compilation_cache_dir  # pyright: ignore
            _warn(f"{cache_dir}: {in_short(str(message), LONGEST)}; it is compiled (clear the cache if this recurs)")

    warnings.showwarning = show_in_one_line


def _warn(text: str) -> None:
    print(f"jaxids: warning: {text}", file=sys.stderr, flush=True)
