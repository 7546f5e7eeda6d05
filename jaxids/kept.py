"""The folder where compiled programs are kept, so that the next process loads what this one compiled.

It is `jaxids` in the user's folder for caches, or what JAXIDS_CACHE says; JAXIDS_CACHE=0 keeps nothing, and so does a
cache of JAX's own where the user has switched it on. What JAX would compile for the user's own functions is left alone.
Below it every processor and every jaxlib has its own folder: a home may be shared by several machines. A file has a
checksum, and its name only when it is complete. Nothing that goes wrong here ends a run: one line says so, and the
program is compiled.

What is kept is machine code, in JAX's own form (`jax.experimental.serialize_executable`), and is trusted as programs
are: a folder that is another user's, or that others may write to, is not used.
"""

import contextlib
import hashlib
import os
import sys
import time
import zlib
from functools import cache
from pathlib import Path
from typing import Any

import jax
import jax.monitoring
import jaxlib.version

import jaxids
from jaxids import cpu
from jaxids.words import in_short

__all__ = ["MOST", "VARIABLE", "folder", "load", "name", "save"]

VARIABLE = "JAXIDS_CACHE"
MOST = 500_000_000  # bytes of programs; one takes about 200,000
DAY = 86400.0
SUFFIX, PART = ".program", ".part"
_said = set[str]()
_loaded_by_jax = False  # something: what was loaded once cannot be written again, its copy lacks functions


def folder() -> Path | None:
    """Where programs are kept here, or nothing if they are not."""
    given = os.environ.get(VARIABLE, "")
    own = jax.config.jax_compilation_cache_dir  # pyright: ignore
    if given == "0" or own or _loaded_by_jax:
        return None
    try:
        root = _caches() / "jaxids" if given in ("", "1") else Path(given).expanduser()
    except RuntimeError:  # nobody's home
        return None
    return root / f"{jaxlib.version.__version__}-{_processor()}"


def _heard(event: str, **_: Any) -> None:
    """What JAX reports."""
    global _loaded_by_jax
    _loaded_by_jax = _loaded_by_jax or event.endswith("compilation_cache/cache_hits")


jax.monitoring.register_event_listener(_heard)


def _caches() -> Path:
    """The user's folder for caches."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local")
    if sys.platform == "darwin":
        return Path.home() / "Library/Caches"
    given = os.environ.get("XDG_CACHE_HOME", "")
    return Path(given) if os.path.isabs(given) else Path.home() / ".cache"  # as the standard has it


@cache
def _processor() -> str:
    """A digest of what machine code is made for."""
    return hashlib.sha256(cpu.make().encode()).hexdigest()[:12]


def name(text: str, options: Any, device: Any) -> str:
    """The name of a program's file: a digest of all that its machine code depends on."""
    settings = {each: getattr(jax.config, each, None) for each in sorted(getattr(jax.config, "values", {}))}
    about = [jaxids.__version__, jax.__version__, options, settings, os.environ.get("XLA_FLAGS")]
    about += [device.platform, device.device_kind, device.id, device.client.platform_version, jax.device_count()]
    return hashlib.sha256(f"{about!r}\n{text}".encode()).hexdigest() + SUFFIX


def _private(folder: Path) -> bool:
    """Whether what lies in a folder can only be this user's."""
    if os.name != "posix":
        return True
    found = folder.stat()
    return found.st_uid == os.geteuid() and not found.st_mode & 0o022


def load(path: Path, lowered: Any, device: Any) -> Any:
    """A program that was kept, or nothing if there is none that is whole."""
    try:
        content = path.read_bytes()
        if not _private(path.parent):
            return _say(path.parent, "not used, as others may write to it")
    except FileNotFoundError:
        return None
    except OSError as error:
        return _say(path.parent, f"cannot be read, {error.strerror}")
    digest, packed = content[:32], content[32:]
    try:
        if hashlib.sha256(packed).digest() != digest:
            raise ValueError("its checksum does not fit")
        from jax.experimental import serialize_executable

        trees = jax.tree.structure(lowered.args_info), lowered.out_tree
        program = serialize_executable.deserialize_and_load(zlib.decompress(packed), *trees, execution_devices=[device])
    except Exception as error:  # whatever JAX says of what it once wrote
        with contextlib.suppress(OSError):
            path.unlink()
        return _say(path, f"damaged, {in_short(str(error))}; compiled again")
    with contextlib.suppress(OSError):
        os.utime(path)  # the longest unused go first
    return program


def save(path: Path, program: Any) -> None:
    """Keep a program for other processes, if it can be."""
    from jax.experimental import serialize_executable

    try:
        packed = zlib.compress(serialize_executable.serialize(program)[0], 1)
    except Exception:  # not every program can be: with arrays inside, or of some devices
        return
    part = path.with_name(f".{os.getpid()}-{os.urandom(4).hex()}{PART}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            part.write_bytes(hashlib.sha256(packed).digest() + packed)
            os.replace(part, path)
            _trim(path.parent)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        _say(path.parent, f"cannot be written, {error.strerror or error}")


def _trim(folder: Path) -> None:
    """Remove the longest unused programs of all processors and releases beyond `MOST`, and parts nobody finished."""
    found = []
    for file in folder.parent.glob("*/*"):
        with contextlib.suppress(OSError):  # removed by another process meanwhile
            status = file.stat()
            if file.suffix == SUFFIX:
                found.append((status.st_mtime, status.st_size, file))
            elif file.suffix == PART and status.st_mtime < time.time() - DAY:
                file.unlink()
    room = MOST
    for _, size, file in sorted(found, reverse=True):
        room -= size
        if room < 0:
            file.unlink(missing_ok=True)


def _say(where: Path, what: str) -> None:
    """One line, once for a reason."""
    if what not in _said:
        _said.add(what)
        hint = f"nothing is lost but time ({VARIABLE}=0 keeps no programs)"
        print(f"jaxids: kept programs: {where}: {what}; {hint}", file=sys.stderr, flush=True)
