"""Figures, a page and tables of results."""

import argparse
import io
from pathlib import Path
from typing import Any

from jaxids import outputs
from jaxids.commands import options

SCALES = ("linear", "log-log", "log-time")


def add_plot(commands: Any) -> None:
    """`jaxids plot`."""
    more = "Draw the curves of results, of regret or another series, as PDF and PNG beside them."
    parser = options.add(commands, "plot", _plot, "draw figures of results", more)
    options.add_folder(parser)
    parser.add_argument("--scale", choices=SCALES, default="linear", help="of the axes (default: linear)")
    parser.add_argument(
        "--series", default="regret", metavar="NAME", help="what to draw: regret, or another that the files record"
    )


def _plot(arguments: argparse.Namespace) -> None:
    from jaxids.experiment.load import load
    from jaxids.plot import figures

    try:
        drawn = figures.draw(load(arguments.folder), arguments.scale, arguments.series)
    except ValueError as error:
        raise ValueError(f"--{error}" if str(error).startswith("series:") else str(error)) from None
    for path in drawn:
        print(path)


def add_report(commands: Any) -> None:
    """`jaxids report`."""
    more = "Write report.html: figures, final regrets, and the claims of the experiments with their verdicts."
    options.add_folder(options.add(commands, "report", _report, "write a page about results", more))


def _report(arguments: argparse.Namespace) -> None:
    from jaxids import compilation_cache
    from jaxids.report import page

    compilation_cache.switch_on()  # some trials are simulated again
    page.update(arguments.folder)


def add_export(commands: Any) -> None:
    """`jaxids export`."""
    parser = options.add(commands, "export", _export, "write results as CSV", "Write results as CSV.")
    options.add_folder(parser)
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--finals", action="store_true", help="the last values of every trial, instead of the curves")
    instead.add_argument(
        "--statistics",
        action="store_true",
        help="final regrets in numbers, a row for each curve: mean, quantiles, paired differences, with their errors",
    )
    parser.add_argument(
        "--above",
        type=options.number,
        nargs="+",
        default=[],
        metavar="R",
        help="with --statistics: also the probability of a final regret above R",
    )
    parser.add_argument(
        "--csv", type=options.output, default=outputs.STDOUT, metavar="FILE", help="default: -, standard output"
    )


def _export(arguments: argparse.Namespace) -> None:
    from jaxids.experiment.load import load

    target = Path(arguments.csv).resolve()
    if target.is_relative_to(arguments.folder.resolve()) and target.suffix != ".csv":
        raise ValueError(f"--csv: got {arguments.csv}, among the results; there it takes a name that ends in .csv")
    if arguments.above and not arguments.statistics:
        raise ValueError("--above: got one without --statistics, of which it is a part")
    text, results = io.StringIO(), load(arguments.folder)
    if arguments.statistics:
        results.write_statistics(text, arguments.above)
    else:
        results.write_csv(text, arguments.finals)
    outputs.write(arguments.csv, text.getvalue())
