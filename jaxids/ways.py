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

__all__ = ["FIRST", "VARIABLE", "chosen", "setting"]

VARIABLE = "JAXIDS_KERNEL"
KERNELS = ("gpu", "tpu")  # platforms that have them
FIRST, LAST = 10, 300  # steps after which the two ways are compared
ALPHA = 1e-6  # how often a kernel that is right is left out for its p-values
CLOSE = 1e-3  # within which what hooks keep is the same, in trials whose regret is
_tried: dict[Any, bool] = {}


def chosen(
    problem: Problem, policy: policies.Policy, platform: str, at: np.ndarray, hooks: dict[str, Any], first: partial[Any]
) -> loops.Way:
    """The way of a run that records some steps with these hooks; `first` is its first tile, less those steps."""
    allowed = _allowed()
    if platform == "cpu":
        return loops.Way()
    finite = isinstance(jax.eval_shape(problem.draw, jax.random.key(0)), Instance)
    fixed = finite and not isinstance(problem, Changing)
    folded = platform == "tpu" and fixed and not hooks and apart.ours(problem, policy)
    loop = loops.Way(platform, steps=int(at[-1]), folded=folded, turn=loops.TURN if finite else 1)
    kernel = loops.Way(platform, kernel=True)
    possible = fixed and platform in KERNELS and jnp.result_type(float) == jnp.float32
    if not (possible and allowed):
        return loop
    kind = _kind(problem, policy, platform, hooks)
    if kind not in _tried:
        _tried[kind] = _trusted(loop._replace(steps=LAST), kernel, first, len(at))
    return kernel if _tried[kind] else loop


def _allowed() -> bool:
    """Whether the environment lets kernels be used, or a ValueError if it says neither."""
    given = os.environ.get(VARIABLE, "1")
    if given not in ("0", "1"):
        raise ValueError(f"{VARIABLE}: got {given!r}; it takes 1 (a kernel where it can be trusted) or 0 (none)")
    return given == "1"


def setting(platform: str) -> dict[str, bool]:
    """What of this the bits of a result depend on: whether kernels are left out where there might be some."""
    return {} if _allowed() or platform == "cpu" else {"kernel": False}


def _kind(problem: Problem, policy: policies.Policy, platform: str, hooks: dict[str, Any]) -> Any:
    """What a program depends on."""
    shapes = tuple((np.shape(leaf), jnp.result_type(leaf)) for leaf in jax.tree.leaves((problem, policy)))
    return platform, jax.tree.structure((problem, policy)), shapes, tuple(hooks.items())


def _trusted(loop: loops.Way, kernel: loops.Way, first: partial[Any], points: int) -> bool:
    """Whether both ways agree; if not, one line says so. With as many points as the run its program serves for both."""
    at = np.full(max(points, 2), LAST, np.int32)
    at[0] = FIRST
    compiled: Any = first.func
    try:
        compiled.trace(*first.args, at, **first.keywords, way=kernel)
    except planes.Unsupported:
        return False
    except Exception as error:
        return _left_out(f"the kernel cannot be built ({_in_short(error)})")
    by_loop = jax.device_get(first(at, way=loop))
    try:
        by_kernel = jax.device_get(first(at, way=kernel))
    except Exception as error:  # whatever a compiler says that was never tried on this device
        return _left_out(f"the kernel does not run here ({_in_short(error)})")
    said = _apart(by_loop, by_kernel)
    return not said or _left_out(f"the kernel and XLA's loop do not agree ({'; '.join(said)})")


def _apart(by_loop: Any, by_kernel: Any) -> list[str]:
    """Why two runs of a tile do not agree: regrets and faults as `agreement` has it, and what else was kept early."""
    from jaxids import agreement  # imports SciPy's statistics, which a CPU does without

    outcomes = [
        agreement.Outcome(ran[0]["regret"][0], ran[0]["regret"][-1], ran[3].kind) for ran in (by_loop, by_kernel)
    ]
    difference = agreement.compare(*outcomes)
    if outcomes[0].faults.any():  # of the run itself, which will tell of them
        return []
    (said,) = agreement.reasons([difference], ALPHA)
    same = np.isclose(outcomes[0].early, outcomes[1].early, rtol=CLOSE, atol=0)
    for one, other in zip(*(jax.tree.leaves(ran[:2]) for ran in (by_loop, by_kernel)), strict=True):
        near = np.isclose(one[0], other[0], rtol=CLOSE, atol=CLOSE * np.max(np.abs(one[0]), initial=0), equal_nan=True)
        if np.count_nonzero(~near[..., same]) > difference.allowed:
            said.append("what is recorded differs")
            break
    return said


def _in_short(error: Exception) -> str:
    return f"{type(error).__name__}: {in_short(str(error))}"


def _left_out(what: str) -> bool:
    """Say in one line why the kernel is not used."""
    print(f"jaxids: {what}; XLA's loop is used ({VARIABLE}=0 leaves the kernel out)", file=sys.stderr, flush=True)
    return False
