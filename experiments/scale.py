"""Measures what `scale.md` says of memory, cores, large stores, tasks of a cluster and many actions.

    python experiments/scale.py memory | cores [TURNS] | large | store [CELLS] | task

Each measurement is a process of its own, so that nothing is compiled or in memory before. `memory` and `large` take
about a minute, `cores` some seconds for every policy and turn (Linux), `store` writes a gigabyte into a temporary
folder. Run them while nothing else does.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

TILES, WIDTH, POINTS = 100_000, 256, 10  # of a store
TASKS, UNDER_WAY = 2000, 8

SIMULATE = """
import resource, sys, time
start = time.perf_counter()
import jax, jaxids
from jaxids import policies, problems
name, actions, dim, trials, steps = sys.argv[1], *map(int, sys.argv[2:])
problem = problems.unit_ball(actions, dim, (0.1, 1.0))
def run(steps):
    jaxids.simulate(problem, policies.PAPER[name], key=jax.random.key(0), trials=trials, steps=steps, at=[steps])
run(steps)
first = time.perf_counter() - start
print(f"{name}, K = {actions}, d = {dim}, {trials:,} × {steps}: first result after {first:.1f} s,", end=" ")
print(f"at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB", end="")
if actions > 100:
    spent = []
    for some in (1, 1 + steps):
        run(some)
        begin = time.process_time()
        run(some)
        spent.append(time.process_time() - begin)
    print(f", {(spent[1] - spent[0]) / trials / steps * 1e6:.1f} µs of processor time for a step", end="")
print()
"""

TIMED = """
import os, sys, time
import numpy as np
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(sys.argv[1])])
import jax
from jaxids import policies, problems, workers
given = {"key": jax.random.key(1), "trials": int(sys.argv[3]), "at": np.array([1500])}
run = workers.prepared(problems.unit_ball(30, 3, (0.1, 1.0)), policies.PAPER[sys.argv[2]], **given).compile()
taken = []
for _ in range(4):
    begin = time.perf_counter()
    for tile in run.tiles():
        pass
    taken.append(time.perf_counter() - begin)
print(np.median(taken[1:]))
"""


def apart(code: str, *arguments: object) -> None:
    """Run code in a process that loads no compiled programs."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    subprocess.run(command, check=True, env=os.environ | {"JAX_ENABLE_COMPILATION_CACHE": "0"})


def memory() -> None:
    """Peak memory of a hundred times as many trials: the same, but for four bytes a trial."""
    for trials in (10**5, 10**7):
        apart(SIMULATE, "W-UCB", 30, 3, trials, 10)


def cores(turns: int = 3) -> None:
    """Trials per second of two cores over one, of every policy: the median of runs in turns."""
    from jaxids.names import THIRTEEN

    for name in THIRTEEN:
        trials, found = 4096 if name.endswith("-E") else 16384, []
        for _ in range(turns):
            one, two = (
                float(subprocess.check_output([sys.executable, "-c", TIMED, str(count), name, str(trials)]))
                for count in (1, 2)
            )
            found.append(one / two)
        print(f"{name}: {np.median(found):.2f}", flush=True)


def large() -> None:
    """The first result and a step with many actions of many features, new in every trial."""
    for name in ("IDS-UCB", "W-TS"):
        apart(SIMULATE, name, 1000, 60, 256, 100)


def store(count: int = 1) -> None:
    """Load 100,000 tiles in so many cells, and ask for their status."""
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), count)
        load = "import sys, time, jaxids; t = time.perf_counter(); jaxids.load(sys.argv[1]); "
        apart(load + 'print(f"load: {time.perf_counter() - t:.1f} s")', folder)
        begin = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "jaxids", "status", folder, "--unfinished"], check=True, stdout=subprocess.DEVNULL
        )
        print(f"jaxids status, the whole command: {time.perf_counter() - begin:.1f} s")


def write(out: Path, count: int) -> None:
    """A store of curves that were not simulated."""
    from jaxids.experiment import cells, store

    steps, table = np.arange(1, POINTS + 1, dtype=np.int32), []
    regret = np.cumsum(np.random.default_rng(0).random((POINTS, WIDTH)), axis=0).astype(np.float32)
    each = TILES // count
    for number in range(count):
        setting = {"policy": "UCB", "width": WIDTH, "steps": POINTS, "record": [], "pulls": False, "number": number}
        cell = {"label": f"UCB {number}", "panel": {}, "numbers": {}, "setting": setting}
        table.append(cell | {"folder": f"tiles/{store.cell_folder('UCB', setting)}"})
        folder = out / "large" / table[-1]["folder"]
        store.keep(folder / "cell.json", store.as_json(setting))
        for first in range(0, each, cells.BLOCK):
            last = min(first + cells.BLOCK, each)
            cells.write(folder, first, [{"steps": steps, "regret": regret + index} for index in range(first, last)])
    described = {"title": "", "notes": "", "trials": each * WIDTH, "until": {}, "claims": [], "compare": []}
    described |= {"source": "", "changes": {}, "cells": table}
    store.seal(out / "large" / "experiment.json", store.as_json(described))


def nothing() -> None:
    """What a task does that is only submitted and fetched."""


def task() -> None:
    """Tasks that two local workers of a cluster get and that come back, in a second."""
    from jaxids.experiment import dask_workers

    with dask_workers.connect("local:2", print) as client:
        pool, held = dask_workers.WorkerPool(client, []), set()  # a future that nobody holds is cancelled
        while len(workers := client.nthreads()) < 2:
            time.sleep(0.1)
        pool.compatible = workers
        for total in (50, TASKS):  # the first are for warmth
            begin, sent, come = time.perf_counter(), 0, 0
            while come < total:
                while sent < total and sent - come < UNDER_WAY:
                    held.add(pool.submit(nothing))
                    sent += 1
                arrived = {future for future, _ in pool.results()}
                held -= arrived
                come += len(arrived)
                if not arrived:
                    time.sleep(0.0005)
            seconds = time.perf_counter() - begin
        print(f"{total / seconds:.0f} tasks a second, {1e3 * seconds / total:.1f} ms each")


if __name__ == "__main__":
    chosen = {"memory": memory, "cores": cores, "large": large, "store": store, "task": task}
    if len(sys.argv) < 2 or sys.argv[1] not in chosen:
        sys.exit(f"it takes one of {', '.join(chosen)}")
    chosen[sys.argv[1]](*map(int, sys.argv[2:]))
