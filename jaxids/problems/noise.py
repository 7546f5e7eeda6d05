"""Noise of scale one: 1-subgaussian and tight, no smaller constant would do for any of the three kinds."""

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxids import checks, draws

Noise = Callable[[draws.Stream], Float[Array, "..."]]  # one number for every trial, of scale one


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


def check_noise(noise: Noise) -> None:
    """A ValueError if a noise is no function of a stream, or does not give one number for every trial."""
    takes = "a function of a stream that gives a float for every trial, as problems.gaussian"
    source = draws.Stream(jnp.zeros((2, 3), jnp.uint32), jnp.uint32(0))
    given = checks.returned("noise", noise, (source,), takes)
    if getattr(given, "shape", None) != (3,) or not jnp.issubdtype(given.dtype, jnp.floating):
        raise ValueError(f"noise: got one that gives {checks.shown(given)} for 3 trials; it takes {takes}")
