"""Phases: where in a family of problems IDS mixes two actions, and where it plays one."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jaxids import checks, ratio

TAKES = "a function of two numbers that gives gaps and gains, [K] each"
Family = Callable[[Float[Array, ""], Float[Array, ""]], tuple[Any, Any]]


class Phases(NamedTuple):
    """Where IDS mixes, over a grid of two parameters, the first of them on the first axis."""

    first: Float[Array, "A"]
    second: Float[Array, "B"]
    mixes: Bool[Array, "A B"]
    mix: ratio.Mix  # of every cell

    @property
    def actions(self) -> Int[Array, "A B 2"]:
        """The actions that are played, the same one twice where it is alone."""
        low = jnp.where(self.mix.weight < 1, self.mix.first, self.mix.second)
        high = jnp.where(self.mix.weight > 0, self.mix.second, self.mix.first)
        return jnp.sort(jnp.stack([low, high], axis=-1), axis=-1)


def phases(family: Family, first: Any, second: Any) -> Phases:
    """Where in a family of problems IDS mixes two actions, and where it plays one: a grid, compiled once.

    `family(a, b)` gives the gaps and gains [K] of one problem, in JAX; `first` [A] and `second` [B] are the values of
    its parameters. `gap_and_gain(band_after(…), …)` gives them from data.

    >>> found = phases(lambda a, b: (jnp.array([1.0, a]), jnp.array([0.1, b])), [1.5, 4.0], [1.0, 2.0])
    >>> found.mixes
    Array([[False, False],
           [ True,  True]], dtype=bool)
    """
    checks.function("family", family, TAKES)
    with checks.naming("family", family, TAKES):
        hash(family)  # by which it is compiled once
    first, second = (
        jnp.asarray(checks.working(name, checks.shape(name, values, ("n",))))
        for name, values in {"first": first, "second": second}.items()
    )
    mix = _grid(family, first, second)
    if np.any(np.isnan(mix.value)):
        bad = tuple(int(i[0]) for i in np.nonzero(np.isnan(mix.value)))
        raise ValueError(
            f"family: got gaps or gains that are NaN, infinite or negative at {float(first[bad[0]]):g}, "
            f"{float(second[bad[1]]):g}; it takes a function that gives numbers ≥ 0"
        )
    return Phases(first, second, (mix.weight > 0) & (mix.weight < 1), mix)


@partial(jax.jit, static_argnums=0)
def _grid(family: Family, first: Float[Array, "A"], second: Float[Array, "B"]) -> ratio.Mix:
    """The mix of every cell; NaN where gaps or gains are no numbers ≥ 0."""

    def one(a: Float[Array, ""], b: Float[Array, ""]) -> tuple[Array, Array]:
        with checks.naming("family", family, TAKES):
            given = [checks.real("family", part, TAKES) for part in family(a, b)]
        shapes, kind = [part.shape for part in given], jnp.result_type(*given, float)
        fits = len(shapes) == 2 and shapes[0] == shapes[1] and len(shapes[0]) == 1 and 0 not in shapes[0]
        if not fits or not jnp.issubdtype(kind, jnp.floating):
            kinds = [f"{part.dtype} of shape {list(part.shape)}" for part in given]
            raise ValueError(f"family: got one that gives {' and '.join(kinds)}; it takes {TAKES}")
        return given[0].astype(kind), given[1].astype(kind)

    a, b = jnp.repeat(first, len(second)), jnp.tile(second, len(first))
    gap, gain = jax.vmap(one, out_axes=-1)(a, b)
    sound = jnp.all((gap >= 0) & (gain >= 0) & jnp.isfinite(gap) & jnp.isfinite(gain), axis=0)
    found = ratio.exact(jnp.where(sound, gap, 1), jnp.where(sound, gain, 1))
    found = found._replace(value=jnp.where(sound, found.value, jnp.nan))
    return jax.tree.map(lambda leaf: leaf.reshape(len(first), len(second)), found)
