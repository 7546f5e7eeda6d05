"""The commands: each a function that adds its parser, and one that it runs.

Nothing here imports JAX or matplotlib: a command does when it runs, so that help, version and mistakes answer at once.
"""

import argparse
import contextlib
import io
import math
import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jaxids import outputs, targets
from jaxids.experiment import keys
from jaxids.names import THIRTEEN

__all__ = ["BENCH", "COMMANDS", "SCALES"]

SCALES = ("linear", "log-log", "log-time")
EACH = 128  # trials on each of several instances
BENCH = (
    ("trials", 2048, "independent trials"),
    ("steps", 2000, "steps of a trial"),
    ("actions", 30, "actions of the instance, K"),
    ("dim", 3, "features of an action, d"),
)


def _add(commands: Any, name: str, run: Callable[[argparse.Namespace], None], summary: str, more: str) -> Any:
    parser = commands.add_parser(name, help=summary, description=more, allow_abbrev=False)
    parser.set_defaults(run=run)
    return parser


def _add_run(commands: Any) -> None:
    more = (
        "Run experiment files, or all in a folder; finished work is kept and not done again. Then draw the figures and "
        "write the report of everything in the folder of results."
    )
    parser = _add(commands, "run", _run, "run experiment files, draw their figures and write the report", more)
    parser.add_argument("paths", nargs="+", type=Path, metavar="FILE_OR_FOLDER", help="experiment files (TOML)")
    parser.add_argument("--out", type=_out, metavar="DIR", help="default: results, or instances with --instances")
    parser.add_argument("--trials", type=_count, metavar="N", help="in place of the trials of the files")
    parser.add_argument(
        "--instances",
        type=_count,
        metavar="N",
        help=f"on so many random instances, with {EACH} trials each (or --trials): on which do the claims hold?",
    )
    parser.add_argument("--steps", type=_count, metavar="N", help="in place of the steps of the files")
    parser.add_argument(
        "--set",
        type=_assignment,
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="in place of a value of the files, as delta=0.1, rho=[0.4,0.6] or grid.sigma=[1,2]; may be repeated",
    )

    parser.add_argument(
        "--part",
        type=_part,
        metavar="I/N",
        help="compute only the I-th of N shares of the tiles, as one of N jobs that write to one folder; no report",
    )
    parser.add_argument(
        "--cluster",
        type=_cluster,
        metavar="ADDRESS",
        help="compute on workers of a Dask scheduler, as tcp://host:8786, or local:N, that many on this machine",
    )


def _run(arguments: argparse.Namespace) -> None:
    from jaxids.experiment import read

    if arguments.part and arguments.cluster:
        raise ValueError(f"--part: got one together with --cluster {arguments.cluster}; it takes one of the two")
    changes = dict(arguments.set) | {n: v for n in ("trials", "steps") if (v := getattr(arguments, n)) is not None}
    if count := arguments.instances:
        changes |= {"instance": "fresh", "instances": count, "trials": count * changes.get("trials", EACH)}
    out = arguments.out or Path("instances" if count else "results")
    experiments = [read.read(path, changes) for path in read.files(arguments.paths)]
    from jaxids import checks

    checks.devices()
    from jaxids.experiment import run
    from jaxids.report import page

    run.run(experiments, out, arguments.part, arguments.cluster)
    if arguments.part:
        print(
            f"part {arguments.part.number} of {arguments.part.of} is done; `jaxids status {out}` tells what is missing"
        )
        return
    page.update(out, [experiment.name for experiment in experiments])


def _add_status(commands: Any) -> None:
    more = (
        "Show of every cell what is done, missing and damaged, and the time left at the pace of the runs at work. "
        "Of a store of more than 256 MiB only that much is read to the last byte, unless asked."
    )
    parser = _add(commands, "status", _status, "how far results are: done, missing and damaged of every cell", more)
    _add_folder(parser)
    parser.add_argument("--unfinished", action="store_true", help="leave out cells that are done")
    parser.add_argument("--check", action="store_true", help="read every byte, however many there are")
    parser.add_argument("--json", type=_output, metavar="FILE", help="write the numbers to a file as well")


def _status(arguments: argparse.Namespace) -> None:
    from jaxids.experiment import status, store

    found = status.look(arguments.folder, arguments.check)
    with outputs.printed_beside(arguments.json):
        for line in status.lines(found, arguments.unfinished):
            print(line)
    if arguments.json is not None:
        outputs.write(arguments.json, store.as_json(found.table).decode())


