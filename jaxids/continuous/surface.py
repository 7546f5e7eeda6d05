"""What a policy knows of a function on a continuous domain, as functions of a point."""

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun
from jax.scipy.linalg import solve_triangular
from jax.tree_util import Partial
from jaxtyping import Array, Float

from jaxids import beliefs, checks, domains, draws, kernels
from jaxids.domains import Domain
from jaxids.problems.rkhs import noise_at, root_of_gram

Point = Float[Array, "p"]
Scalar = Float[Array, ""]
Function = Callable[[Point], Scalar]


class Surface(NamedTuple):
    """Posterior moments, β_t and the noise bound, at any point.

    Its functions are Partials of what they were made of, so that all surfaces of one shape share compiled searches.
    """

    mean: Function
    var: Function
    cov_with: Callable[[Float[Array, "n p"]], Callable[[Point], Float[Array, "n"]]]  # some points → covariances with x
    seen: Float[Array, "N p"]  # points worth a look besides those that fill the domain
    prior: Function  # the variance to whose rounding var and cov are exact
    beta: Scalar | float
    rho: Function

    def radius(self, x: Point) -> Scalar:
        """β_t σ_t(x)."""
        var = self.var(x)
        return self.beta * jnp.sqrt(jnp.maximum(var, jnp.finfo(var.dtype).tiny))

    def upper(self, x: Point) -> Scalar:
        """The upper confidence bound."""
        return self.mean(x) + self.radius(x)

    def sample(self, points: Float[Array, "n p"], source: draws.Stream, scale: Scalar | float = 1.0) -> Function:
        """A function drawn from the posterior: jointly at some points, and elsewhere its mean given those values.

        Between points that are far apart for the kernel it varies too little.
        """
        cov = self.cov_with(points)
        values, vectors = jnp.linalg.eigh(jax.vmap(cov)(points))
        largest = jnp.max(jax.vmap(self.prior)(points))
        kept = values > len(points) * jnp.finfo(values.dtype).eps * largest  # others are rounding
        eta = draws.normal(source, len(points)) / jnp.sqrt(jnp.where(kept, values, 1))
        weights = scale * vectors @ jnp.where(kept, eta, 0)
        return lambda x: self.mean(x) + cov(x) @ weights


Information = Callable[[Surface, Point], Function]  # (surface, UCB point) → gain at a point


def f(surface: Surface, best: Point) -> Function:
    """I^F: what an observation says about the whole function."""
    return lambda x: jnp.log1p(surface.var(x) / surface.rho(x) ** 2)


def about_ucb(surface: Surface, best: Point) -> Function:
    """I^UCB: what an observation says about the UCB point."""
    return about(surface, best[None])


def about(surface: Surface, targets: Float[Array, "n p"]) -> Function:
    """What an observation says about each of some targets, on average: I^TS, I^E about the best of posterior draws."""
    own, cov = jax.vmap(surface.var)(targets), surface.cov_with(targets)
    known = own <= 0  # nothing is left to learn there

    def gain(x: Point) -> Scalar:
        of_own = jnp.where(known, 0, cov(x) ** 2 / jnp.where(known, 1, own))
        explained = of_own / (surface.rho(x) ** 2 + surface.var(x))
        return jnp.mean(-jnp.log1p(-jnp.minimum(explained, 1 - jnp.finfo(explained.dtype).epsneg)))

    return gain


def of_linear(state: beliefs.linear.State, beta: Scalar | float, rho: Function | float) -> Surface:
    """The surface of a linear belief of one trial: x·θ̂ and xᵀV⁻¹y."""
    if not isinstance(state, beliefs.linear.State):
        raise ValueError(f"state: got {checks.shown(state)}; it takes one of beliefs.linear")
    root, theta = state.root.value, state.theta.value
    var, cov_with = Partial(_linear_var, root), Partial(_linear_cov_with, root)
    noise = as_tree(noise_function(rho))
    return Surface(Partial(jnp.dot, theta), var, cov_with, state.actions.T, var, _checked(beta), noise)


def _linear_var(root: Float[Array, "p p"], x: Point) -> Scalar:
    return jnp.sum((x @ root) ** 2)


def _linear_cov_with(root: Float[Array, "p p"], points: Float[Array, "n p"]) -> Callable[[Point], Float[Array, "n"]]:
    known = points @ root
    return lambda x: known @ (x @ root)


class _Whitened(NamedTuple):
    """A kernel belief with L⁻¹ computed once: each point then takes products only, no substitution."""

    state: beliefs.history.State
    inverse: Float[Array, "N N"]

    def __call__(self, x: Point) -> Float[Array, "N"]:
        """L⁻¹k_t(x)."""
        points = self.state.points
        seen = jnp.arange(len(points)) < self.state.filled
        return self.inverse @ jnp.where(seen, _kernel_with(self.state, points, x), 0)


