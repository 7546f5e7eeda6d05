"""Compiles tiles for a target and reads off what they became. It runs in a process of its own: see `apart`.

Compilers say where they write what they made only before they start, and talk on standard error whatever they do.
"""

import tempfile
import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxids import kernels, loops, planes, policies, problems, tiles
from jaxids.bench import measure
from jaxids.targets import devices, hlo, machine_code, thunks, traffic
from jaxids.targets.program import Program, Refused, Request

__all__ = ["built", "problem_of", "way_of"]

KERNELS = ("triton", "tpu_custom_call")  # what calls of kernels of many steps are to XLA


def problem_of(request: Request) -> problems.Problem:
    """The benchmark's instance, or functions with a kernel on as many points."""
    if request.belief == "kernel":
        x = np.linspace(0, 1, request.actions)
        return problems.gp(x[:, None], kernels.rbf(0.2), 0.2 + 0.3 * x)
    *fixed, rho_bound = measure.instance(request.actions, request.dim)
    return problems.linear(*fixed, rho_bound=rho_bound)


def way_of(request: Request, platform: str) -> loops.Way:
    """How a request's steps are run."""
    if request.way == "kernel":
        return loops.Way(platform, kernel=True)
    return loops.Way(platform, steps=request.steps, folded=platform == "tpu")


def built(request: Request, name: str, bundles: Path | None = None) -> Program | Refused:
    """The tile of one of the request's policies; a TPU's compiler leaves its bundles in a folder."""
    target = devices.named(request.target)
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        try:
            compiled = _compiled(request, policies.PAPER[name], target, folder)
        except planes.Unsupported as error:
            return Refused(name, str(error))
        seconds = time.perf_counter() - start
        return _read(request, name, target, compiled, bundles if bundles else Path(folder), seconds)


def _compiled(request: Request, policy: Any, target: devices.Target, folder: str) -> Any:
    sharding = jax.sharding.SingleDeviceSharding(devices.topology(target))
    at = jnp.asarray(np.append(np.arange(request.every, request.steps, request.every), request.steps), jnp.int32)

    def shape(leaf: Any) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(jnp.shape(leaf), jnp.asarray(leaf).dtype, sharding=sharding)

    given = jax.tree.map(shape, (problem_of(request), policy, jax.random.key(0), jnp.int32(0), at))
    options = {"xla_dump_to": folder} if target.platform == "gpu" else None
    hooks, way = {"series": (), "record": None, "total": None}, way_of(request, target.platform)
    run: Any = tiles.compiled(target.platform)
    traced = run.trace(*given, width=request.lanes, **hooks, way=way)
    lowered = traced.lower(lowering_platforms=("cuda" if target.platform == "gpu" else "tpu",))
    return lowered.compile(compiler_options=options)


def _read(request: Request, name: str, target: devices.Target, compiled: Any, folder: Path, seconds: float) -> Program:
    module = hlo.parse(compiled.as_text())
    loop = hlo.main(module)
    body = loop.called("body") if loop else module.entry
    inside = list(hlo.inside(module, body))
    turn, kernels = _turn(request), sum(times for each, times in inside if _is_kernel(each))
    launched = _launched(folder, module) if target.platform == "gpu" else sum(n for e, n in inside if _is_work(e))
    cycles, code = (
        hlo.cycles(module, body),
        _code(request, target, folder) if kernels and request.code else (None, None),
    )
    return Program(
        policy=name,
        turn=turn,
        launches=launched / turn,
        stops=hlo.stops(module, loop, target.platform) / turn if loop else 0.0,
        kernels=kernels,
        moved=traffic.moved(module, body) / (turn * request.lanes),
        temporaries=compiled.memory_analysis().temp_size_in_bytes,
        registers=code[0].used if code[0] else None,
        spilled=code[0].spilled if code[0] else None,
        instructions=code[1],
        cycles=None if cycles is None else cycles / turn,
        seconds=seconds,
    )


def _turn(request: Request) -> float:
    """Steps of a turn of the main loop."""
    if request.way == "kernel":
        return request.steps / -(-request.steps // request.every)
    return loops.TURN if request.steps >= loops.LONG else 1


def _is_kernel(each: hlo.Instruction) -> bool:
    return each.code == "custom-call" and any(name in each.rest for name in KERNELS)


def _is_work(each: hlo.Instruction) -> bool:
    return '"estimated_cycles"' in each.rest or _is_kernel(each)


def _launched(folder: Path, module: hlo.Module) -> int:
    """Launches of a turn, by the list of them."""
    (path,) = folder.glob("*thunk_sequence_after_thunk_passes.txt")
    nodes = thunks.parse(path.read_text())
    loop, outer = thunks.main(nodes), hlo.main(module)
    body = outer.called("body") if outer else module.entry
    inner = [hlo.trips(module, each) or 1 for each, _ in hlo.inside(module, body) if each.code == "while"]
    return thunks.launches(loop.body if loop else nodes, iter(inner))


def _code(request: Request, target: devices.Target, folder: Path) -> tuple[machine_code.Registers | None, int | None]:
    """Registers and instructions of the kernel of many steps."""
    if target.platform == "gpu":
        path = max(folder.glob("*.ptx"), key=lambda each: each.stat().st_size)
        return machine_code.registers(path, target.architecture), machine_code.instructions(path.read_text())
    found = [each for each in folder.glob("*final_bundles.txt") if "schedule-analysis" not in each.name]
    depth = 2 if request.lanes > target.issued else 1  # a loop over programs is around that over steps
    inside = [machine_code.bundles(each.read_text(), depth) for each in found if "TLP" not in each.name]
    return None, max(inside, default=None)