def _add_plot(commands: Any) -> None:
    more = "Draw the curves of results, of regret or another series, as PDF and PNG beside them."
    parser = _add(commands, "plot", _plot, "draw figures of results", more)
    _add_folder(parser)
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


def _add_report(commands: Any) -> None:
    more = "Write report.html: figures, final regrets, and the claims of the experiments with their verdicts."
    _add_folder(_add(commands, "report", _report, "write a page about results", more))


def _report(arguments: argparse.Namespace) -> None:
    from jaxids.report import page

    page.update(arguments.folder)


def _add_export(commands: Any) -> None:
    parser = _add(commands, "export", _export, "write results as CSV", "Write results as CSV.")
    _add_folder(parser)
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--finals", action="store_true", help="the last values of every trial, instead of the curves")
    instead.add_argument(
        "--statistics",
        action="store_true",
        help="final regrets in numbers, a row for each curve: mean, quantiles, paired differences, with their errors",
    )
    parser.add_argument(
        "--above",
        type=_number,
        nargs="+",
        default=[],
        metavar="R",
        help="with --statistics: also the probability of a final regret above R",
    )
    parser.add_argument(
        "--csv", type=_output, default=outputs.STDOUT, metavar="FILE", help="default: -, standard output"
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


def _add_folder(parser: Any) -> None:
    parser.add_argument("folder", type=_folder, metavar="DIR", help="results of one experiment, or of several")


def _add_bench(commands: Any) -> None:
    more = "Time policies in µs for one step of one trial, beside a vectorised NumPy simulator and a loop."
    parser = _add(commands, "bench", _bench, "time every policy, beside two simulators in NumPy", more)
    for name, default, what in (*BENCH, ("repeats", 3, "runs, of which the fastest counts")):
        parser.add_argument(f"--{name}", type=_count, default=default, metavar="N", help=f"{what} (default {default})")
    parser.add_argument(
        "--policies", type=_policy, nargs="+", default=list(THIRTEEN), metavar="NAME", help="default: all"
    )
    parser.add_argument(
        "--kernel", action="store_true", help="time kernels instead: on 100 points, refitted, and on a square"
    )
    parser.add_argument(
        "--scaling",
        action="store_true",
        help="time a step and compiling over dimensions from 2 to 200 and actions from 10 to 100,000 instead, and draw "
        "both (default: three policies, some minutes)",
    )
    parser.add_argument("--fresh", action="store_true", help="new actions in every trial, with --scaling")
    parser.add_argument(
        "--plot", type=_output, metavar="FILE", help="where --scaling draws, .png or .pdf (default scaling.png)"
    )
    parser.add_argument(
        "--target",
        type=_target,
        metavar="NAME",
        help=f"compile for an accelerator that is not there, one of {', '.join(targets.NAMES)}: what becomes of a step",
    )
    parser.add_argument("--lanes", type=_count, metavar="N", help="trials at once of what is compiled, with --target")
    parser.add_argument("--skip-baselines", action="store_true", help="time jaxids only")
    parser.add_argument("--json", type=_output, metavar="FILE", help="write the numbers to a file as well")


def _bench(arguments: argparse.Namespace) -> None:
    if arguments.target:
        os.environ["JAX_PLATFORMS"] = "cpu"  # the only one that is measured
    from jaxids.targets import quiet

    with quiet.quiet() if arguments.target else contextlib.nullcontext():
        from jaxids import checks

        checks.devices()
    for name in ("fresh", "plot"):
        if getattr(arguments, name) and not arguments.scaling:
            raise ValueError(f"--{name}: got one without --scaling, which it is about")
    if arguments.scaling:
        _bench_scaling(arguments)
        return
    if arguments.kernel:
        _bench_kernel(arguments)
        return
    from jaxids.bench import measure

    sizes = {name: getattr(arguments, name) for name in ("trials", "steps", "actions", "dim", "repeats")}
    setup = measure.Setup(arguments.policies, baselines=not arguments.skip_baselines, **sizes)
    if not arguments.target:
        if arguments.lanes:
            raise ValueError("--lanes: got one without --target, whose programs it is about")
        measure.run(setup, arguments.json)
        return
    from jaxids.bench import targets as of_targets

    lanes = {"lanes": arguments.lanes} if arguments.lanes else {}
    try:
        of_targets.run(of_targets.Setup(arguments.target, setup, **lanes), arguments.json)
    except ValueError as error:
        raise ValueError(f"--{error}" if str(error).startswith("target:") else str(error)) from None


def _bench_scaling(arguments: argparse.Namespace) -> None:
    for name, default in (*((name, default) for name, default, _ in BENCH), ("target", None), ("lanes", None)):
        if getattr(arguments, name) != default:
            takes = "--policies, --repeats, --fresh, --plot and --json only"
            raise ValueError(f"--{name}: got one together with --scaling, which takes {takes}")
    if arguments.kernel:
        raise ValueError("--kernel: got it together with --scaling; it takes one of them")
    from jaxids.bench import scaling

    plot = arguments.plot or "scaling.png"
    if not plot.endswith((".png", ".pdf")):
        raise ValueError(f"--plot: got {plot}; it takes a name that ends in .png or .pdf")
    names = scaling.POLICIES if arguments.policies == list(THIRTEEN) else arguments.policies
    setup = scaling.Setup(tuple(names), fresh=arguments.fresh, repeats=arguments.repeats)
    scaling.run(setup, plot, arguments.json)


def _bench_kernel(arguments: argparse.Namespace) -> None:
    for name, default, _ in (*BENCH, ("policies", list(THIRTEEN), ""), ("target", None, ""), ("lanes", None, "")):
        if getattr(arguments, name) != default:
            raise ValueError(f"--{name}: got one together with --kernel, which takes --repeats and --json only")
    from jaxids.bench import points, searches
    from jaxids.experiment import store

    with outputs.printed_beside(arguments.json):
        found = points.run(count=100, trials=500, steps=1000, repeats=arguments.repeats)
        found |= searches.run(arguments.repeats)
    if arguments.json is not None:
        outputs.write(arguments.json, store.as_json(found).decode())


def _add_doctor(commands: Any) -> None:
    more = (
        "Show devices, versions and settings, run every policy on the accelerator and on the CPU, by a loop and by a "
        "kernel, compare and time them, and write a page to paste into an issue. It takes some minutes, most of "
        "them to compile. Exit code 1: something is not right."
    )
    parser = _add(
        commands, "doctor", _doctor, "is everything right on this machine? compare and time its devices", more
    )
    parser.add_argument("--policies", type=_policy, nargs="+", metavar="NAME", help="default: all")
    parser.add_argument("--trials", type=_count, default=1024, metavar="N", help="independent trials (default 1024)")
    parser.add_argument("--steps", type=_count, metavar="N", help="default: 1000, or 200 without an accelerator")
    parser.add_argument(
        "--out",
        type=_output,
        default="jaxids-doctor.txt",
        metavar="FILE",
        help="default: jaxids-doctor.txt, besides standard output; - is standard output alone",
    )


def _doctor(arguments: argparse.Namespace) -> None:
    from jaxids.doctor import check, run

    if not run.run(check.Setup(arguments.policies, arguments.trials, arguments.steps), arguments.out):
        raise SystemExit(1)


COMMANDS: tuple[Callable[[Any], None], ...] = (
    _add_run,
    _add_status,
    _add_plot,
    _add_report,
    _add_export,
    _add_bench,
    _add_doctor,
)


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"got {text!r}; it takes a whole number ≥ 1")
    return int(text)


