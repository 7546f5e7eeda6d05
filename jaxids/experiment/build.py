"""A cell's setting, made of names and numbers, as the problem and the policy it stands for."""

import dataclasses
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial

from jaxids import domains, policies, problems
from jaxids.experiment import meanings, policy_names
from jaxids.experiment.keys import Table
from jaxids.experiment.schema import MOST_POINTS
from jaxids.problems import Fixed, Instance, Noise, Problem, functions
from jaxids.widths import tile_width

GENERATOR = "threefry2x32"
KEPT = 8  # problems: one of 4096 points takes 64 MB
WIDTHS = 4096  # of problems: numbers
ABOUT = 100  # points on a grid whose side is not given
NOISE = {"gaussian": problems.gaussian, "rademacher": problems.rademacher, "uniform": problems.uniform}


def check_generator() -> None:
    """A ValueError if JAX's default generator is another: own code may draw by it."""
    got = jax.config.jax_default_prng_impl  # pyright: ignore
    if got != GENERATOR:
        raise ValueError(f"JAX_DEFAULT_PRNG_IMPL: got {got!r}; it takes {GENERATOR!r}, the default")


def problem_of(table: Table) -> Problem:
    """The problem of a setting; impossible values are ValueErrors that name the key.

    The latest few are kept: curves of an experiment share problems, and some take long to build and much memory.
    """
    return _built(*_known_by(table))


def _known_by(table: Table) -> tuple[str, str]:
    """What the problem of a setting depends on: its text, and the precision."""
    return json.dumps(table, sort_keys=True), jnp.result_type(float).name


@lru_cache(KEPT)
def _built(text: str, precision: str) -> Problem:
    table = json.loads(text)
    problem: Any = KINDS[table["kind"]](table, NOISE[table["noise"]])
    if table.get("instance", "fresh") != "fresh":
        problem = Fixed(_drawn(problem, key_of(table["instance"])), problem.noise, problem.belief)
    if "sigma" in table:
        problem = _twice(problem, table["rho"], table["sigma"])
    if "probes" in table:
        with _called(rho="probes", scale="probe_scale", base="probes"):
            problem = problems.probes(problem, rho=table["probes"], scale=table["probe_scale"])
    if "instances" in table:
        problem = problems.several(problem, table["instances"])
    return problem


def _unit_ball(table: Table, noise: Noise) -> Any:
    given = {"num_actions": table["actions"], "dim": table["dim"], "rho": table["rho"], "theta": table.get("theta")}
    with _called(num_actions="actions"):
        return (problems.contextual if table["contexts"] else problems.unit_ball)(**given, noise=noise)


def _linear(table: Table, noise: Noise) -> Any:
    bound = table.get("rho_bound")
    return problems.linear(table["actions"], table["theta"], table["rho"], rho_bound=bound, noise=noise)


def _function(table: Table, noise: Noise) -> Any:
    side = {"dim": table["dim"], "per_side": _per_side(table)}
    function = meanings.function("function", table["function"], table["dim"])
    kernel, rho = meanings.kernel(table["kernel"], table["dim"]), _rho(table, table["dim"])
    return functions.on_grid(function, kernel, rho, **side, rho_bound=table.get("rho_bound"), noise=noise)


def _on_points(make: Callable[..., Any], *more: str) -> Callable[[Table, Noise], Any]:
    """Problems that take points, a kernel and noise, and some keys by their names."""

    def made(table: Table, noise: Noise) -> Any:
        points = points_of(table)
        kernel, rho = meanings.kernel(table["kernel"], points.shape[1]), _rho(table, points.shape[1])
        given = {"points": points, "kernel": kernel, "rho": rho, "rho_bound": table.get("rho_bound"), "noise": noise}
        return make(**given, **{name: table[name] for name in more})

    return made


