"""What the formulas of experiment files mean, in JAX: kernels, and functions of a point."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
from jax.tree_util import Partial

from jaxids import kernels
from jaxids.experiment import formulas
from jaxids.experiment.keys import Table
from jaxids.problems import functions
from jaxids.programs import Structure

FORMULAS = 64  # that are held
Function = Callable[[Any], Any]
MATHS: Table = {name: getattr(jnp, name) for name in formulas.MATHS}


def kernel(text: str, dim: int) -> Any:
    """The kernel of a formula, on points of so many coordinates; a ValueError names the key."""
    vocabulary = {name: getattr(kernels, name) for name in formulas.KERNELS} | {"polynomial": _polynomial}
    try:
        return kernels.check(formulas.value(text, vocabulary), dim)
    except (TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"kernel: got {text!r}; {error}") from None


def _polynomial(degree: float, *bias: float) -> kernels.Polynomial:
    return kernels.polynomial(int(degree) if degree.is_integer() else degree, *bias)  # type: ignore[arg-type]


def function(key: str, text: str, dim: int, unit: Function | None = None) -> Function:
    """The function of a point that a formula or a test function's name means; a ValueError names the key.

    Test functions take points of the unit box, to which `unit` brings those of another domain.
    """
    if text in formulas.FUNCTIONS:
        named = getattr(functions, text)
        try:
            jax.eval_shape(named, jax.ShapeDtypeStruct((dim,), jnp.result_type(float)))
        except ValueError as error:
            raise ValueError(f"{key}: got {text!r}; {error}") from None
        return named if unit is None else Partial(_after, Structure(named), unit)
    if formulas.dim(text) > dim:
        raise ValueError(f"{key}: got {text!r}; with dim = {dim} it takes no coordinate beyond x{dim}")

    return _formula(key, text, dim)


def _after(named: Function, unit: Function, x: Any) -> Any:
    return named(unit(x))


@lru_cache(FORMULAS)
def _formula(key: str, text: str, dim: int) -> Function:
    """The function of a formula, one object for each, so that problems with it share their programs."""

    def formula(x: Any) -> Any:
        try:
            return jnp.asarray(formulas.value(text, MATHS | {f"x{i + 1}": x[i] for i in range(dim)}))
        except ArithmeticError as error:
            reason = "division by zero" if isinstance(error, ZeroDivisionError) else "a number too large"
            raise ValueError(f"{key}: got {text!r}, which has {reason}; it takes finite numbers") from None

    return formula