def _number(text: str) -> float:
    try:
        if math.isfinite(value := float(text)):
            return value
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"got {text!r}; it takes a number")


def _policy(text: str) -> str:
    if text in THIRTEEN:
        return text
    hint = keys.nearest(text, list(THIRTEEN))
    raise argparse.ArgumentTypeError(f"got {text!r}; it takes names of the paper's policies ({hint})")


def _part(text: str) -> Any:
    from jaxids.experiment import parts

    try:
        return parts.named(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _cluster(text: str) -> str:
    from jaxids.experiment import cluster

    try:
        return cluster.named(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _target(text: str) -> str:
    if text not in targets.NAMES:
        raise argparse.ArgumentTypeError(f"got {text!r}; it takes one of {', '.join(targets.NAMES)}")
    return text


def _output(text: str) -> str:
    try:
        return outputs.named(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _out(text: str) -> Path:
    if not text.strip():
        raise argparse.ArgumentTypeError(f"got {text!r}; it takes a folder")
    return Path(text)


def _folder(text: str) -> Path:
    if not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"got {text!r}; it takes a folder that `jaxids run` wrote to")
    return Path(text)


def _assignment(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    takes = "it takes KEY=VALUE, the value as in TOML: text in quotes, lists in brackets"
    try:
        if not equals or not name.strip() or len(text.splitlines()) != 1:
            raise ValueError
        return name.strip(), tomllib.loads(f"value = {value}")["value"]
    except (ValueError, RecursionError):
        raise argparse.ArgumentTypeError(f"got {text!r}; {takes}") from None
