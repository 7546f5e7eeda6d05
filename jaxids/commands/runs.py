"""Run experiments, and see how far they are."""

import argparse
from pathlib import Path
from typing import Any

from jaxids import outputs
from jaxids.commands import options

EACH = 128  # trials on each of several instances


def add_run(commands: Any) -> None:
    """`jaxids run`."""
    more = (
        "Run experiment files, or all in a folder; finished work is kept and not done again. Then draw the figures and "
        "write the report of everything in the folder of results."
    )
    parser = options.add(commands, "run", _run, "run experiment files, draw their figures and write the report", more)
    parser.add_argument("paths", nargs="+", type=Path, metavar="FILE_OR_FOLDER", help="experiment files (TOML)")
    parser.add_argument(
        "--out", type=options.out, metavar="DIR", help="default: results, or instances with --instances"
    )
    parser.add_argument("--trials", type=options.count, metavar="N", help="in place of the trials of the files")
    parser.add_argument(
        "--instances",
        type=options.count,
        metavar="N",
        help=f"on so many random instances, with {EACH} trials each (or --trials): on which do the claims hold?",
    )
    parser.add_argument("--steps", type=options.count, metavar="N", help="in place of the steps of the files")
    parser.add_argument(
        "--set",
        type=options.assignment,
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="in place of a value of the files, as delta=0.1, rho=[0.4,0.6] or grid.sigma=[1,2]; may be repeated",
    )

    parser.add_argument(
        "--part",
        type=options.part,
        metavar="I/N",
        help="compute only the I-th of N shares of the tiles, as one of N jobs that write to one folder; no report",
    )
    parser.add_argument(
        "--cluster",
        type=options.cluster,
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
    from jaxids import checks, compilation_cache

    checks.devices()
    compilation_cache.switch_on()
    from jaxids.experiment import run
    from jaxids.report import page

    if part := arguments.part:
        run.run(experiments, out, part)
        print(f"part {part.number} of {part.of} is done; `jaxids status {out}` tells what is missing")
        return
    run.run(experiments, out, cluster=arguments.cluster)
    page.update(out, [experiment.name for experiment in experiments])


def add_status(commands: Any) -> None:
    """`jaxids status`."""
    more = (
        "Show of every cell what is done, missing and damaged, and the time left at the pace of the runs at work. "
        "Of a store of more than 256 MiB only that much is read to the last byte, unless asked."
    )
    parser = options.add(
        commands, "status", _status, "how far results are: done, missing and damaged of every cell", more
    )
    options.add_folder(parser)
    parser.add_argument("--unfinished", action="store_true", help="leave out cells that are done")
    parser.add_argument("--check", action="store_true", help="read every byte, however many there are")
    parser.add_argument("--json", type=options.output, metavar="FILE", help="write the numbers to a file as well")


def _status(arguments: argparse.Namespace) -> None:
    from jaxids.experiment import status, store

    found = status.look(arguments.folder, arguments.check)
    with outputs.printed_beside(arguments.json):
        for line in status.lines(found, arguments.unfinished):
            print(line)
    if arguments.json is not None:
        outputs.write(arguments.json, store.as_json(found.table).decode())
