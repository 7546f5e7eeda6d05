"""Continuous action sets: boxes and balls, with quasi-random points that fill them evenly."""

import itertools
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtri
from jaxtyping import Array, Float

from jaxids import checks, nodes
from jaxids.types import Point

__all__ = ["Ball", "Box", "Domain", "ball", "box", "check", "even"]

register = nodes.register


def even(count: int, dim: int) -> np.ndarray:
    """Points of the unit cube [count, dim] with low discrepancy: multiples of powers of a generalised golden ratio."""
    golden = 2.0
    for _ in range(64):
        golden = (1 + golden) ** (1 / (dim + 1))
    return (0.5 + np.arange(1, count + 1)[:, None] * golden ** -np.arange(1.0, dim + 1)) % 1


@partial(register, data_fields=("low", "high"), meta_fields=())
@dataclass(frozen=True)
class Box:
    """All points between two corners."""

    low: Float[Array, "p"]
    high: Float[Array, "p"]

    @property
    def size(self) -> Float[Array, "p"]:
        """How far it extends in every dimension."""
        return self.high - self.low

    def spread(self, count: int) -> Float[Array, "n p"]:
        """Points that fill the box evenly, its corners first where they are few."""
        dim = self.low.shape[0]
        corners = (
            np.array(list(itertools.product((0.0, 1.0), repeat=dim))) if 2**dim <= count // 16 else np.zeros((0, dim))
        )
        inside = even(count - len(corners), dim)
        return self.low + self.size * jnp.asarray(np.concatenate([corners, inside]), self.low.dtype)

    def uniform(self, numbers: Float[Array, "q"]) -> Point:
        """A point from p + 1 numbers uniform on (0, 1), each point as likely."""
        return self.low + self.size * numbers[:-1]

    def project(self, point: Point) -> Point:
        """The nearest point of the box."""
        return jnp.clip(point, self.low, self.high)

    def check(self, points: np.ndarray) -> None:
        """A ValueError that names the first point [n, p] outside."""
        low, high, given = np.asarray(self.low), np.asarray(self.high), points.astype(self.low.dtype)
        inside = np.all((given >= low) & (given <= high), axis=1)
        _check_inside(points, inside, f"from {_words(low)} to {_words(high)}")


@partial(register, data_fields=("centre", "radius"), meta_fields=())
@dataclass(frozen=True)
class Ball:
    """All points within a distance of a centre."""

    centre: Float[Array, "p"]
    radius: Float[Array, ""]

    @property
    def size(self) -> Float[Array, "p"]:
        """How far it extends in every dimension."""
        return jnp.full_like(self.centre, 2) * self.radius

    def spread(self, count: int) -> Float[Array, "n p"]:
        """Points that fill the ball evenly: a direction from normal quantiles, times u^(1/p)."""
        dim = self.centre.shape[0]
        return self._placed(jnp.asarray(even(count, dim + 1), self.centre.dtype))

    def _placed(self, cube: Float[Array, "n q"]) -> Float[Array, "n p"]:
        """Points of the unit cube in p + 1 dimensions as points of the ball, as evenly."""
        dim = self.centre.shape[0]
        direction = ndtri(cube[:, :dim])
        length = jnp.maximum(jnp.linalg.norm(direction, axis=1, keepdims=True), jnp.finfo(cube.dtype).tiny)
        return self.centre + self.radius * cube[:, dim:] ** (1 / dim) * direction / length

    def uniform(self, numbers: Float[Array, "q"]) -> Point:
        """A point from p + 1 numbers uniform on (0, 1), each point as likely."""
        return self._placed(numbers[None])[0]

    def project(self, point: Point) -> Point:
        """The nearest point of the ball."""
        offset = point - self.centre
        square = jnp.sum(offset**2)
        outside = square > self.radius**2
        shrink = jnp.where(outside, self.radius / jnp.sqrt(jnp.where(outside, square, 1)), 1)
        return self.centre + offset * shrink

    def check(self, points: np.ndarray) -> None:
        """A ValueError that names the first point [n, p] outside."""
        centre, radius = np.asarray(self.centre, float), float(self.radius)
        far, rounding = np.linalg.norm(points - centre, axis=1), 1e-6 * (radius + np.linalg.norm(centre))
        _check_inside(points, far <= radius + rounding, f"within {radius:g} of {_words(centre)}")


def _words(point: np.ndarray) -> str:
    return "[" + ", ".join(f"{number:g}" for number in point) + "]"


def _check_inside(points: np.ndarray, inside: np.ndarray, where: str) -> None:
    if not np.all(inside):
        first = int(np.argmin(inside))
        raise ValueError(f"points: got {_words(points[first])} at {first}, outside; it takes points {where}")


def box(low: Any, high: Any) -> Box:
    """The points x with low ≤ x ≤ high, each a list of p numbers."""
    low = checks.working("low", checks.shape("low", low, ("p",)))
    high = checks.working("high", checks.shape("high", high, low.shape))
    if not np.all(low < high):
        raise ValueError(f"high: got {_words(high)}; it takes numbers > low = {_words(low)}")
    with np.errstate(over="ignore"):
        checks.working("high", high - low)  # its size fits too
    return Box(jnp.asarray(low), jnp.asarray(high))


def ball(centre: Any, radius: float = 1.0) -> Ball:
    """The points within `radius` of a centre, a list of p numbers."""
    checks.positive("radius", radius)
    if checks.concrete(radius):
        checks.working("radius", np.multiply(2, [radius]))  # its size fits too
    middle = checks.working("centre", checks.shape("centre", centre, ("p",)))
    return Ball(jnp.asarray(middle), jnp.asarray(radius, middle.dtype))


Domain = Box | Ball  # what is continuous


def check(domain: Any) -> None:
    """A ValueError if it is no domain."""
    if not isinstance(domain, Domain):
        raise ValueError(f"domain: got {checks.shown(domain)}; it takes domains.box or domains.ball")
