"""The command line. A command is a function that adds its parser and names what it runs.

Nothing here imports JAX: a command does when it runs, so that help, version and mistakes answer at once.
Mistakes end with one line on standard error that names the argument, what it got and what it takes, and code 2.
"""

import argparse
import difflib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import jaxids
from jaxids.bench.thirteen import THIRTEEN

BAD_INPUT = 2
INTERRUPTED = 130
CLOSED_PIPE = 141


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
    except SystemExit as stop:  # how argparse ends after help, version and errors
        return stop.code if isinstance(stop.code, int) else 0
    except KeyboardInterrupt:
        sys.stderr.write("\n" * sys.stderr.isatty() + "jaxids: interrupted\n")  # on a terminal, below the ^C
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED_PIPE
    except (ValueError, OSError) as error:
        sys.stderr.write(_one_line("jaxids", str(error)))
        return BAD_INPUT
    return 0


def _parser() -> Parser:
    parser = Parser(prog="jaxids", description="Information-directed bandits with heteroscedastic noise.")
    parser.add_argument("--version", action="version", version=f"jaxids {jaxids.__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", dest="command", required=True)
    for add in COMMANDS:
        add(commands)
    return parser


def _add_bench(commands: Any) -> None:
    parser = commands.add_parser(
        "bench",
        help="time every policy, beside two simulators in NumPy",
        description="Time policies in µs for one step of one trial, beside a vectorised NumPy simulator and a loop.",
        allow_abbrev=False,
    )
    for name, default, what in (
        ("trials", 2048, "independent trials"),
        ("steps", 2000, "steps of a trial"),
        ("actions", 30, "actions of the instance, K"),
        ("dim", 3, "features of an action, d"),
        ("repeats", 3, "runs, of which the fastest counts"),
    ):
        parser.add_argument(f"--{name}", type=_count, default=default, metavar="N", help=f"{what} (default {default})")
    parser.add_argument(
        "--policies", type=_policy, nargs="+", default=list(THIRTEEN), metavar="NAME", help="default: all"
    )
    parser.add_argument("--skip-baselines", action="store_true", help="time jaxids only")
    parser.add_argument("--json", type=_new_file, metavar="FILE", help="write the numbers to a file as well")
    parser.set_defaults(run=_bench)


def _bench(arguments: argparse.Namespace) -> None:
    from jaxids.bench import measure

    sizes = {name: getattr(arguments, name) for name in ("trials", "steps", "actions", "dim", "repeats")}
    measure.run(measure.Setup(arguments.policies, baselines=not arguments.skip_baselines, **sizes), arguments.json)


COMMANDS: tuple[Callable[[Any], None], ...] = (_add_bench,)


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"got {text!r}; it takes a whole number ≥ 1")
    return int(text)


def _policy(text: str) -> str:
    if text in THIRTEEN:
        return text
    near = difflib.get_close_matches(text.upper(), THIRTEEN, n=3, cutoff=0.5)
    hint = f"nearest: {', '.join(near)}" if near else ", ".join(THIRTEEN)
    raise argparse.ArgumentTypeError(f"got {text!r}; it takes names of the paper's policies ({hint})")


def _new_file(text: str) -> Path:
    path = Path(text)
    if path.is_dir() or not os.access(path.parent, os.W_OK):
        raise argparse.ArgumentTypeError(f"got {text!r}; it takes a file in a folder that exists and can be written to")
    return path


def _one_line(prog: str, message: str) -> str:
    return f"{prog}: {' '.join(message.split())}\n"
