"""Noise of scale one: 1-subgaussian and tight, no smaller constant would do for any of the three kinds."""

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxids import draws

Noise = Callable[[draws.Stream], Float[Array, "..."]]


def gaussian(source: draws.Stream) -> Float[Array, "..."]:
    """Standard normal noise."""
    return draws.normal(source, 1)[0]


def rademacher(source: draws.Stream) -> Float[Array, "..."]:
    """A fair sign."""
    return jnp.sign(draws.centred(source, 1)[0])


def uniform(source: draws.Stream) -> Float[Array, "..."]:
    """Uniform on [−√3, √3], whose variance and best subgaussian constant are both 1."""
    draw = draws.centred(source, 1)[0]
    return jnp.asarray(3.0**0.5, draw.dtype) * draw
