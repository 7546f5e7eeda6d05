"""Files that people name for output: a regular file is replaced as a whole, into anything else the text is written."""

import contextlib
import io
import os
import sys
from pathlib import Path

from jaxids.experiment import store

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
        store.write(Path(os.path.realpath(path)), text.encode())


def printed_beside(name: str | None) -> contextlib.AbstractContextManager[object]:
    """While a text is to come on standard output, what is printed goes to standard error."""
    alone = name is not None and is_stdout(name)
    return contextlib.redirect_stdout(sys.stderr) if alone else contextlib.nullcontext()


def is_stdout(name: str) -> bool:
    """Whether what was named is where standard output goes."""
    return name == STDOUT or _is_stream(Path(name), 1)


def _is_special(path: Path) -> bool:
    """Whether a path is written to, never replaced: a device, a pipe, or where standard output or error go."""
    return path.exists() and (not path.is_file() or _is_stream(path, 1) or _is_stream(path, 2))


def _is_stream(path: Path, descriptor: int) -> bool:
    """Whether a path leads to the same file as a descriptor does: /dev/stderr may be a log that is appended to."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except OSError:  # either is not there
        return False
