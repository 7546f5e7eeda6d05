"""The problems on points with a kernel that experiment files name."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxids import kernels, problems
from jaxids.experiment import formulas
from jaxids.experiment.keys import Table
from jaxids.experiment.schema import MOST_POINTS
from jaxids.problems import Noise, Problem, functions

ABOUT = 100  # points on a grid whose side is not given
_MATHS: Table = {"abs": jnp.abs} | {name: getattr(jnp, name) for name in formulas.MATHS if name != "abs"}


def problem_of(table: Table, noise: Noise) -> Problem:
    """The problem of a table; impossible values are ValueErrors that name the key."""
    points = points_of(table)
    kernel = _kernel(table["kernel"], points.shape[1])
    rho = _function("rho", table["rho"], points.shape[1]) if isinstance(table["rho"], str) else table["rho"]
    more = {"rho_bound": table.get("rho_bound"), "noise": noise}
    match table["kind"]:
        case "function":
            function = _function("function", table["function"], table["dim"])
            side = {"dim": table["dim"], "per_side": _per_side(table)}
            return functions.on_grid(function, kernel, rho, **side, **more)
        case "expansion":
            sizes = {"norm": table["norm"], "centres": table["centres"]}
            return problems.expansions(points, kernel, rho, **sizes, **more)
        case "gp":
            return problems.gp(points, kernel, rho, **more)
    return problems.rkhs(points, table["values"], rho, kernel, **more)


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


def _polynomial(degree: float, *bias: float) -> kernels.Polynomial:
    return kernels.polynomial(int(degree) if degree.is_integer() else degree, *bias)  # type: ignore[arg-type]


def _kernel(text: str, dim: int) -> Any:
    vocabulary = {name: getattr(kernels, name) for name in formulas.KERNELS} | {"polynomial": _polynomial}
    try:
        return kernels.check(formulas.value(text, vocabulary), dim)
    except (TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"kernel: got {text!r}; {error}") from None


def _function(name: str, text: str, dim: int) -> Callable[[Any], Any]:
    if text in formulas.FUNCTIONS:
        try:
            jax.eval_shape(getattr(functions, text), jax.ShapeDtypeStruct((dim,), jnp.result_type(float)))
        except ValueError as error:
            raise ValueError(f"{name}: got {text!r}; {error}") from None
        return getattr(functions, text)
    if formulas.dim(text) > dim:
        raise ValueError(f"{name}: got {text!r}; with dim = {dim} it takes no coordinate beyond x{dim}")

    def function(u: Any) -> Any:
        try:
            return jnp.asarray(formulas.value(text, _MATHS | {f"x{i + 1}": u[i] for i in range(dim)}))
        except ArithmeticError as error:
            reason = "division by zero" if isinstance(error, ZeroDivisionError) else "a number too large"
            raise ValueError(f"{name}: got {text!r}, which has {reason}; it takes finite numbers") from None

    return function
