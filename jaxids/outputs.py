"""Files that people name for output: a regular file is replaced as a whole, into anything else the text is written."""

import contextlib
import io
import os
import sys
from pathlib import Path

__all__ = ["STDOUT", "is_replaced", "is_stdout", "named", "printed_beside", "write"]

STDOUT = "-"


def named(text: str) -> str:
    """What to write to, or a ValueError if nothing can be written there."""
    if text == STDOUT:
        return text
    path = Path(text).absolute()
    real = Path(os.path.realpath(path))  # a link stays; what it leads to is written
    if real.is_symlink() or path.is_dir() or not os.access(path if _is_special(path) else real.parent, os.W_OK):
        raise ValueError(f"got {text!r}; it takes a file in a folder that exists and can be written to, or -")
    return str(path)


def write(name: str, text: str) -> None:
    """Write a text to what was named."""
    path = Path(name)
    if is_stdout(name):
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")  # the same bytes as in a file
        sys.stdout.write(text)
    elif _is_special(path):
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    else:
        from jaxids.experiment import store  # imports NumPy, which a slip on the command line should not wait for

        store.write(Path(os.path.realpath(path)), text.encode())


def printed_beside(name: str | None) -> contextlib.AbstractContextManager[object]:
    """While a text is to come on standard output, what is printed goes to standard error."""
    alone = name is not None and is_stdout(name)
    return contextlib.redirect_stdout(sys.stderr) if alone else contextlib.nullcontext()


def is_stdout(name: str) -> bool:
    """Whether what was named is where standard output goes."""
    return name == STDOUT or _is_stdout(Path(name))


def is_replaced(name: str) -> bool:
    """Whether what was named is a file that each writing replaces."""
    return not is_stdout(name) and not _is_special(Path(name))


def _is_special(path: Path) -> bool:
    """A device, a pipe, or a way to a file that is open already, as /dev/stderr: it is written to, never replaced."""
    return path.exists() and (not path.is_file() or _is_open(path))


def _is_open(path: Path) -> bool:
    """Whether a path leads through this process's table of open files, as /dev/stderr, /dev/fd/3 or /proc/self/fd/3."""
    for _ in range(40):  # links, as Linux follows at most
        if Path(os.path.realpath(path.parent)).parts[1:2] == ("proc",) or path.parent == Path("/dev/fd"):
            return True
        if not path.is_symlink():
            return False
        path = path.parent / path.readlink()
    return False


def _is_stdout(path: Path) -> bool:
    """Whether a path leads where standard output goes: /dev/stdout may be a file that is appended to."""
    try:
        return os.path.samestat(path.stat(), os.fstat(1))
    except OSError:
        return False
