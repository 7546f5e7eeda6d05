"""The benchmark of a target: what its compiler makes of every policy, beside the time measured on this CPU.

Nothing is executed on the target; what would be a time there is an estimate, and says so.
"""

import contextlib
import dataclasses
import json
from collections.abc import Generator
from typing import Any

from jaxids import loops, outputs, policies
from jaxids.bench import measure, table
from jaxids.targets import apart, devices, estimate
from jaxids.targets.program import Program, Refused, Request, WayName

__all__ = ["COLUMNS", "Row", "Setup", "cells", "run"]

COLUMNS = (
    *("policy", "CPU µs", "kernels", "syncs", "bytes", "est. XLA µs", "compile s"),
    *("steps/launch", "registers", "spills", "est. kernel µs", "compile s"),
)
LANES = 1024  # of one program of a kernel, on the device that has most
WIDTHS = (8, *(len(name) for name in COLUMNS[1:]))


@dataclasses.dataclass(frozen=True)
class Setup:
    """What to compile, and the measurement on a CPU beside it."""

    target: str
    measured: measure.Setup
    lanes: int = loops.ACCELERATOR_LANES
    steps: int = 5000  # of a compiled tile
    every: int = 100  # of them a recorded point


@dataclasses.dataclass(frozen=True)
class Row:
    """One policy: µs for one step of one trial, on this CPU and estimated, and the programs of the estimates."""

    policy: str
    cpu: float
    loop: Program
    loop_estimate: float | None
    kernel: Program | Refused
    kernel_estimate: float | None


def run(setup: Setup, json_file: str | None = None) -> list[Row]:
    """Measure, compile, print the table a row at a time, and write it as JSON where asked."""
    target, about = devices.check(setup.target), measure.machine()
    if setup.lanes % LANES:
        raise ValueError(f"--lanes: got {setup.lanes}; it takes a multiple of {LANES}")
    with outputs.printed_beside(json_file):
        print(_headline(setup, about))
        times = [_measured(name, setup.measured) for name in setup.measured.policies]  # before compilers are busy
        print(table.line(COLUMNS, WIDTHS), flush=True)
        rows = _printed(setup, target, times)
        for text in _below(target, setup.lanes):
            print(text)
    if json_file:
        outputs.write(json_file, json.dumps(_content(setup, target, about, rows), indent=2) + "\n")
    return rows


def _headline(setup: Setup, about: dict[str, str | int]) -> str:
    size = {"target": setup.target, "K": setup.measured.actions, "d": setup.measured.dim, "lanes": setup.lanes}
    beside = {"CPU trials": setup.measured.trials, "CPU steps": setup.measured.steps} | about
    return " ".join(f"{name}={value}" for name, value in (size | {"steps": setup.steps} | beside).items())


def _measured(name: str, setup: measure.Setup) -> float:
    table.progress(f"{name}: on this CPU")
    return measure.time_jaxids(policies.PAPER[name], measure.instance(setup.actions, setup.dim), setup)[0]


def _printed(setup: Setup, target: devices.Target, times: list[float]) -> list[Row]:
    rows = []
    with contextlib.closing(_programs(setup, "loop")) as loops_of, contextlib.closing(_programs(setup, "kernel")) as ks:
        for name, cpu in zip(setup.measured.policies, times, strict=True):
            table.progress(f"{name}: compiling for {target.title}")
            by_xla, kernel = next(loops_of), next(ks)
            assert isinstance(by_xla, Program)
            estimates = [_estimate(each, target, setup.lanes) for each in (by_xla, kernel)]
            rows.append(Row(name, cpu, by_xla, estimates[0], kernel, estimates[1]))
            table.progress("")
            print(table.line(cells(rows[-1]), WIDTHS), flush=True)
    return rows


def _programs(setup: Setup, way: WayName) -> Generator[Program | Refused, None, None]:
    measured = setup.measured
    sizes = measured.actions, measured.dim, way, setup.lanes, setup.steps, setup.every
    return apart.compiled(Request(setup.target, measured.policies, *sizes))


def _estimate(program: Program | Refused, target: devices.Target, lanes: int) -> float | None:
    return estimate.microseconds(program, target, lanes) if isinstance(program, Program) else None


def cells(row: Row) -> list[str]:
    """A row as text."""
    loop, kernel = row.loop, row.kernel
    of_loop = [f"{loop.launches:.4g}", f"{loop.stops:.3g}", f"{loop.moved:.0f}", table.number(row.loop_estimate)]
    of_kernel = ["–"] * 5
    if isinstance(kernel, Program):
        counts = ["–" if n is None else str(n) for n in (kernel.registers, kernel.spilled)]
        of_kernel = [f"{kernel.turn:.4g}", *counts, table.number(row.kernel_estimate), f"{kernel.seconds:.1f}"]
    return [row.policy, table.number(row.cpu), *of_loop, f"{loop.seconds:.1f}", *of_kernel]


def _below(target: devices.Target, lanes: int) -> list[str]:
    """What the columns mean."""
    rates = f"cores = {target.cores}, width = {target.issued}, clock = {target.clock / 1e9:.3g} GHz, "
    rates += f"bandwidth = {target.bandwidth / 1e12:.3g} TB/s"
    return [
        f"Nothing was executed on this target, {target.title}: programs were compiled for it, and est. is an estimate "
        f"({rates}, n = {lanes}).",
        "kernels, syncs: launches and stops at the host for a step through XLA; bytes: moved for a lane and step;",
        "steps/launch, registers, spills: of the kernel of many steps, spills in bytes.",
        *estimate.FORMULAS[target.platform],
    ]


def _content(setup: Setup, target: devices.Target, about: dict[str, str | int], rows: list[Row]) -> dict[str, Any]:
    told = [
        {
            "policy": row.policy,
            "cpu": row.cpu,
            "loop": row.loop._asdict(),
            "loop_estimate": row.loop_estimate,
            "kernel": row.kernel._asdict(),
            "kernel_estimate": row.kernel_estimate,
        }
        for row in rows
    ]
    rates = {"cores": target.cores, "width": target.issued, "clock": target.clock, "bandwidth": target.bandwidth}
    content = dataclasses.asdict(setup) | {"executed": False, "device": target.title} | rates
    return {"setup": content, "formulas": estimate.FORMULAS[target.platform], "machine": about, "rows": told}