def _continuous(table: Table, noise: Noise) -> Any:
    domain, (low, high) = domain_of(table), corners_of(table)
    dim = len(low)
    unit = Partial(_unit, low, high - low)
    function = meanings.function("function", table["function"], dim, unit)
    kernel = meanings.kernel(table["kernel"], dim) if "kernel" in table else None
    more = {name: table.get(name) for name in ("rho_bound", "maximum", "capacity")}
    return problems.continuous(domain, function, _rho(table, dim, unit), kernel, **more, noise=noise)


def _unit(low: Any, size: Any, x: Any) -> Any:
    return (x - low) / size


KINDS: dict[str, Callable[[Table, Noise], Any]] = {
    "unit ball": _unit_ball,
    "linear": _linear,
    "function": _function,
    "expansion": _on_points(problems.expansions, "norm", "centres"),
    "gp": _on_points(problems.gp),
    "rkhs": _on_points(problems.rkhs, "values"),
    "box": _continuous,
    "ball": _continuous,
}


def domain_of(table: Table) -> domains.Domain:
    """The box or ball of a problem."""
    if table["kind"] == "box":
        return domains.box(table["low"], table["high"])
    return domains.ball(table["centre"], table["radius"])


def corners_of(table: Table) -> tuple[np.ndarray, np.ndarray]:
    """The lowest and the highest corner of a box, or of the box around a ball."""
    if table["kind"] == "box":
        return np.asarray(table["low"]), np.asarray(table["high"])
    return np.asarray(table["centre"]) - table["radius"], np.asarray(table["centre"]) + table["radius"]


def points_of(table: Table) -> np.ndarray:
    """The points [K, p] of a problem with a kernel."""
    if table["kind"] == "rkhs":
        return np.asarray(table["points"])
    return functions.grid(table["dim"], _per_side(table))


def _per_side(table: Table) -> int:
    dim = table["dim"]
    side = table["per_side"] if "per_side" in table else round(ABOUT ** (1 / dim))
    if side**dim > MOST_POINTS:
        raise ValueError(f"per_side: got {side}, {side**dim} points with dim = {dim}; it takes at most {MOST_POINTS}")
    return side


def _rho(table: Table, dim: int, unit: Any = None) -> Any:
    """The noise bound: a number, one for each point, or a function of a point."""
    rho = table["rho"]
    return meanings.function("rho", rho, dim, unit) if isinstance(rho, str) else rho


def _twice(problem: Any, rho: Any, sigma: float) -> Any:
    """Example 1: every action a second time, noisier."""
    if not isinstance(rho, float):
        raise ValueError(f"sigma: got {sigma} beside rho = {rho}; with it, rho takes one number")
    if sigma < rho:
        raise ValueError(f"sigma: got {sigma}; it takes a number ≥ rho = {rho}")
    with _called(low="rho", high="sigma"):
        return problems.low_high(problem, low=rho, high=sigma)


@contextmanager
def _called(**keys: str) -> Iterator[None]:
    """Where the arguments of a function have other names than the keys of a file, errors have the keys'."""
    try:
        yield
    except ValueError as error:
        name, _, rest = str(error).partition(":")
        raise ValueError(f"{keys.get(name, name)}:{rest}") from None


@jax.jit
def _drawn(problem: Problem, key: jax.Array) -> Instance:
    """An instance, drawn by one program for all seeds and noise ranges."""
    return problem.draw(key)


def key_of(seed: int) -> jax.Array:
    """The key of a seed, whatever generator is JAX's default."""
    return jax.random.key(seed, impl=GENERATOR)


def policy_of(setting: Table) -> policies.Policy:
    """The policy of a setting, with the numbers of its estimator."""
    named = policy_names.built(setting["policy"])
    try:
        return policies.check(dataclasses.replace(named, **setting["estimator"]))
    except ValueError as error:
        raise ValueError(f"estimator.{error}") from None


def width_of(table: Table, platform: str | None = None) -> int:
    """How many trials a tile of a setting's problem holds, here or on another platform; the problem as `problem_of`."""
    return _width(*_known_by(table), platform or jax.local_devices()[0].platform)


@lru_cache(WIDTHS)
def _width(text: str, precision: str, platform: str) -> int:
    return tile_width(_built(text, precision), platform)
