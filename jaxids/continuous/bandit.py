"""Bandits on a box or ball: a function of a point, its noise, and the belief that suits it."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from jaxids import checks, domains
from jaxids.continuous import search
from jaxids.continuous.surface import Function, Scalar, check_kernel, noise_function
from jaxids.domains import Domain
from jaxids.problems import Noise, gaussian
from jaxids.problems.noise import check_noise


@partial(
    jax.tree_util.register_dataclass,
    data_fields=("domain", "kernel", "rho_bound", "top"),
    meta_fields=("function", "rho", "noise", "capacity"),
)
@dataclass(frozen=True)
class Problem:
    """A function on a domain, its noise bound, and the kernel of the belief (none: a linear one)."""

    domain: Domain
    function: Function
    rho: Function
    kernel: Any
    rho_bound: Scalar
    top: Scalar  # the largest value of the function
    noise: Noise
    capacity: int | None  # observations the kernel belief holds, as many as steps if not given


def problem(
    domain: Domain,
    function: Function,
    rho: Function | float,
    kernel: Any = None,
    *,
    rho_bound: float | None = None,
    noise: Noise = gaussian,
    capacity: int | None = None,
) -> Problem:
    """A bandit on a box or ball; the function and rho take a point and give a number, rho may be one number.

    Without a kernel the belief is linear, so the function should be. The function's maximum is searched for from many
    starts. `rho_bound`, for the policies with one bound for all, is the largest of rho found in the same way.
    """
    domains.check(domain)
    check_noise(noise)
    noise_of = noise_function(rho)
    points = domain.spread(search.SPREAD)
    for name, given in {"function": function, "rho": noise_of}.items():
        checks.function(name, given)
        if (shape := jax.eval_shape(given, points[0]).shape) != ():
            raise ValueError(f"{name}: got one that returns shape {list(shape)}; it takes a point and gives a number")
        checks.number(name, jax.vmap(given)(points), "a function that gives numbers")
    checks.noise_bounds("rho", jax.vmap(noise_of)(points))
    found = _largest(noise_of, domain)
    checks.noise_bounds("rho_bound", found if rho_bound is None else rho_bound, scalar=True)
    bound = found if rho_bound is None else jnp.asarray(rho_bound, found.dtype)
    if bound < found * (1 - 1e-6):
        raise ValueError(f"rho_bound: got {float(bound):g}; it takes a number ≥ {float(found):g}, the largest rho")
    room = None if capacity is None else checks.count("capacity", capacity)
    known = None if kernel is None else check_kernel(kernel, domain)
    return Problem(domain, function, noise_of, known, bound, _largest(function, domain), noise, room)


@partial(jax.jit, static_argnums=0)
def _largest(function: Function, domain: Domain) -> Scalar:
    return -search.least(lambda x: -function(x), domain, domain.spread(search.SPREAD))[1]
