"""What this machine does: how fast it is, and whether all is right."""

import argparse
from typing import Any

from jaxids import outputs
from jaxids.commands import options
from jaxids.names import THIRTEEN

BENCH = (
    ("trials", 2048, "independent trials"),
    ("steps", 2000, "steps of a trial"),
    ("actions", 30, "actions of the instance, K"),
    ("dim", 3, "features of an action, d"),
)


def add_bench(commands: Any) -> None:
    """`jaxids bench`."""
    more = "Time policies in µs for one step of one trial."
    parser = options.add(commands, "bench", _bench, "time every policy", more)
    for name, default, what in (*BENCH, ("repeats", 3, "runs, of which the fastest counts")):
        parser.add_argument(
            f"--{name}", type=options.count, default=default, metavar="N", help=f"{what} (default {default})"
        )
    parser.add_argument(
        "--policies", type=options.policy, nargs="+", default=list(THIRTEEN), metavar="NAME", help="default: all"
    )
    parser.add_argument("--kernel", action="store_true", help="time kernels instead: on 100 points, and on a square")
    parser.add_argument(
        "--scaling",
        action="store_true",
        help="time a step and compiling over dimensions from 2 to 200 and actions from 10 to 100,000 instead, and draw "
        "both (default: three policies, some minutes)",
    )
    parser.add_argument("--fresh", action="store_true", help="new actions in every trial, with --scaling")
    parser.add_argument(
        "--plot", type=options.output, metavar="FILE", help="where --scaling draws, .png or .pdf (default scaling.png)"
    )
    parser.add_argument("--json", type=options.output, metavar="FILE", help="write the numbers to a file as well")


def _bench(arguments: argparse.Namespace) -> None:
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
    measure.run(measure.Setup(arguments.policies, **sizes), arguments.json)


def _bench_scaling(arguments: argparse.Namespace) -> None:
    for name, default, _ in BENCH:
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
    for name, default, _ in (*BENCH, ("policies", list(THIRTEEN), "")):
        if getattr(arguments, name) != default:
            raise ValueError(f"--{name}: got one together with --kernel, which takes --repeats and --json only")
    from jaxids.bench import points, searches
    from jaxids.experiment import store

    with outputs.printed_beside(arguments.json):
        found = points.run(count=100, trials=500, steps=1000, repeats=arguments.repeats)
        found |= searches.run(arguments.repeats)
    if arguments.json is not None:
        outputs.write(arguments.json, store.as_json(found).decode())


def add_doctor(commands: Any) -> None:
    """`jaxids doctor`."""
    more = (
        "Show versions, settings and devices, and compare the accelerator with the CPU on the same trials. Without an "
        "accelerator, compare the loop that one would run with the CPU's own, in half a minute. Exit code 1: something "
        "is not right."
    )
    options.add(commands, "doctor", _doctor, "check this machine, and whether its devices agree with the CPU", more)


def _doctor(_: argparse.Namespace) -> None:
    from jaxids import doctor

    if not doctor.run():
        raise SystemExit(1)
