"""The command line, and how a command ends.

Mistakes end with one line on standard error that names the argument, what it got and what it takes, and code 2.
"""

import argparse
import gc
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import jaxids
from jaxids import commands, interrupts

BAD_INPUT = 2
CLOSED_PIPE = 141
LONGEST = 1200  # characters of a message


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line, with no usage before it."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and exit."""
        self.exit(BAD_INPUT, _one_line(self.prog, message.removeprefix("argument ")))


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    try:
        arguments = _parser().parse_args(argv)
        arguments.run(arguments)
        _flush()
    except SystemExit as stop:  # how argparse ends after help, version and errors
        return stop.code if isinstance(stop.code, int) else 0
    except KeyboardInterrupt:  # where nobody called `interrupts.catch`
        sys.stderr.write(interrupts.line())
        return interrupts.CODE
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED_PIPE
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        sys.stderr.write(_one_line("jaxids", where + (error.strerror or str(error))))
        return BAD_INPUT
    except (ValueError, ImportError, MemoryError) as error:
        sys.stderr.write(_one_line("jaxids", str(error) or "out of memory"))
        return BAD_INPUT
    except RuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error) and "Out of memory" not in str(error):  # as JAX says it
            raise
        sys.stderr.write(_one_line("jaxids", "out of memory; it takes fewer actions or dimensions"))
        return BAD_INPUT
    return 0


def script() -> int:
    """Run the command of this process and return its exit code: 1, after a traceback, if it fails unexpectedly."""
    os.environ["MPLBACKEND"] = "agg"  # figures go to files, whatever windows there are; a wrong one would end it all
    _open_streams()
    gc.set_threshold(50_000, 20, 100)  # tracing makes many objects and few cycles: looking for them took a tenth of it
    try:
        code = main()
    except Exception as error:
        sys.excepthook(type(error), error, error.__traceback__)
        code = 1
    try:
        _flush()
    except OSError:  # nobody listens any more
        code = code or CLOSED_PIPE
    return code


class Unfailing(io.FileIO):
    """A file whose writer does not care whether anyone takes what is said."""

    def write(self, data: Any, /) -> int:
        """Write, or lose it."""
        try:
            return super().write(data)
        except OSError:
            return len(data)


def _open_streams() -> None:
    """Standard output and error that are there, and write codes for letters that their encoding does not have."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:  # no other file may take the place of one that the
        continue  # shell has closed: libraries write to them
    os.close(descriptor)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    else:
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115
    encoding, file = getattr(sys.stderr, "encoding", None), io.BufferedWriter(Unfailing(2, "w", closefd=False))
    sys.stderr = io.TextIOWrapper(file, encoding, "backslashreplace", line_buffering=True)


def _flush() -> None:
    sys.stdout.flush()
    sys.stderr.flush()


def _parser() -> Parser:
    parser = Parser(prog="jaxids", description="Information-directed bandits with heteroscedastic noise.")
    parser.add_argument("--version", action="version", version=f"jaxids {jaxids.__version__}")
    added = parser.add_subparsers(metavar="COMMAND", dest="command", required=True)
    for add in commands.COMMANDS:
        add(added)
    return parser


def _one_line(prog: str, message: str) -> str:
    """The message in one line, without its middle if it is too long: names come first, what would do comes last."""
    line = " ".join(message.split())
    return f"{prog}: {line if len(line) <= LONGEST else f'{line[: LONGEST // 2]} … {line[-LONGEST // 2 :]}'}\n"