def of_history(state: beliefs.history.State, beta: Scalar | float, rho: Function | float) -> Surface:
    """The surface of a kernel belief."""
    if not isinstance(state, beliefs.history.State):
        raise ValueError(f"state: got {checks.shown(state)}; it takes one of beliefs.history, as of continuous.fit")
    inverse = solve_triangular(state.factor, jnp.eye(len(state.points), dtype=state.factor.dtype), lower=True)
    mean, var, cov_with = (Partial(moment, _Whitened(state, inverse)) for moment in (_mean, _var, _cov_with))
    noise = as_tree(noise_function(rho))
    return Surface(mean, var, cov_with, state.points, Partial(_prior, state), _checked(beta), noise)


def _kernel_with(state: beliefs.history.State, points: Float[Array, "n p"], x: Point) -> Float[Array, "n"]:
    return jax.vmap(lambda other: state.kernel(other, x))(points)


def _mean(whitened: _Whitened, x: Point) -> Scalar:
    return whitened(x) @ whitened.state.innovations


def _var(whitened: _Whitened, x: Point) -> Scalar:
    state = whitened.state
    return jnp.maximum(state.kernel(x, x) - jnp.sum(whitened(x) ** 2), 0) / state.lam


def _cov_with(whitened: _Whitened, points: Float[Array, "n p"]) -> Callable[[Point], Float[Array, "n"]]:
    state, known = whitened.state, jax.vmap(whitened)(points)
    return lambda x: (_kernel_with(state, points, x) - known @ whitened(x)) / state.lam


def _prior(state: beliefs.history.State, x: Point) -> Scalar:
    return state.kernel(x, x) / state.lam


def _checked(beta: Scalar | float) -> Scalar | float:
    checks.not_negative("beta", beta)
    return beta


def noise_function(rho: Any) -> Function:
    """A noise bound as a function of a point, also if it is one number."""
    if callable(rho):
        return cast(Function, rho)
    checks.noise_bounds("rho", rho, scalar=True)
    return Partial(_constant, rho)


def _constant(value: Scalar | float, x: Point) -> Scalar:
    return jnp.asarray(value, x.dtype)


class _Program:
    """What a function of a point computes: equal to another that computes the same, whatever object it is."""

    def __init__(self, jaxpr: Any) -> None:
        self.jaxpr, self.text = jaxpr, str(jaxpr)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Program) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __call__(self, consts: list[Array], x: Point) -> Any:
        return jaxpr_as_fun(ClosedJaxpr(self.jaxpr, consts))(x)[0]


def as_program(function: Function, dim: int) -> Partial:
    """A function of a point [dim] that can be passed to a compiled one, and is not taken for what it once was."""
    if isinstance(function, Partial) and function.func is _constant:
        return function  # whose number is a leaf: in a program it would be a literal
    closed = jax.make_jaxpr(function)(jnp.zeros(dim))
    return Partial(_Program(closed.jaxpr), closed.consts)


def as_tree(function: Callable[..., Any]) -> Partial:
    """A function that can be passed to a compiled one: a Partial, whose arguments are leaves, or known by identity."""
    return function if isinstance(function, Partial) else Partial(function)


def check_kernel(kernel: Any, domain: Domain) -> Any:
    """A kernel from whatever `kernels.of` takes, or a ValueError if it is none at some points of the domain."""
    root_of_gram(domain.spread(64), kernel)
    return kernels.of(kernel)


def fit(
    domain: Domain, kernel: Any, points: Any, rewards: Any, rho: Any, *, lam: float = 1.0, capacity: int | None = None
) -> beliefs.history.State:
    """The kernel belief after rewards [n] at points [n, p] of a domain.

    Their noise bounds rho are [n], one number, or a function of a point. There is room for `capacity` observations, by
    default those given.
    """
    domains.check(domain)
    checks.positive("lam", lam)
    points = checks.shape("points", points, ("n", domain.size.shape[0]))
    domain.check(points)
    rewards = checks.shape("rewards", rewards, (len(points),))
    rho = noise_at(points, rho)
    checks.noise_bounds("rho", rho)
    room = len(points) if capacity is None else checks.count("capacity", capacity)
    if room < len(points):
        raise ValueError(f"capacity: got {room}; it takes at least the {len(points)} points")
    state = beliefs.history.init(check_kernel(kernel, domain), points.shape[1], room, lam)
    seen = [jnp.asarray(part, jnp.result_type(float)) for part in (points, rewards, rho**2)]
    return _after(state, tuple(seen))


@jax.jit
def _after(state: beliefs.history.State, seen: tuple[Array, ...]) -> beliefs.history.State:
    return jax.lax.scan(lambda s, one: (beliefs.history.update(s, *one), None), state, seen)[0]
