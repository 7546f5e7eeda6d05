"""Which way a run takes on its device: by points on a CPU; on a GPU or TPU a kernel that has been tried, else a loop.

Nobody can foresee what a compiler makes of a kernel on a device it was never run on. So the first tile of a kind is run
both ways for some steps, and the kernel is used only if they agree as `agreement` has it. JAXIDS_KERNEL=0 in the
environment leaves the kernel out.
"""

import os
import sys
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxids import apart, loops, planes, policies
from jaxids.problems import Changing, Instance, Problem
from jaxids.words import in_short

__all__ = ["VARIABLE", "chosen", "setting"]

VARIABLE = "JAXIDS_KERNEL"
EARLY, LATE = 10, 300  # steps after which the two ways are compared
ALPHA = 1e-6  # how often a kernel that is right is left out
_tried: dict[Any, bool] = {}


def chosen(
    problem: Problem, policy: policies.Policy, platform: str, steps: int, hooks: dict[str, Any], first: partial[Any]
) -> loops.Way:
    """The way of a run of so many steps with these hooks; `first` is its first tile, less the steps to record."""
    if platform == "cpu":
        return loops.Way()
    finite = isinstance(jax.eval_shape(problem.draw, jax.random.key(0)), Instance)
    fixed = finite and not isinstance(problem, Changing)
    folded = platform == "tpu" and fixed and not hooks and apart.ours(problem, policy)
    loop = loops.Way(platform, steps=steps, folded=folded, turn=loops.TURN if finite else 1)
    kernel = loops.Way(platform, kernel=True)
    if not (fixed and jnp.result_type(float) == jnp.float32 and _allowed()):
        return loop
    kind = _kind(problem, policy, platform, hooks)
    if kind not in _tried:
        _tried[kind] = _trusted(loop._replace(steps=LATE), kernel, first)
    return kernel if _tried[kind] else loop


def _allowed() -> bool:
    """Whether the environment lets kernels be used, or a ValueError if it says neither."""
    given = os.environ.get(VARIABLE, "1")
    if given not in ("0", "1"):
        raise ValueError(f"{VARIABLE}: got {given!r}; it takes 1 (a kernel where it can be trusted) or 0 (none)")
    return given == "1"


def setting(platform: str) -> dict[str, bool]:
    """What of this the bits of a result depend on: whether kernels are left out where there might be some."""
    return {} if platform == "cpu" or _allowed() else {"kernel": False}


def _kind(problem: Problem, policy: policies.Policy, platform: str, hooks: dict[str, Any]) -> Any:
    """What a program depends on."""
    shapes = tuple((np.shape(leaf), jnp.result_type(leaf)) for leaf in jax.tree.leaves((problem, policy)))
    return platform, jax.tree.structure((problem, policy)), shapes, tuple(hooks.items())


def _trusted(loop: loops.Way, kernel: loops.Way, first: partial[Any]) -> bool:
    """Whether both ways agree; if not, one line says so."""
    at = np.array([EARLY, LATE], np.int32)
    compiled: Any = first.func
    try:
        compiled.trace(*first.args, at, **first.keywords, way=kernel)
    except planes.Unsupported:
        return False
    by_loop = _outcome(first(at, way=loop))
    try:
        by_kernel = _outcome(first(at, way=kernel))
    except Exception as error:  # whatever a compiler says that was never tried on this device
        _say(f"the kernel does not run here ({type(error).__name__}: {in_short(str(error))})")
        return False
    from jaxids import agreement  # imports SciPy's statistics, which a CPU does without

    (said,) = agreement.reasons(
        [agreement.compare(*(agreement.Outcome(*each) for each in (by_loop, by_kernel)))], ALPHA
    )
    if said:
        _say(f"the kernel and XLA's loop do not agree ({'; '.join(said)})")
    return not said


def _outcome(ran: Any) -> tuple[np.ndarray, ...]:
    """Early and late regrets of a tile, and no faults: who runs on raises those."""
    early, late = np.asarray(ran[0]["regret"])
    return early, late, np.zeros(late.shape)


def _say(what: str) -> None:
    print(f"jaxids: {what}; XLA's loop is used ({VARIABLE}=0 leaves the kernel out)", file=sys.stderr, flush=True)
