"""What is known on a domain from data of one's own, and what users give for a domain: a kernel, a noise bound."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial
from jaxtyping import Array, Float

from jaxids import beliefs, checks, domains, kernels, names, search
from jaxids.domains import Domain
from jaxids.fields import rough
from jaxids.fields.field import Field, of
from jaxids.programs import by_identity
from jaxids.types import Number, Point

JOINT = 256  # points at which a draw of the prior is joint
ROUGH = 1e-4  # share of the variance that may be left between them


def noise_function(rho: Any) -> Any:
    """A noise bound as a function of a point, also if it is one number."""
    if callable(rho):
        return rho
    checks.noise_bounds("rho", rho, scalar=True)
    return Partial(_constant, rho)


def _constant(value: Number, x: Point) -> Float[Array, ""]:
    return jnp.asarray(value, x.dtype)


def kernel_on(domain: Domain, kernel: Any) -> tuple[Any, Any]:
    """A kernel from whatever `kernels.of` takes, and what draws begin with; a ValueError if it is none on the domain.

    That is a `kernels.Basis`, or a `rough.Grid` if functions vary too much between its points.
    """
    points, others = (np.asarray(domain.spread(count), float) for count in (JOINT, search.SPREAD))
    basis, known = kernels.basis(points, kernel), kernels.of(kernel)
    return known, rough.grid(basis, known) if rough.unexplained(known, points, others) > ROUGH else basis


def fit(
    domain: Domain,
    points: Any,
    rewards: Any,
    rho: Any,
    kernel: Any = None,
    *,
    delta: Number = names.DELTA,
    lam: Number = names.LAM,
    norm_bound: Number = names.NORM_BOUND,
) -> Field:
    """What is known on a domain after rewards [n] at points [n, p], whose noise has the bound rho.

    `rho` is a number or a function of a point, compared by identity as in `problems.continuous`. Without a kernel the
    belief is linear. `policies.choose` tells what a policy plays then, and `.at(points)` with points [p, n] what is
    known there: `.mean`, `.var`, `.radius`, `.gap`.
    """
    domains.check(domain)
    checks.within("delta", delta, 0, 1)
    checks.positive("lam", lam)
    checks.not_negative("norm_bound", norm_bound)
    delta, lam, norm_bound = (jnp.asarray(number, jnp.result_type(float)) for number in (delta, lam, norm_bound))
    domain = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.result_type(float)), domain)
    points = checks.shape("points", points, ("n", domain.size.shape[0]))
    domain.check(points)
    rewards = checks.shape("rewards", rewards, (len(points),))
    noise = noise_function(rho)
    bounds = kernels.noise_at(points, noise)
    checks.noise_bounds("rho", bounds)
    spread = domain.spread(search.SPREAD)
    checks.noise_bounds("rho", kernels.noise_at(np.asarray(spread, float), noise))
    seen = tuple(jnp.asarray(part, jnp.result_type(float)) for part in (points, rewards, bounds**2))
    if kernel is None:
        belief, basis, prior = beliefs.linear, None, beliefs.linear.init(jnp.zeros((points.shape[1], 1)), lam)
    else:
        belief, (known, basis) = beliefs.history, kernel_on(domain, kernel)
        prior = belief.init(known, points.shape[1], len(points), lam)
    return of(belief, _after_all(belief, prior, seen), domain, by_identity(noise), basis, delta, lam, norm_bound)


@partial(jax.jit, static_argnums=0)
def _after_all(belief: Any, state: Any, seen: tuple[Array, ...]) -> Any:
    return jax.lax.scan(lambda s, one: (belief.update(s, belief.look(s, one[0]), *one[1:]), None), state, seen)[0]
