"""What commands take: a parser for each, and functions that turn text into a value or say what it takes."""

import argparse
import math
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jaxids import outputs
from jaxids.experiment import keys
from jaxids.names import THIRTEEN


def add(commands: Any, name: str, run: Callable[[argparse.Namespace], None], summary: str, more: str) -> Any:
    """The parser of a command."""
    parser = commands.add_parser(name, help=summary, description=more, allow_abbrev=False)
    parser.set_defaults(run=run)
    return parser


def add_folder(parser: Any) -> None:
    """The folder of results that a command is about."""
    parser.add_argument("folder", type=folder, metavar="DIR", help="results of one experiment, or of several")


def count(text: str) -> int:
    """A whole number of at least 1."""
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"got {text!r}; it takes a whole number ≥ 1")
    return int(text)


def number(text: str) -> float:
    """A finite number."""
    try:
        if math.isfinite(value := float(text)):
            return value
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"got {text!r}; it takes a number")


def policy(text: str) -> str:
    """The name of one of the thirteen."""
    if text in THIRTEEN:
        return text
    hint = keys.nearest(text, list(THIRTEEN))
    raise argparse.ArgumentTypeError(f"got {text!r}; it takes names of the paper's policies ({hint})")


def part(text: str) -> Any:
    """A share of the tiles, as 3/10."""
    from jaxids.experiment import parts

    return _named(parts.named, text)


def cluster(text: str) -> str:
    """Where workers are."""
    from jaxids.experiment import dask_workers

    return _named(dask_workers.parse_address, text)


def output(text: str) -> str:
    """A file to write to, or standard output."""
    return _named(outputs.named, text)


def _named(named: Callable[[str], Any], text: str) -> Any:
    """What text names to another module; its ValueError as the parser's."""
    try:
        return named(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def out(text: str) -> Path:
    """A folder, there or not."""
    if not text.strip():
        raise argparse.ArgumentTypeError(f"got {text!r}; it takes a folder")
    return Path(text)


def folder(text: str) -> Path:
    """A folder that is there."""
    if not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"got {text!r}; it takes a folder that `jaxids run` wrote to")
    return Path(text)


def assignment(text: str) -> tuple[str, Any]:
    """A key of experiment files and its value."""
    name, equals, value = text.partition("=")
    takes = "it takes KEY=VALUE, the value as in TOML: text in quotes, lists in brackets"
    try:
        if not equals or not name.strip() or len(text.splitlines()) != 1:
            raise ValueError
        return name.strip(), tomllib.loads(f"value = {value}")["value"]
    except (ValueError, RecursionError):
        raise argparse.ArgumentTypeError(f"got {text!r}; {takes}") from None
