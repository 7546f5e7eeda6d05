"""What ends a run: an action that there is not, a gap or gain below 0, or NaN in anything that decides what is played.

No comparison with NaN is true, so a policy would go on with action 0 and nothing would tell. Every lane keeps the first
fault it met, as two numbers, and whoever runs a tile raises it.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jaxids import lanes
from jaxids.confidence import Band
from jaxids.policies import Choice

RANGE = "numbers within the range of {precision} (JAX_ENABLE_X64=1 doubles it): see delta, lam, norm_bound and rho"
KINDS = (
    ("problem: an instance has means or noise bounds that are not finite, or bounds ≤ 0", "finite ones and rho > 0"),
    ("policy: its rule gave an action that there is not", "an index from 0 to K − 1, or a point of the domain"),
    ("policy: an upper bound or a posterior draw is NaN or infinite", RANGE),
    ("gap: NaN, infinite or negative", f"numbers ≥ 0, and {RANGE}"),
    ("gain: NaN, infinite or negative", f"numbers ≥ 0, and {RANGE}"),
    ("solver: its weight is not in [0, 1]", "a Mix whose weight is"),
    ("problem: a reward is NaN or infinite", "finite means and noise"),
    ("total: a sum of whole numbers leaves their range", "smaller ones, or floats"),
    ("problem: a point is better than the function's largest value, as found or given", "the right one as `maximum`"),
)


class Fault(NamedTuple):
    """The first fault of every lane: which of `KINDS`, counted from 1 (0: none so far), and at which step."""

    kind: Int[Array, "..."]
    step: Int[Array, "..."]


def at_start(sound: Bool[Array, "..."]) -> Fault:
    """Faults of the instances themselves, given which are sound."""
    return Fault(jnp.where(sound, 0, 1).astype(jnp.int32), jnp.zeros(sound.shape, jnp.int32))


def after(
    fault: Fault,
    step: Int[Array, ""],
    band: Band,
    choice: Choice,
    reward: Float[Array, "..."],
    overflow: Bool[Array, "..."],
    context: Bool[Array, "..."] | None = None,
    above: Bool[Array, "..."] | None = None,
) -> Fault:
    """With what is wrong in one more step.

    Where the actions change, `context` says whether those of the step are sound; on a box or ball, `above` whether the
    point that was played is better than the best.
    """
    fits = band.fits(choice.action)
    weight = jnp.zeros_like(reward) if choice.mix is None else choice.mix.weight
    sound = [fits, _finite(choice.score), _not_negative(choice.gap), _not_negative(choice.gain)]
    sound += [(weight >= 0) & (weight <= 1), jnp.isfinite(reward), ~overflow]
    sound += [] if above is None else [~above]
    kind = jnp.zeros_like(fault.kind)
    for number, right in reversed(list(enumerate(sound, 2))):  # of several, the first of the list
        kind = jnp.where(right, kind, number)
    kind = lanes.shared(kind if context is None else jnp.where(context, kind, 1))
    new = (fault.kind == 0) & (kind > 0)
    # both are 0 before the first fault; not by `where` of the old ones, see `lanes.replaced`
    return Fault(fault.kind + jnp.where(new, kind, 0), jnp.maximum(fault.step, jnp.where(new, step + 1, 0)))


def _finite(values: Array | None) -> Any:
    return True if values is None else lanes.shared(lanes.all_finite(values))


def _not_negative(values: Array | None) -> Any:
    return True if values is None else lanes.shared(lanes.none_negative(values))


def check(fault: Fault, first: int) -> None:
    """Raise the earliest fault of some trials, the first of which has this number."""
    kind, step = map(np.asarray, fault)
    if not np.any(kind):
        return
    lane = int(np.flatnonzero(kind)[np.argmin(step[kind > 0])])
    what, takes = KINDS[kind[lane] - 1]
    when = f"at step {step[lane]} of trial {first + lane}" if step[lane] else f"in trial {first + lane}"
    raise ValueError(f"{what}, {when}; it takes {takes.format(precision=jnp.result_type(float).name)}")


def check_totals(totals: Any, first: int) -> None:
    """A ValueError if a sum of floats is not finite in one of some trials, the first of which has this number."""
    for leaf in map(np.asarray, jax.tree.leaves(totals)):
        if jnp.issubdtype(leaf.dtype, jnp.floating) and not np.all(sound := np.isfinite(leaf)):
            lane = int(np.flatnonzero(~sound.reshape(-1, leaf.shape[-1]).all(axis=0))[0])
            takes = f"finite numbers whose sum is within the range of {leaf.dtype}"
            raise ValueError(f"total: a sum is NaN or infinite, in trial {first + lane}; it takes {takes}")
